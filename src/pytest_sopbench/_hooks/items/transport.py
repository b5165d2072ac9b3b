"""Hands what a run left to the process that prints the summary: see `payload`."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import pytest

from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.requests import RunResult
from pytest_sopbench._hooks.runs.run_cache import LEFT, RAISED, RERUN, RUN, PendingReport, RunCache
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._hooks.settings.marks import answer_ignored
from pytest_sopbench._sessions.header.options import SessionOptions, options_to_json

from .failures import ContractBroken, TaskFailed
from .payload import FailedBy, Payload, attach, mark_failed_by, sanitised

PLAN = "sop_plan"
"""In the output of a worker that comes to its end without a report."""

GIVEN = "sop_given"
"""In the output of a worker: the agents of the options that its tests were given."""

BY_RUN = pytest.StashKey[bool]()
"""Stands on an item whose body held, and which fails by its run."""

LEARNED = "sop_learned"
"""In the output of a worker: what it knows of its agents, which a fixture may have made there."""


class ReportHooks:
    """The hooks around each item, in the process that runs it."""

    def __init__(self, sop: SopSession, runs: RunCache) -> None:
        self._sop = sop
        self._runs = runs
        self._plan_sent = False

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> Generator[None, object, object]:
        """Fail a test that passed although the run it asked for did not."""
        try:
            result = yield
        except TaskFailed:
            raised = pyfuncitem.stash.get(RAISED, None)
            if raised is not None:
                # The debugger opens where the agent raised, and not in a frame of ours.
                raise raised from None
            raise
        run = None if BUILTIN in pyfuncitem.stash else pyfuncitem.stash.get(RUN, None)
        if run is not None and run.fails_test(answer_ignored=answer_ignored(pyfuncitem)):
            pyfuncitem.stash[BY_RUN] = True
            pytest.fail(run.explain_failed_test(), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        stash = item.stash
        left: PendingReport | None = None
        if LEFT in stash:
            left = stash[LEFT]
            record = left.done.kept.record
            item.user_properties += [
                ("sop.domain", record.domain),
                ("sop.task", record.task),
                ("sop.outcome", record.outcome.value),
            ]
            if self._sop.label_of(record.agent) is not None:
                # Where the session has one agent, every run is of it.
                item.user_properties.append(("sop.agent", record.agent))
            if record.outcome is not Outcome.CORRECT and BUILTIN in stash:
                item.user_properties.append(("sop.miss", "true"))
        report = yield
        if left is not None:
            del stash[LEFT]
            _take_own_time(left, report)
        is_first, self._plan_sent = not self._plan_sent, True
        is_rerun = RERUN in stash
        if left is not None or is_first or is_rerun:
            self._hand_over(left.done if left else None, report, first=is_first, rerun=is_rerun)
        if is_rerun:
            del stash[RERUN]
        if call.excinfo is not None and call.when == "call":
            found = _found(item, call.excinfo)
            if found is not None:
                mark_failed_by(report, found, builtin=BUILTIN in stash)
            stash[BY_RUN] = False
        return report

    def _hand_over(
        self, done: RunResult | None, report: pytest.TestReport, *, first: bool, rerun: bool
    ) -> None:
        """Put on a report what the run of its item left, and on the first one the plan."""
        # In the process that keeps the books the plan is theirs already.
        is_sent = hasattr(self._sop.config, "workerinput")
        plan = (self._sop.plan.to_json() if is_sent else "") if first else None
        payload = (
            Payload(plan=plan, is_rerun=rerun)
            if done is None
            else Payload(
                plan=plan,
                is_rerun=rerun,
                line=done.line,
                record=done.kept.record,
                events=done.kept.events,
                taken_over=done.kept.taken_over,
                inherited=done.kept.inherited,
            )
        )
        attach(report, payload, is_sent=is_sent)

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self._sop.config, "workeroutput", None)
        if output is not None and not self._plan_sent:
            output[PLAN] = self._sop.plan.to_json()
        if output is not None:
            known = self._sop.recorded
            learned = SessionOptions(setups=known.setups, prompts=known.prompts, stands={})
            output[LEARNED] = json.dumps(options_to_json(learned))
            output[GIVEN] = [*self._sop.given]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if REF in item.stash:
            self._runs.release(item)
        return result


def _take_own_time(left: PendingReport, report: pytest.TestReport) -> None:
    """Report the time that a run took, and not how long its test waited for it."""
    report.duration = max(0.0, report.duration - left.waited) + left.done.trace.duration


def _found(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> FailedBy | None:
    """Return what of its run a test failed by; whatever else failed in it, nothing forgives."""
    run = item.stash.get(RUN, None)
    if run is None:
        return None
    if BUILTIN in item.stash:
        if not excinfo.errisinstance((TaskFailed, ContractBroken)):
            return None
        return FailedBy(run.outcome, tuple(one.id for one in run.breaches))
    by_run, ignored = item.stash.get(BY_RUN, False), answer_ignored(item)
    found = run.failed_by(excinfo.value, by_run=by_run, answer_ignored=ignored)
    return None if found is None else FailedBy(*found)


class ReportSanitizer:
    """Makes every report of a worker encodable: one lone surrogate would end the session."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        return sanitised((yield))
