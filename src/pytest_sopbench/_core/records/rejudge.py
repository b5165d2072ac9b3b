"""Judge a recorded run again, by other rules, or say why what was kept of it does not suffice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_sopbench._core.contract.demands import AfterApproval, AsksApproval
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import CUT_OFF, Asking, judge
from pytest_sopbench._core.model.task import MASK, Task
from pytest_sopbench._core.model.trace import (
    Returned,
    Trace,
)
from pytest_sopbench._core.verdict import Outcome

from .reconstruct import is_told_in_text, trace_of, was_not_judged
from .record import DOCUMENT_LIMIT, CallRecord, RunRecord, is_cut, record_of

NO_LOG: Final = "its record does not hold what the agent returned, and its event log is not kept"
CHANGED: Final = "its row has changed since"
MASKED: Final = "a value that decides is masked"
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

        What was found before stands where it was found by the same function; what could not be
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
    return _checked(
        _answer_of(judges.after, task, record, seen, from_log=trace is not None), record
    )


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
        return Rescored(record=_procedure_of(rules, task, record, died))
    seen = trace or _rebuilt(rules, record)
    why = _refusal(task, record, seen)
    if why or seen is None:
        return Rescored(record=record, why=why or RULES_CHANGED)
    if _is_cut_off(record):
        return Rescored(record=_procedure_of(rules, task, record, seen))
    seen = judges.ask(task, seen, anew=True)
    found = _answer_of(rules, task, record, seen, from_log=trace is not None)
    return _checked(_procedure_of(rules, task, found, seen), record)


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
    return MASKED if trace.returned and _hides(trace.returned) else ""


def _hides(returned: Returned) -> bool:
    return MASK in returned.mapping.values() or returned.text == MASK


def _answer_of(
    rules: JudgingRules, task: Task, record: RunRecord, trace: Trace, *, from_log: bool
) -> RunRecord:
    made = record_of(rules, task, trace, judge(rules, task, trace))
    return replace(
        record,
        outcome=made.outcome,
        reason=made.reason,
        answer=made.answer if from_log else record.answer,
        answer_form=made.answer_form if from_log else record.answer_form,
        mismatches=made.mismatches,
        only_published=made.only_published,
        compared=made.compared,
        state_differs=made.state_differs,
    )


def _procedure_of(
    rules: JudgingRules, task: Task, record: RunRecord, trace: Trace | None
) -> RunRecord:
    made = record_of(rules, task, trace, judge(rules, task, trace))
    return replace(
        record,
        rules=made.rules,
        contract=made.contract,
        grounded=made.grounded,
        trajectory=made.trajectory,
        unneeded=made.unneeded,
        unmade=made.unmade,
    )


def _checked(made: RunRecord, record: RunRecord) -> Rescored:
    if MASK in _spelled(made.answer or {}):
        return Rescored(record=record, why=MASKED)
    return Rescored(record=made)


def _spelled(value: object) -> str:
    return json.dumps(value, sort_keys=True)
