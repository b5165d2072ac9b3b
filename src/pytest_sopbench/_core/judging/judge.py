"""Decide how a run ended: the only place where an `Outcome` is made.

It is made from values, never from the text of an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.values import as_meant
from pytest_sopbench._core.model.answer import Answer, AnswerForm, Mismatch
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, Scoring, Task
from pytest_sopbench._core.model.trace import TURN_LIMIT, Ending, Returned, ReturnedKind, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.quantities import as_seconds
from pytest_sopbench._core.verdict import Outcome, Verdict

from .one_line import one_line
from .procedure import with_procedure
from .questions import answer_of, declared_failure, place_of, unanswered

NOT_JUDGED: Final = "not judged: "
"""How the reason of a run begins whose answer nobody could compare."""

Found = Mapping[tuple[str, int], Compared]
_NOTHING: Final[Mapping[str, Compared]] = MappingProxyType({})
_NOBODY: Final[Found] = MappingProxyType({})

_ENDED: Final[Mapping[Ending, Outcome]] = {
    Ending.RAISED: Outcome.ERROR,
    Ending.UNAVAILABLE: Outcome.UNAVAILABLE,
    Ending.TIMED_OUT: Outcome.TIMEOUT,
    Ending.OVER_LIMIT: Outcome.CALL_LIMIT,
    Ending.PROCESS_DIED: Outcome.CRASH,
}


def judge(rules: JudgingRules, task: Task, trace: Trace | None) -> Verdict:
    """Return the verdict on one run; no trace means that the run was never started.

    The contract and the expected calls are held against every run, however it ended; they are
    told beside the outcome and never change it.
    """
    return with_procedure(_answered(rules, task, trace), rules, task, trace)


def _answered(rules: JudgingRules, task: Task, trace: Trace | None) -> Verdict:
    if trace is None:
        return Verdict(outcome=Outcome.NOT_RUN, reason="it was never started")
    if trace.ending is not Ending.RETURNED:
        return Verdict(outcome=_ENDED[trace.ending], reason=_how_it_ended(trace))
    returned = trace.returned or Returned(kind=ReturnedKind.NOTHING)
    if declared_failure(rules, returned):
        reason = one_line(f"the agent said that it failed: {returned.declared_error}")
        return Verdict(outcome=Outcome.ERROR, reason=reason)
    if rules.document is not None:
        from .documents import judged_document  # noqa: PLC0415 - only where an answer is a document

        return judged_document(rules.document, task, returned, rules.scoring)
    answer = answer_of(rules, returned)
    exact = _judged(rules, task, answer, trace)
    if rules.scoring is Scoring.EXACT:
        return exact
    from pytest_sopbench._core.answers.published_finding import published  # noqa: PLC0415 - only for published scoring

    return _judged_as_published(rules, task, published(rules, returned, answer), exact)


def _judged(rules: JudgingRules, task: Task, answer: Answer, trace: Trace) -> Verdict:
    if not answer.complete:
        return Verdict(outcome=Outcome.NO_ANSWER, reason=one_line(answer.why), answer=answer)
    if not rules.asked_of_others:
        return _compared(_closest(rules, task, answer, Scoring.EXACT), answer)
    found = {(one.field, one.place): one for one in trace.compared}
    if unknown := unanswered(rules.asked_of_others, task, found):
        # Neither right nor wrong, whatever the other fields are.
        reason = one_line(NOT_JUDGED + "; ".join(f"{name}: {why}" for name, why in unknown))
        return Verdict(outcome=Outcome.UNAVAILABLE, reason=reason, answer=answer)
    return _compared(_closest(rules, task, answer, Scoring.EXACT, found), answer)


def _judged_as_published(
    rules: JudgingRules, task: Task, answer: Answer, exact: Verdict
) -> Verdict:
    """Judge a run that returned, which by these rules always gave an answer."""
    from pytest_sopbench._core.answers.published_answer import UNKNOWN  # noqa: PLC0415 - only for published scoring

    one = len(rules.fields) == 1
    found = {
        field.name: answer.values.get(field.name, UNKNOWN if one else None)
        for field in rules.fields
    }
    told = replace(answer, values=found)
    mismatches = _closest(rules, task, told, Scoring.PUBLISHED)
    if not one and answer.missing:
        # There one value may be unknown, but of several each has to be there.
        mismatches = _lacking(rules, task, answer, mismatches)
    only_published = not mismatches and not exact.correct
    return _compared(mismatches, answer, only_published=only_published)


def _lacking(
    rules: JudgingRules, task: Task, answer: Answer, mismatches: tuple[Mismatch, ...]
) -> tuple[Mismatch, ...]:
    from pytest_sopbench._core.answers.published_finding import NOT_FOUND  # noqa: PLC0415 - only for published scoring

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
    rules: JudgingRules,
    task: Task,
    answer: Answer,
    scoring: Scoring,
    found: Found = _NOBODY,
) -> tuple[Mismatch, ...]:
    """Compare with every acceptable answer; where none fits, the expected one is what failed."""
    expected = task.expected_as_written
    of_others = _at(task, 0, found) if found else _NOTHING
    closest = _mismatches(rules, expected, answer, scoring, of_others)
    for place, other in enumerate(task.acceptable, start=1) if closest else ():
        of_others = _at(task, place, found) if found else _NOTHING
        if not _mismatches(rules, {**expected, **other}, answer, scoring, of_others):
            return ()
    return closest


def _at(task: Task, place: int, found: Found) -> Mapping[str, Compared]:
    """Return what others found of each field, compared with one of the right answers."""
    return {field: one for (field, at), one in found.items() if at == place_of(task, place, field)}


def _mismatches(
    rules: JudgingRules,
    expected: Mapping[str, JsonValue],
    answer: Answer,
    scoring: Scoring,
    found: Mapping[str, Compared],
) -> tuple[Mismatch, ...]:
    mismatches: list[Mismatch] = []
    values = answer.values
    # What stands in a text is exact, and the published scorer compares as it was published.
    has_floats = answer.form == AnswerForm.MAPPING and scoring is Scoring.EXACT
    for field in rules.fields:
        name = field.name
        if field.compare is Compare.IGNORE:
            continue
        if found and field.compare in ASKED_OF_OTHERS:
            mismatch = _of_others(found[name], expected, values)
        else:
            given = values[name]
            meant = as_meant(field, expected[name], given) if has_floats else given
            mismatch = compare(field, expected[name], meant, scoring)
            if mismatch is not None and meant is not given:
                mismatch = replace(mismatch, actual=given)
        if mismatch is not None:
            mismatches.append(mismatch)
    return tuple(mismatches)


def _of_others(
    one: Compared, expected: Mapping[str, JsonValue], values: Mapping[str, JsonValue]
) -> Mismatch | None:
    if one.held:
        return None
    name = one.field
    return Mismatch(field=name, expected=expected[name], actual=values[name], why=one.why)


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
