"""What is made of a record again: a trace, an approvable trajectory, a verdict by other rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.demands import AfterApproval, AsksApproval
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import CUT_OFF, NOT_JUDGED, Asking, judge
from pytest_sopbench._core.model.task import MASK, Task
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

from .record import DOCUMENT_LIMIT, CallRecord, RunRecord, is_cut, members, record_of

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


# Judge a recorded run again, by other rules, or say why what was kept of it does not suffice.

NO_LOG: Final = "its record does not hold what the agent returned, and its event log is not kept"
CHANGED: Final = "its row has changed since"
MASKED: Final = "a value that decides is masked"
NOT_COMPARED: Final = "the function or the model that compares its fields gave no judgement"
OTHERWISE: Final = "what was kept of it comes to another outcome than the one recorded"
RULES_CHANGED: Final = (
    "the rules have changed since, its record is not whole, and its event log is not kept"
)

_LOST: Final = frozenset({Outcome.CRASH, Outcome.NOT_RUN})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """The rules of one domain by which a session is judged again.

    `before` are those it was judged by; `None` if they are no longer known, since the domain
    has changed. `asking` asks those who compare fields, `None` if only what they have found
    before is at hand.
    """

    before: JudgingRules | None
    after: JudgingRules
    asking: Asking | None = None

    def ask(self, task: Task, trace: Trace, *, anew: bool) -> Trace:
        """Return the trace as it is to be judged.

        What was found before stands if it was found by the same function; what could not be
        found out is asked again.
        """
        failed = any(one.held is None for one in trace.compared)
        if self.asking is None or not (anew or failed):
            return trace
        return self.asking.compare(self.after, task, trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """A run after it was judged again, or as it was before, and `why` that was impossible.

    Nothing is guessed: an answer that was cut, masked or not kept is not judged.
    """

    record: RunRecord
    why: str = ""


def rescore(judges: Judges, task: Task, record: RunRecord, trace: Trace | None) -> Rescored:
    """Judge a run again.

    Args:
        judges: of the task's domain.
        task: as it is today.
        record: the run as it was recorded.
        trace: as its event log has it, or `None` if none is kept.
    """
    if record.task_hash != task.hash:
        return Rescored(record=record, why=CHANGED)
    if trace is not None:
        # A log is never rewritten, and a session that was rescored may have asked again.
        trace = replace(trace, compared=record.compared)
    if judges.before is None:
        return _by_changed_rules(judges, task, record, trace)
    if _is_cut_off(record):
        # No answer was judged, and what is judged beside it stays as it was.
        return Rescored(record=record)
    seen = trace or _answered(record)
    why = _refusal(task, record, seen)
    if why or seen is None:
        return Rescored(record=record, why=why or NO_LOG)
    if judge(judges.before, task, seen).outcome is not record.outcome:
        return Rescored(record=record, why=OTHERWISE)
    seen = judges.ask(task, seen, anew=False)
    names = _ANSWER if trace is None else (*_ANSWER, *_FOUND)
    return _checked(_judged_anew(judges.after, task, record, seen, names), record)


def _is_cut_off(record: RunRecord) -> bool:
    """Whether something stopped a run; one that nobody could judge has given its answer."""
    return record.outcome in CUT_OFF and not record.compared and not was_not_judged(record)


def _by_changed_rules(
    judges: Judges, task: Task, record: RunRecord, trace: Trace | None
) -> Rescored:
    """Judge a run by rules that are not those of before: its answer, and its calls as well."""
    rules = judges.after
    if record.outcome in _LOST:
        died = trace_of(record) if record.outcome is Outcome.CRASH else None
        return Rescored(record=_judged_anew(rules, task, record, died, _PROCEDURE))
    seen = trace or _rebuilt(rules, record)
    why = _refusal(task, record, seen)
    if why or seen is None:
        return Rescored(record=record, why=why or RULES_CHANGED)
    if _is_cut_off(record):
        return Rescored(record=_judged_anew(rules, task, record, seen, _PROCEDURE))
    seen = judges.ask(task, seen, anew=True)
    names = (*_ANSWER, *_PROCEDURE, *(_FOUND if trace is not None else ()))
    return _checked(_judged_anew(rules, task, record, seen, names), record)


def _rebuilt(rules: JudgingRules, record: RunRecord) -> Trace | None:
    """Return a trace of the recorded answer and calls, or `None` if they are not whole."""
    demands = [rule.demand for rule in rules.contract.rules] if rules.contract else []
    # Approvals stand in no record.
    if any(isinstance(one, AfterApproval | AsksApproval) for one in demands) or not _are_whole(
        record.calls
    ):
        return None
    return trace_of(record) if _is_cut_off(record) else _answered(record)


def _are_whole(calls: Sequence[CallRecord]) -> bool:
    values = [value for one in calls for value in (one.arguments, one.result)]
    return not any(is_cut(value) or MASK in _spelled(value) for value in values)


def _answered(record: RunRecord) -> Trace | None:
    """Return a trace that gives the recorded answer, or `None` if it is not whole."""
    if is_told_in_text(record):
        is_whole = 0 < len(record.text) <= DOCUMENT_LIMIT
    else:
        is_whole = record.answer is not None and not any(map(is_cut, record.answer.values()))
    rows = [row for one in record.state or () for row in (one.before, one.after)]
    is_whole = is_whole and not any(is_cut(value) for row in rows for value in (row or {}).values())
    return trace_of(record) if is_whole else None


def _refusal(task: Task, record: RunRecord, trace: Trace | None) -> str:
    if _spelled(record.expected) != _spelled(task.expected_as_written):
        # The row is the same, so this is a redaction; its values must not come to light here.
        return MASKED
    if trace is None:
        return ""
    if any(MASK in _spelled([one.key, one.before, one.after]) for one in trace.state or ()):
        return MASKED
    returned = trace.returned
    is_hidden = returned and (MASK in returned.mapping.values() or returned.text == MASK)
    return MASKED if is_hidden else ""


_ANSWER: Final = (
    "outcome",
    "reason",
    "mismatches",
    "only_published",
    "compared",
    "state_differs",
)
_FOUND: Final = ("answer", "answer_form")
"""What only an event log tells anew: a record has the answer that was found in it."""

_PROCEDURE: Final = ("rules", "contract", "grounded", "trajectory", "unneeded", "unmade")


def _judged_anew(
    rules: JudgingRules,
    task: Task,
    record: RunRecord,
    trace: Trace | None,
    names: tuple[str, ...],
) -> RunRecord:
    """Return a record in which these fields are as the rules have them."""
    made = members(record_of(rules, task, trace, judge(rules, task, trace)))
    return replace(record, **{name: made[name] for name in names})


def _checked(made: RunRecord, record: RunRecord) -> Rescored:
    if MASK in _spelled(made.answer or {}):
        return Rescored(record=record, why=MASKED)
    is_asked = any(one.held is None for one in made.compared)
    if is_asked and was_not_judged(made) and not was_not_judged(record):
        return Rescored(record=record, why=NOT_COMPARED)
    return Rescored(record=made)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True)
