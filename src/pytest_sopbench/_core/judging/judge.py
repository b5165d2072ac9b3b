"""Decide how a run ended: the only place where an `Outcome` is made.

It is made from values, never from the text of an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.answers.find import find_answer
from pytest_sopbench._core.answers.published_answer import UNKNOWN
from pytest_sopbench._core.answers.published_finding import NOT_FOUND, published
from pytest_sopbench._core.answers.text.pasted import without_sop
from pytest_sopbench._core.domain import Rules
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.model.answer import Answer, Mismatch
from pytest_sopbench._core.model.task import Compare, Scoring, Task
from pytest_sopbench._core.model.trace import TURN_LIMIT, Ending, Returned, ReturnedKind, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench._core.values.quantities import as_seconds
from pytest_sopbench._core.verdict import Outcome, Verdict

from .documents import judged_document
from .one_line import one_line
from .procedure import with_procedure

_SPEAKS_OF_FAILURE: Final = frozenset({"success", "error"})

_ENDED: Final[Mapping[Ending, Outcome]] = {
    Ending.RAISED: Outcome.ERROR,
    Ending.UNAVAILABLE: Outcome.UNAVAILABLE,
    Ending.TIMED_OUT: Outcome.TIMEOUT,
    Ending.OVER_LIMIT: Outcome.CALL_LIMIT,
    Ending.PROCESS_DIED: Outcome.CRASH,
}


def judge(rules: Rules, task: Task, trace: Trace | None) -> Verdict:
    """Return the verdict on one run; no trace means that the run was never started.

    The contract and the expected calls are held against every run, however it ended; they are
    told beside the outcome and never change it.
    """
    return with_procedure(_answered(rules, task, trace), rules, task, trace)


def _answered(rules: Rules, task: Task, trace: Trace | None) -> Verdict:
    if trace is None:
        return Verdict(outcome=Outcome.NOT_RUN, reason="it was never started")
    if trace.ending is not Ending.RETURNED:
        return Verdict(outcome=_ENDED[trace.ending], reason=_how_it_ended(trace))
    returned = trace.returned or Returned(kind=ReturnedKind.NOTHING)
    if returned.declared_error is not None and _says_it_failed(rules):
        reason = one_line(f"the agent said that it failed: {returned.declared_error}")
        return Verdict(outcome=Outcome.ERROR, reason=reason)
    if rules.document is not None:
        return judged_document(rules.document, task, returned, rules.scoring)
    answer = find_answer(without_sop(returned, rules.sop), rules.fields, rules.sop)
    exact = _judged(rules, task, answer)
    if rules.scoring is Scoring.EXACT:
        return exact
    return _judged_as_published(rules, task, published(rules, returned, answer), exact)


def _judged(rules: Rules, task: Task, answer: Answer) -> Verdict:
    if not answer.complete:
        return Verdict(outcome=Outcome.NO_ANSWER, reason=one_line(answer.why), answer=answer)
    mismatches = _closest(rules, task, answer.values, Scoring.EXACT)
    return _compared(mismatches, answer)


def _judged_as_published(rules: Rules, task: Task, answer: Answer, exact: Verdict) -> Verdict:
    """Judge a run that returned, which by these rules always gave an answer."""
    one = len(rules.fields) == 1
    found = {
        field.name: answer.values.get(field.name, UNKNOWN if one else None)
        for field in rules.fields
    }
    mismatches = _closest(rules, task, found, Scoring.PUBLISHED)
    if not one and answer.missing:
        # There one value may be unknown, but of several each has to be there.
        mismatches = _lacking(rules, task, answer, mismatches)
    only_published = not mismatches and not exact.correct
    return _compared(mismatches, answer, only_published=only_published)


def _lacking(
    rules: Rules, task: Task, answer: Answer, mismatches: tuple[Mismatch, ...]
) -> tuple[Mismatch, ...]:
    told = {mismatch.field for mismatch in mismatches}
    missing = (
        Mismatch(
            field=field.name,
            expected=task.expected_as_written[field.name],
            actual=None,
            why=NOT_FOUND,
        )
        for field in rules.fields
        if field.name in answer.missing and field.name not in told
    )
    return (*mismatches, *missing)


def _compared(
    mismatches: tuple[Mismatch, ...], answer: Answer, *, only_published: bool = False
) -> Verdict:
    if mismatches:
        reason = "; ".join(f"{mismatch.field}: {mismatch.why}" for mismatch in mismatches)
        return Verdict(
            outcome=Outcome.WRONG, reason=one_line(reason), answer=answer, mismatches=mismatches
        )
    reason = "only by the published scorer's rules" if only_published else ""
    return Verdict(
        outcome=Outcome.CORRECT, reason=reason, answer=answer, only_published=only_published
    )


def _closest(
    rules: Rules, task: Task, values: Mapping[str, JsonValue], scoring: Scoring
) -> tuple[Mismatch, ...]:
    """Compare with every acceptable answer; where none fits, the expected one is what failed."""
    expected = _mismatches(rules, task.expected_as_written, values, scoring)
    for other in task.acceptable if expected else ():
        if not _mismatches(rules, {**task.expected_as_written, **other}, values, scoring):
            return ()
    return expected


def _mismatches(
    rules: Rules,
    expected: Mapping[str, JsonValue],
    values: Mapping[str, JsonValue],
    scoring: Scoring,
) -> tuple[Mismatch, ...]:
    asked = (field for field in rules.fields if field.compare is not Compare.IGNORE)
    found: Sequence[Mismatch | None] = [
        compare(field, expected[field.name], values[field.name], scoring) for field in asked
    ]
    return tuple(mismatch for mismatch in found if mismatch is not None)


def _says_it_failed(rules: Rules) -> bool:
    """Whether `success` and `error` speak of the run, and are not what the task asks for."""
    names = rules.document.declared.names if rules.document else None
    asked = (field.name for field in rules.fields) if names is None else names
    return _SPEAKS_OF_FAILURE.isdisjoint(map(fold, asked))


def _how_it_ended(trace: Trace) -> str:
    match trace.ending:
        case Ending.TIMED_OUT:
            return f"still running after {as_seconds(trace.duration)}"
        case Ending.OVER_LIMIT if trace.problem and trace.problem.type == TURN_LIMIT:
            return one_line(trace.problem.message)
        case Ending.OVER_LIMIT:
            return f"passed its limit of tool calls, after {len(trace.calls)}"
        case Ending.PROCESS_DIED:
            return "the process that ran it died"
        case _:
            problem = trace.problem
            return one_line(f"{problem.type}: {problem.message}" if problem else "the agent raised")
