"""Hands what a run left to the process that prints the summary: see `Payload`."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple, TypedDict

import pytest

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.reportable import JudgedRun
from pytest_sopbench._hooks.runs.run_cache import LEFT, RAISED, RERUN, RUN, WAITED, Runs
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._hooks.settings.marks import answer_ignored
from pytest_sopbench._sessions.header import SessionOptions, options_to_json

# What a process hands over through the reports of pytest, and all that knows how it rides there.
#
# The payload is one attribute of a report. pytest keeps the attributes of reports, and xdist ships
# them, so no code here does either; nothing but text and flags crosses to another process.

PAYLOAD: Final = "sop_payload"
_BUILTIN: Final = "sop_builtin"
_FAILED_BY: Final = "sop_failed_by"
# execnet cannot carry a lower number, and writes a higher one digit by digit.
SMALLEST = -(2**31)
LARGEST = 2**63


class Payload(TypedDict, total=False):
    """What stands on one report; what is not said is not there.

    `plan` is on the first report of a process: its plan as JSON, empty if the process records
    results itself. `line` is that of the run that its item left, `events` its event log. `record`
    is what the line says, if it need not be read, which is so in the process that made the run.
    `taken_over` runs are of a session that is resumed, `inherited` ones of a dead worker.
    `is_rerun` holds if another plugin ran the item again.
    """

    plan: str
    line: str
    events: str
    record: RunRecord
    taken_over: bool
    inherited: bool
    is_rerun: bool


class FailedBy(NamedTuple):
    """What of its run a test failed by, and by nothing else.

    `outcome` is that of the run, `wrong` if the test found its answer wrong by itself, and
    `correct` if the test ignores the answer. `rules` are the ids of the rules that it broke.
    """

    outcome: Outcome
    rules: tuple[str, ...] = ()


def mark_failed_by(report: pytest.TestReport, found: FailedBy, *, builtin: bool) -> None:
    """Tell what of its run a test failed by; gates bound what comes of a `builtin` one."""
    setattr(report, _FAILED_BY, [found.outcome.value, *found.rules])
    setattr(report, _BUILTIN, builtin)


def failed_by(report: pytest.TestReport) -> FailedBy | None:
    """Return what of its run a test failed by; `None` if it failed by anything else."""
    # A plugin that runs a failed item again has given the first report another outcome.
    found: Sequence[str] = report.__dict__.get(_FAILED_BY, ())
    return FailedBy(Outcome(found[0]), tuple(found[1:])) if found and report.failed else None


def is_builtin(report: pytest.TestReport) -> bool:
    """Tell whether a test that `failed_by` something is a built-in one."""
    return getattr(report, _BUILTIN, False)


def sanitised(value: Any) -> Any:
    """Return the value in types that execnet carries, its text without lone surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else _encodable(value)
    if value is None or type(value) in {bool, float, bytes}:
        return value
    if type(value) is int:
        return value if SMALLEST <= value < LARGEST else hex(value)
    if isinstance(value, dict):
        return {sanitised(name): sanitised(one) for name, one in value.items()}  # pyright: ignore[reportUnknownVariableType] - a report holds anything
    if isinstance(value, list | tuple | set | frozenset):
        items = [sanitised(one) for one in value]  # pyright: ignore[reportUnknownVariableType] - a report holds anything
        return tuple(items) if isinstance(value, tuple) else items
    return _encodable(_text(value))


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the value's own code, which may raise anything
        return f"<{type(value).__name__} that cannot be shown>"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# What the built-in test raises.


class ContractBroken(AssertionError):  # noqa: N818 - as below
    """The run of a task broke a rule that fails it, whatever its answer is: no gate forgives it."""


class TaskFailed(AssertionError):  # noqa: N818 - pytest users read it as a failure, not an error
    """The run of a task is not correct: the one failure that a gate may forgive."""


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
            pyfuncitem.stash[BY_RUN] = True
            pytest.fail(run.explain_failed_test(), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        stash = item.stash
        left = stash.get(LEFT, None)
        if left is not None:
            record = left.record
            item.user_properties += [
                ("sop.domain", record.domain),
                ("sop.task", record.task),
                ("sop.outcome", record.outcome.value),
            ]
            if self._sop.label_of(record.agent) is not None:
                # If the session has one agent, every run is of it.
                item.user_properties.append(("sop.agent", record.agent))
            if record.outcome is not Outcome.CORRECT and BUILTIN in stash:
                item.user_properties.append(("sop.miss", "true"))
        report = yield
        if left is not None:
            del stash[LEFT]
            _take_own_time(report, stash[WAITED], left.trace.duration)
        is_first, self._plan_sent = not self._plan_sent, True
        is_rerun = RERUN in stash
        if left is not None or is_first or is_rerun:
            setattr(report, PAYLOAD, self._payload(left, first=is_first, rerun=is_rerun))
        if is_rerun:
            del stash[RERUN]
        if call.excinfo is not None and call.when == "call":
            found = _found(item, call.excinfo)
            if found is not None:
                mark_failed_by(report, found, builtin=BUILTIN in stash)
            stash[BY_RUN] = False
        return report

    def _payload(self, done: JudgedRun | None, *, first: bool, rerun: bool) -> Payload:
        """Return what the run of an item left, and with the first report the plan."""
        # The process that records results has made the plan, and needs no record read back.
        is_sent = hasattr(self._sop.config, "workerinput")
        payload: Payload = {"is_rerun": rerun}
        if first:
            payload["plan"] = self._sop.plan.to_json() if is_sent else ""
        if done is not None:
            payload["line"], payload["events"] = done.line, done.events
            payload["taken_over"], payload["inherited"] = done.taken_over, done.inherited
            if not is_sent:
                payload["record"] = done.record
        return payload

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self) -> Generator[None, Any, Any]:
        data = yield
        # One lone surrogate would end the session of a worker.
        return sanitised(data) if hasattr(self._sop.config, "workerinput") else data

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        output: dict[str, Any] | None = getattr(self._sop.config, "workeroutput", None)
        if output is not None and not self._plan_sent:
            output[PLAN] = self._sop.plan.to_json()
        if output is not None:
            known = self._sop.recorded
            learned = SessionOptions(setups=known.setups, prompts=known.prompts)
            output[LEARNED] = json.dumps(options_to_json(learned))
            output[GIVEN] = [*self._sop.given]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if REF in item.stash:
            self._runs.release(item)
        return result


def _take_own_time(report: pytest.TestReport, waited: float, took: float) -> None:
    """Report the time that a run took, and not how long its test waited for it."""
    report.duration = max(0.0, report.duration - waited) + took


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
