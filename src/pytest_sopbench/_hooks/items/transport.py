"""Carries what a run left to the process that prints the summary.

One ASCII line per run rides as an attribute of the first report after the run; pytest keeps the
attributes of reports, and xdist ships them, so no code here does either.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.requests import Done
from pytest_sopbench._hooks.runs.run_cache import LEFT, RAISED, RERUN, RUN, Left, Runs
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._hooks.settings.marks import answer_ignored

from .failures import ContractBroken, TaskFailed

PLAN = "sop_plan"
"""On the first report of a worker, and in its output where it comes to its end without one."""
LINE_OF_RUN = "sop_run"
RECORD_OF_RUN = "sop_record"
EVENTS_OF_RUN = "sop_events"
RUN_TAKEN_OVER = "sop_taken_over"
RUN_INHERITED = "sop_inherited"
MISS = "sop_miss"
BREACH = "sop_breach"
"""On the report of a built-in test that failed by a broken rule, which the run's record tells."""
RERUN_OF_ITEM = "sop_rerun"
# execnet cannot carry a lower number, and writes a higher one digit by digit.
SMALLEST = -(2**31)
LARGEST = 2**63


class Transport:
    """The hooks around each item, in the process that runs it."""

    def __init__(self, sop: SopSession, runs: Runs) -> None:
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
            pytest.fail(run.explain(), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        left = item.stash.get(LEFT, None)
        if left is not None:
            record = left.done.kept.record
            item.user_properties += [
                ("sop.domain", record.domain),
                ("sop.task", record.task),
                ("sop.outcome", record.outcome.value),
            ]
            if record.outcome is not Outcome.CORRECT and BUILTIN in item.stash:
                item.user_properties.append(("sop.miss", "true"))
        report = yield
        if left is not None:
            del item.stash[LEFT]
            _take_own_time(left, report)
            # Nothing but text crosses to another process.
            _hand_over(left.done, report, with_record=not hasattr(item.config, "workerinput"))
        if RERUN in item.stash:
            setattr(report, RERUN_OF_ITEM, True)
            del item.stash[RERUN]
        if not self._plan_sent:
            self._plan_sent = True
            # In the process that keeps the books the plan is theirs already.
            away = hasattr(item.config, "workerinput")
            setattr(report, PLAN, self._sop.plan.to_json() if away else "")
        if BUILTIN in item.stash:
            _tell_kind(call, report)
        return report

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self._sop.config, "workeroutput", None)
        if output is not None and not self._plan_sent:
            output[PLAN] = self._sop.plan.to_json()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if REF in item.stash:
            self._runs.release(item)
        return result


def _hand_over(done: Done, report: pytest.TestReport, *, with_record: bool) -> None:
    """Put on a report what the run of its item left."""
    setattr(report, LINE_OF_RUN, done.line)
    if with_record:
        setattr(report, RECORD_OF_RUN, done.kept.record)
    if done.kept.events:
        setattr(report, EVENTS_OF_RUN, done.kept.events)
    if done.kept.taken_over:
        setattr(report, RUN_TAKEN_OVER, True)
    if done.kept.inherited:
        setattr(report, RUN_INHERITED, True)


def _take_own_time(left: Left, report: pytest.TestReport) -> None:
    """Report the time that a run took, and not how long its test waited for it."""
    report.duration = max(0.0, report.duration - left.waited) + left.done.trace.duration


def _tell_kind(call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """A built-in test fails by its verdict, or a rule; whatever else fails in it, none forgives."""
    if call.when == "call" and call.excinfo is not None:
        for mark, kind in ((MISS, TaskFailed), (BREACH, ContractBroken)):
            if call.excinfo.errisinstance(kind):
                setattr(report, mark, True)


class Scrubber:
    """Makes every report of a worker encodable: one lone surrogate would end the session."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        return scrubbed((yield))


def scrubbed(value: Any) -> Any:
    """Return the value in types that execnet carries, its text without lone surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if value is None or type(value) in {bool, float, bytes}:
        return value
    if type(value) is int:
        return value if SMALLEST <= value < LARGEST else hex(value)
    if isinstance(value, dict):
        return {scrubbed(name): scrubbed(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType] - a report holds anything
    if isinstance(value, list | tuple | set | frozenset):
        items = [scrubbed(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - a report holds anything
        return tuple(items) if isinstance(value, tuple) else items
    return _encodable(_text(value))


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the value's own code, which may raise anything
        return f"<{type(value).__name__} that cannot be shown>"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
