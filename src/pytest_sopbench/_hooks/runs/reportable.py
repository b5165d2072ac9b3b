"""What leaves the process of a run: its line, and its event log where one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import RunKey, Task
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.record import RunRecord, record_of
from pytest_sopbench._core.verdict import Outcome, Verdict
from pytest_sopbench._hooks.session.domains import TaskRef
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._sessions.file.event_logs import trace_name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportableRun:
    """A run without what must not leave its process; `events` is empty where no log is kept.

    `taken_over` tells that it was made by an earlier session, `inherited` that a worker made it
    which has died since, and may have reported it.
    """

    record: RunRecord
    events: str = ""
    taken_over: bool = False
    inherited: bool = False


def make_reportable(
    sop: SopSession, ref: TaskRef, task: Task, trace: Trace | None, verdict: Verdict
) -> ReportableRun:
    """Make of a judged run what may be sent, written and printed; one not made leaves no log."""
    active = ref.domain
    redaction = sop.options.redaction.of(active.domain.private_columns)
    wanted = trace is not None and _is_wanted(sop, verdict)
    masks = redaction.masks
    if masks:
        # Before anything is cut: a part of a secret is no longer known for one.
        trace, verdict = trace and redaction.trace(trace), redaction.verdict(verdict)
    trial, agent = ref.key.trial, ref.key.agent
    record = record_of(active.rules, task, trace, verdict, trial=trial, agent=agent)
    if masks:
        record = redaction.record(record)
    if trace is None or not wanted:
        return ReportableRun(record=record)
    return ReportableRun(
        record=replace(record, trace=trace_name(ref.key)),
        events=event_log(ref.key, active.rules, trace, verdict, redaction),
    )


def judge_and_keep(
    sop: SopSession, ref: TaskRef, task: Task, trace: Trace | None
) -> tuple[Verdict, ReportableRun]:
    """Judge a run by what was observed, and make of it what may be sent, written and printed."""
    with masking(sop.options.redaction.text):
        verdict = judge(ref.domain.rules, task, trace)
    return verdict, make_reportable(sop, ref, task, trace, verdict)


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
