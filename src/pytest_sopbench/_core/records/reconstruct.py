"""What the record of a finished run says of it, for a session that takes the run over.

A record holds all that was decided, but of what was observed only what fits on a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.answers.forms.table import read_form
from pytest_sopbench._core.model.answer import Answer, AnswerForm
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind, ToolCall, Trace
from pytest_sopbench._core.verdict import Outcome, Verdict

from .record import RunRecord

NOTE: Final = "taken over from a saved session: long values and what the agent wrote are not here"

_ENDINGS: Final[Mapping[Outcome, Ending]] = {
    Outcome.ERROR: Ending.RAISED,
    Outcome.UNAVAILABLE: Ending.UNAVAILABLE,
    Outcome.TIMEOUT: Ending.TIMED_OUT,
    Outcome.CALL_LIMIT: Ending.OVER_LIMIT,
    Outcome.CRASH: Ending.PROCESS_DIED,
}


def verdict_of(record: RunRecord) -> Verdict:
    """Return what was decided of a run; of the search for an answer only where it was found."""
    answer = None
    if record.answer_form:
        answer = Answer(values=record.answer or {}, form=read_form(record.answer_form))
    held = record.trajectory
    return Verdict(
        outcome=record.outcome,
        reason=record.reason,
        answer=answer,
        mismatches=record.mismatches,
        only_published=record.only_published,
        rules=record.rules,
        contract=record.contract,
        grounded=record.grounded,
        departure=None if held is None else held.departure,
        unneeded=record.unneeded,
    )


def trace_of(record: RunRecord) -> Trace:
    """Return what is left of a run's trace, with a note that it is not whole."""
    ending = _ENDINGS.get(record.outcome, Ending.RETURNED)
    return Trace(
        ending=ending,
        returned=_returned(record) if ending is Ending.RETURNED else None,
        problem=record.problem,
        calls=tuple(
            ToolCall(
                name=one.name,
                arguments=one.arguments,
                result=one.result,
                error=one.error,
                overlaps=one.overlaps,
            )
            for one in record.calls
        ),
        usage=record.usage,
        duration=record.duration_s or 0.0,
        notes=(*record.notes, NOTE),
        compared=record.compared,
    )


def _returned(record: RunRecord) -> Returned:
    if record.answer is not None and record.answer_form == AnswerForm.MAPPING:
        return Returned(kind=ReturnedKind.MAPPING, mapping=record.answer)
    return Returned(kind=ReturnedKind.TEXT, text=record.text)
