"""What is made of a record again: a trace, an approvable trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.judging import NOT_JUDGED
from pytest_sopbench._core.model.trace import (
    Answer,
    AnswerForm,
    Ending,
    Returned,
    ReturnedKind,
    ToolCall,
    Trace,
)
from pytest_sopbench._core.trajectory.calls import Trajectory, trajectory_of
from pytest_sopbench._core.trajectory.snapshot import as_trajectory
from pytest_sopbench._core.verdict import Outcome, Verdict

from .record import RunRecord, is_cut

# What the record of a finished run says of it, for a session that takes the run over.
#
# A record holds all that was decided, but of what was observed only what fits on a line.

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
        answer = Answer(values=record.answer or {}, form=AnswerForm(record.answer_form))
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
        unmade=record.unmade,
        state_differs=record.state_differs,
    )


def trace_of(record: RunRecord) -> Trace:
    """Return what is left of a run's trace, with a note that it is not whole."""
    # A run of which nobody could find out whether it is right has given its answer.
    usual = Ending.RETURNED
    ending = (
        usual if record.compared or was_not_judged(record) else _ENDINGS.get(record.outcome, usual)
    )
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
        state=record.state,
    )


def was_not_judged(record: RunRecord) -> bool:
    """Tell a run that gave an answer which nobody could judge."""
    return record.outcome is Outcome.UNAVAILABLE and record.reason.startswith(NOT_JUDGED)


def is_told_in_text(record: RunRecord) -> bool:
    """Tell whether the text decides: how a document was written does, beside what it holds."""
    return record.document is not None and record.answer_form != AnswerForm.MAPPING


def _returned(record: RunRecord) -> Returned:
    if record.answer is None or is_told_in_text(record):
        return Returned(kind=ReturnedKind.TEXT, text=record.text)
    # A float that stood in a text was compared as it was written.
    found_as = "" if record.answer_form == AnswerForm.MAPPING else record.answer_form
    return Returned(kind=ReturnedKind.MAPPING, mapping=record.answer, found_as=found_as)


# Which runs may become a snapshot: what was approved once is compared for ever after.

CUT = "a value was cut in the session; approve it with pytest --snapshot-update"


def refusal(outcome: Outcome, rules: Iterable[RuleResult]) -> str:
    """Say why a run may not be approved, or nothing: it is not correct, or breaks its contract."""
    if outcome is not Outcome.CORRECT:
        return outcome.value.replace("_", " ")
    broken = [rule.id for rule in rules if rule.broken]
    return f"breaks {', '.join(broken)}" if broken else ""


def record_refusal(record: RunRecord) -> str:
    """Say why a recorded run may not be approved, or nothing."""
    why = refusal(record.outcome, record.rules)
    kept = [call.arguments for call in record.calls]
    if record.document is not None and record.answer is not None:
        kept = list(record.answer.values())
    if not why and any(map(is_cut, kept)):
        return CUT
    return why


def recorded_trajectory(record: RunRecord) -> Trajectory:
    """Return what a snapshot of a run holds: its calls, or the document that it gave."""
    if record.document is not None:
        return as_trajectory(record.answer or {})
    return trajectory_of(trace_of(record))
