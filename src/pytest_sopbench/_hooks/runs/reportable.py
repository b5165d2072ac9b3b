"""A run, judged: what its tests see, and what may leave its process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import RunKey, Task
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord, record_of
from pytest_sopbench._core.verdict import Outcome, Verdict
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._sessions.file.event_logs import trace_name

CUT_BY_PLUGIN: Final = "pytest-timeout ended the test that waited for the run"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """A run that was made and judged.

    `trace` and `verdict` are whole, for the tests of the run. `record`, its `line` and its event
    log `events` lack what must not leave the process; `events` is empty where no log is kept.
    `taken_over` tells that an earlier session made it, `inherited` that a worker made it which has
    died since, and may have reported it.
    """

    ref: TaskRef
    task: Task
    trace: Trace
    verdict: Verdict
    record: RunRecord
    line: str
    events: str = ""
    taken_over: bool = False
    inherited: bool = False


def judged(sop: SopSession, ref: TaskRef, task: Task, trace: Trace | None) -> JudgedRun:
    """Judge a run by what was observed; without a trace it never began, and leaves no log."""
    active, redaction = ref.domain, sop.options.redaction
    with masking(redaction.text):
        verdict = judge(active.rules, task, trace)
    redaction = redaction.of(active.domain.private_columns)
    # Before anything is cut: a part of a secret is no longer known for one.
    seen, told = trace and redaction.trace(trace), redaction.verdict(verdict)
    trial, agent = ref.key.trial, ref.key.agent
    record = record_of(active.rules, task, seen, told, trial=trial, agent=agent)
    # What a task says by itself stands in neither of the two.
    record = replace(
        record,
        expected=redaction.mapping(record.expected),
        disagreement=redaction.text(record.disagreement),
    )
    events = ""
    if seen is not None and _is_wanted(sop, verdict):
        record = replace(record, trace=trace_name(ref.key))
        events = event_log(ref.key, active.rules, seen, told, redaction)
    return JudgedRun(
        ref=ref,
        task=task,
        trace=trace or Trace(ending=Ending.TIMED_OUT, notes=(CUT_BY_PLUGIN,)),
        verdict=verdict,
        record=record,
        line=to_line(record),
        events=events,
    )


def comparing(
    sop: SopSession,
    ref: TaskRef,
    task: Task,
    beside: Callable[[], AbstractContextManager[None]],
    capture: Capture,
) -> Callable[[Trace], Trace] | None:
    """Return what asks the comparers of a domain about a run, or `None` where it has none.

    `beside` is entered around them: what they send is no traffic of the agent.
    """
    comparers, rules = ref.domain.comparers, ref.domain.rules
    if not comparers.by_field:
        return None
    mask = sop.options.redaction.text

    def compare(trace: Trace) -> Trace:
        with beside():
            return comparers.compare(rules, task, trace, mask, capture)

    return compare


def may_store_trace(sop: SopSession, ref: TaskRef, trace: Trace) -> bool:
    """Tell whether a trace may lie on the disk as it is, since nothing in it must be masked."""
    redaction = sop.options.redaction
    if ref.domain.domain.private_columns:
        # In free text a private answer cannot be told from the rest.
        return False
    return not redaction.masks_texts or redaction.trace(trace) == trace


def unreported_record(sop: SopSession, key: RunKey, trace: Trace | None) -> RunRecord:
    """Return the record of a run that no report tells of, without what must not be written."""
    active = sop.find_active(key.domain)
    task = active.domain.tasks[active.places[key.task]]
    verdict = judge(active.rules, task, trace)
    record = record_of(active.rules, task, trace, verdict, trial=key.trial, agent=key.agent)
    return sop.options.redaction.of(active.domain.private_columns).record(record)


def _is_wanted(sop: SopSession, verdict: Verdict) -> bool:
    if sop.options.traces == "failed":
        is_wrong = verdict.outcome is not Outcome.CORRECT
        return is_wrong or (bool(verdict.rules) and any(rule.broken for rule in verdict.rules))
    return sop.options.traces == "all"
