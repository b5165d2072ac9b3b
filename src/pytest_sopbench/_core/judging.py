"""The one place that decides an outcome."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Protocol, cast

from pytest_sopbench._core.answers.echoes import without_quoted_sop
from pytest_sopbench._core.answers.find import find_answer
from pytest_sopbench._core.answers.published import NOT_FOUND, UNKNOWN, published
from pytest_sopbench._core.answers.values import failure_in
from pytest_sopbench._core.documents.comparing import compare_documents
from pytest_sopbench._core.documents.published import (
    NoDocumentError,
    published_document,
    published_mismatches,
)
from pytest_sopbench._core.documents.reading import find_document
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.fields.values import as_meant, without_noise
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, OutputField, Scoring, Task
from pytest_sopbench._core.model.trace import (
    TURN_LIMIT,
    UNSEEN,
    Answer,
    AnswerForm,
    Compared,
    Ending,
    Mismatch,
    Returned,
    ReturnedKind,
    Trace,
    has_ended,
)
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.trajectory.calls import (
    ExpectedCall,
    Trajectory,
    trajectory_of,
    unneeded_calls,
)
from pytest_sopbench._core.trajectory.match import match_trajectory, unmade_calls
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import as_seconds, fold

from .contract import RuleResult, Severity, check_contract, contract_state, grounded
from .demands import DemandKind, Known, RuleState
from .domain import JudgingRules
from .end_state import CALL_NOT_ENDED, UnknownStateError, state_differs
from .hiding import short_line
from .verdict import Outcome, Verdict

# What has to be asked of others before a run can be judged: one question for each comparison.
#
# Judging is pure. What a function of the user finds, it finds before, and the trace carries it.

NOT_ASKED = "nobody was asked"

_SPEAKS_OF_FAILURE = frozenset({"success", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One comparison that somebody else makes.

    Attributes:
        field: the output field.
        place: as that of `Compared`.
        expected: the right value, in the type of the field.
        actual: the value that the agent gave.
        task: the task, with its inputs.
        answer: all that the agent answered.
    """

    field: OutputField
    place: int
    expected: JsonValue
    actual: JsonValue
    task: Task
    answer: Answer


class Asking(Protocol):
    """Asks what has to be asked of runs of one domain; `identities` say by field who answers."""

    @property
    def identities(self) -> Mapping[str, str]: ...

    def compare(self, rules: JudgingRules, task: Task, trace: Trace) -> Trace:
        """Return the trace with what was found of its answer; nothing is raised."""
        ...


def questions(rules: JudgingRules, task: Task, trace: Trace) -> tuple[Question, ...]:
    """Return what has to be asked of a run; nothing if there is no whole answer to compare."""
    if trace.ending is not Ending.RETURNED or not rules.asked_of_others:
        return ()
    returned = trace.returned or Returned(kind=ReturnedKind.NOTHING)
    if declared_failure(rules, task, returned):
        return ()
    answer = answer_of(rules, returned)
    return tuple(_questions(rules, task, answer)) if answer.complete else ()


def answer_of(rules: JudgingRules, returned: Returned) -> Answer:
    """Find the answer in what an agent returned."""
    if returned.text:
        returned = without_quoted_sop(returned, rules.sop)
    return find_answer(returned, rules.fields, rules.sop)


def declared_failure(rules: JudgingRules, task: Task, returned: Returned) -> bool:
    """Whether an agent said that it failed, and not what the task asks for."""
    if returned.declared_error is None:
        return False
    if rules.document is not None:
        return _is_of_the_run(rules.document, task)
    return _SPEAKS_OF_FAILURE.isdisjoint(fold(field.name) for field in rules.fields)


def _is_of_the_run(document: DocumentRules, task: Task) -> bool:
    """Whether `success` and `error` speak of the run: neither schema nor answer has them."""
    return _SPEAKS_OF_FAILURE.isdisjoint(map(fold, (*document.declared.names, *task.expected)))


def candidates(task: Task) -> Iterator[Mapping[str, JsonValue]]:
    """Yield every right answer as written: the expected one, then those that are acceptable."""
    yield task.expected_as_written
    for other in task.acceptable:
        yield {**task.expected_as_written, **other}


def place_of(task: Task, place: int, field: str) -> int:
    """Return at which place a field was compared; a right answer may be like the expected one."""
    expected = task.expected_as_written[field]
    return place if place and task.acceptable[place - 1].get(field, expected) != expected else 0


def unanswered(
    fields: Sequence[OutputField], task: Task, found: Mapping[tuple[str, int], Compared]
) -> list[tuple[str, str]]:
    """Return each of these fields that could not be compared with some right answer, and why."""
    return [
        (field.name, why)
        for field in fields
        if (why := _why_not(field.name, task, found)) is not None
    ]


def _why_not(field: str, task: Task, found: Mapping[tuple[str, int], Compared]) -> str | None:
    for place in sorted({place_of(task, n, field) for n in range(len(task.acceptable) + 1)}):
        one = found.get((field, place))
        if one is None or one.held is None:
            return one.why if one else NOT_ASKED
    return None


def _questions(rules: JudgingRules, task: Task, answer: Answer) -> Iterator[Question]:
    for field in rules.asked_of_others:
        for place, expected in enumerate(candidates(task)):
            if place_of(task, place, field.name) == place:
                yield Question(
                    field=field,
                    place=place,
                    expected=typed_value(field, expected[field.name]),
                    actual=answer.values[field.name],
                    task=task,
                    answer=answer,
                )


# How a run stands to the procedure: the contract, and the calls that are expected of the task.
#
# Nothing here decides an outcome; a right answer by a wrong way stays a right answer.

CUT_OFF = frozenset(
    {
        Outcome.ERROR,
        Outcome.UNAVAILABLE,
        Outcome.TIMEOUT,
        Outcome.CALL_LIMIT,
        Outcome.CRASH,
        Outcome.NOT_RUN,
    }
)
"""The outcomes of runs that something stopped before the agent had ended them itself."""


def with_procedure(
    verdict: Verdict, rules: JudgingRules, task: Task, trace: Trace | None
) -> Verdict:
    """Add to a verdict what the contract and the expected calls say of the run.

    A run whose calls nobody knows (it never started, or its process died) keeps its place in
    every denominator, but is said to have broken nothing. One whose provider was away has held
    nothing, and lacks nothing that it did not come to; but what it did by then is done, and a call
    that broke a rule stays a broken rule, whatever its severity.
    """
    lost = trace is None or trace.ending is Ending.PROCESS_DIED
    seen = trace or Trace(ending=Ending.PROCESS_DIED)
    expected = rules.expected_calls.get(task.id)
    if rules.contract is not None:
        fields = {field.name: field for field in rules.fields}
        known = Known(
            task=task, answer=verdict.answer, fields=fields, expected=expected, world=rules.world
        )
        results = check_contract(rules.contract, seen, known)
        needed = grounded(results)
        if lost:
            results = tuple(_unknown(one, "the run's calls are not known") for one in results)
        away = seen.ending is Ending.UNAVAILABLE
        if away:
            why = "the provider was away before the run came to its end"
            results = tuple(
                one if one.broken and not _is_lacking(one) else _unknown(one, why)
                for one in results
            )
        if not seen.calls_are_seen:
            results = tuple(_unknown(one, UNSEEN) for one in results)
            return replace(verdict, rules=results)
        verdict = replace(
            verdict,
            rules=results,
            contract=contract_state(results, shown=not away and has_shown(seen, verdict.outcome)),
            grounded=needed,
        )
    if expected is None or not seen.calls_are_seen:
        return verdict
    if lost:
        return replace(verdict, unmade=(_NOT_KNOWN,))
    made = trajectory_of(seen)
    found = match_trajectory(made, expected).departure
    return replace(
        verdict,
        departure=f"step {found.step}: {found.why}" if found else "",
        unneeded=unneeded_calls(made, expected),
        unmade=tuple(_unmade(expected, made)),
    )


_NOT_KNOWN: Final = Mismatch(
    field="", expected=None, actual=None, why="the run's calls are not known"
)


def _unmade(expected: Sequence[ExpectedCall], made: Trajectory) -> Iterator[Mismatch]:
    for one in unmade_calls(expected, made.calls)[0]:
        if one.made is None:
            why = "no call of it is left for it" if one.name in made.names else "never called"
            yield Mismatch(field=one.name, expected=None, actual=None, why=why)
            continue
        first = one.differences[0]
        path = first.field if first.field[:1] in {"", "["} else f".{first.field}"
        yield Mismatch(
            field=f"{one.name}{path}",
            expected=first.expected,
            actual=first.actual,
            why=f"step {one.made + 1}: {first.why}",
        )


def has_shown(trace: Trace, outcome: Outcome) -> bool:
    """Whether a run called a tool, or was ended by its agent."""
    return bool(trace.calls) or outcome not in CUT_OFF


def breaches(
    results: Sequence[RuleResult], outcome: Outcome, *, enforce: bool = False
) -> tuple[RuleResult, ...]:
    """Return the broken rules that fail a run: those that must hold, or with `enforce` all.

    A required tool, or an answer that an argument must equal, which a run did not come to because
    something stopped it first, is counted as a broken rule and fails nothing: the run is a failure
    already, and of another kind.
    """
    if not results:
        return ()
    cut_off = outcome in CUT_OFF
    return tuple(
        one
        for one in results
        if one.broken
        and (enforce or one.severity is Severity.MUST)
        and not (cut_off and _is_lacking(one))
    )


def _is_lacking(result: RuleResult) -> bool:
    """Tell whether a rule is broken by what a run did not come to, and not by what it did."""
    return result.kind == DemandKind.REQUIRES or result.unfinished


def _unknown(result: RuleResult, why: str) -> RuleResult:
    if not result.applies:
        return result
    return replace(result, state=RuleState.NOT_EXERCISED, why=why, unfinished=False)


# Say a reason in one line.

REASON_LIMIT: Final = 160


def one_line(words: str) -> str:
    """Return words without line ends, and cut."""
    return short_line(words, REASON_LIMIT)


# Decide how a run ended: the only place where an `Outcome` is made.
#
# It is made from values, never from the text of an error.

NOT_JUDGED: Final = "not judged: "
"""How the reason of a run begins whose answer nobody could compare."""

Found = Mapping[tuple[str, int], Compared]
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
    if declared_failure(rules, task, returned):
        return _failed(f"{returned.declared_error}")
    if rules.document is not None:
        return judged_document(rules.document, task, returned, rules.scoring)
    answer = answer_of(rules, returned)
    exact = _judged(rules, task, answer, trace)
    if rules.scoring is Scoring.EXACT:
        return exact if rules.state is None else _with_state(exact, rules, task, trace)
    return _judged_as_published(rules, task, published(rules, returned, answer), exact)


def _with_state(verdict: Verdict, rules: JudgingRules, task: Task, trace: Trace) -> Verdict:
    """Hold what a run that answered has left in its world against what it should have left."""
    if not verdict.completed:
        return verdict
    try:
        differs = state_differs(rules, task, _known_state(trace))
    except UnknownStateError as fault:
        # Neither right nor wrong; a wrong answer stays one.
        reason = one_line(f"{NOT_JUDGED}state: {fault}")
        return (
            replace(verdict, outcome=Outcome.UNAVAILABLE, reason=reason)
            if verdict.correct
            else verdict
        )
    if not differs:
        return verdict
    reasons = [verdict.reason] if verdict.reason else []
    reason = one_line("; ".join([*reasons, *differs]))
    return replace(verdict, outcome=Outcome.WRONG, reason=reason, state_differs=differs)


def _known_state(trace: Trace) -> Sequence[StateChange] | None:
    if not all(has_ended(call) for call in trace.calls):
        raise UnknownStateError(CALL_NOT_ENDED)
    return trace.state


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
    """Compare with every acceptable answer; if none fits, the expected one is what failed."""
    expected = task.expected_as_written
    closest = _mismatches(rules, task, expected, 0, answer, scoring=scoring, found=found)
    for place, other in enumerate(task.acceptable, start=1) if closest else ():
        right = {**expected, **other}
        if not _mismatches(rules, task, right, place, answer, scoring=scoring, found=found):
            return ()
    return closest


def _mismatches(  # noqa: PLR0913 - as `_closest`, and which of the right answers it is
    rules: JudgingRules,
    task: Task,
    expected: Mapping[str, JsonValue],
    place: int,
    answer: Answer,
    *,
    scoring: Scoring,
    found: Found,
) -> tuple[Mismatch, ...]:
    """Return in what an answer differs from one of the right ones, the one at a place."""
    mismatches: list[Mismatch] = []
    values = answer.values
    # What stands in a text is exact, and the published scorer compares as it was published.
    has_floats = answer.form == AnswerForm.MAPPING and scoring is Scoring.EXACT
    for field in rules.fields:
        name = field.name
        if field.compare is Compare.IGNORE:
            continue
        if found and field.compare in ASKED_OF_OTHERS:
            one = found[name, place_of(task, place, name)]
            mismatch = _of_others(one, expected, values)
        else:
            given = values[name]
            is_text = isinstance(given, str)
            meant = as_meant(field, expected[name], given) if has_floats and not is_text else given
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
            died = trace.problem
            return one_line(died.message) if died else "the process that ran it died"
        case _:
            problem = trace.problem
            return one_line(f"{problem.type}: {problem.message}" if problem else "the agent raised")


def _failed(words: str) -> Verdict:
    reason = one_line(f"the agent said that it failed: {words}")
    return Verdict(outcome=Outcome.ERROR, reason=reason)


# Judge a run whose answer is a JSON document.

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def judged_document(
    document: DocumentRules, task: Task, returned: Returned, scoring: Scoring = Scoring.EXACT
) -> Verdict:
    """Return the verdict on what an agent returned: the three tiers are its outcomes.

    A document that matches is correct, one that only satisfies the schema is wrong, and if
    nothing satisfies it there is no answer.
    """
    exact = _exact(document, task, returned)
    is_exact = scoring is Scoring.EXACT
    return exact if is_exact else _published(document, task, returned, exact)


def _exact(document: DocumentRules, task: Task, returned: Returned) -> Verdict:
    found = find_document(document, returned)
    if found.document is None:
        return _no_answer(found.reason)
    answer = Answer(
        values=found.document,
        form=AnswerForm.MAPPING if found.position is None else AnswerForm.DOCUMENT,
        position=found.position,
    )
    told = found.document
    if _is_of_the_run(document, task) and (failure := failure_in(told)):
        return _failed(failure)
    if answer.form == AnswerForm.MAPPING:
        told = cast("Mapping[str, JsonValue]", without_noise(task.expected, told))
    judged = compare_documents(document, task.expected, told)
    return _compared_documents(answer, judged.mismatches, notes=judged.notes)


def _published(document: DocumentRules, task: Task, returned: Returned, exact: Verdict) -> Verdict:
    text = returned.text or (_encode(returned.mapping) if returned.mapping else "")
    try:
        value = published_document(text, document.schema)
    except NoDocumentError as fault:
        return _no_answer(str(fault))
    mismatches = published_mismatches(task.expected, value, document.ignored)
    # A schema may allow more than objects, which only this scorer would look at.
    values: Mapping[str, JsonValue] = value if isinstance(value, Mapping) else {}
    answer = exact.answer if exact.completed and exact.answer else None
    return _compared_documents(
        answer or Answer(values=values, form=AnswerForm.PUBLISHED),
        mismatches,
        only_published=not mismatches and not exact.correct,
    )


def _no_answer(reason: str) -> Verdict:
    answer = Answer(values={}, form=AnswerForm.NOT_FOUND, why=reason)
    return Verdict(outcome=Outcome.NO_ANSWER, reason=one_line(reason), answer=answer)


def _compared_documents(
    answer: Answer,
    mismatches: tuple[Mismatch, ...],
    *,
    only_published: bool = False,
    notes: tuple[str, ...] = (),
) -> Verdict:
    words = "; ".join(f"{one.field}: {one.why}" for one in mismatches)
    return Verdict(
        outcome=Outcome.WRONG if mismatches else Outcome.CORRECT,
        reason=one_line("only by the published scorer's rules" if only_published else words),
        answer=answer,
        mismatches=mismatches,
        only_published=only_published,
        notes=notes,
    )
