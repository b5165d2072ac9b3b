"""Starts no run any more once the session's budget is spent.

Runs in flight end and count. A test whose run was not begun is passed over without a report: it
has neither passed nor failed, and its run is `not_run` at the end, so that gates are inconclusive
and the session fails. Tests that ask for no run go on.

What was spent is known where results are recorded. Workers of xdist look for a file beside their
journals, which the controller puts there; of the time each process has a clock of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_sopbench._core.gates.budget import Spending, reaches_time
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord, cost_now
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.items.collection import attach_not_run, tear_down
from pytest_sopbench._hooks.results.recorder import SessionRecorder
from pytest_sopbench._hooks.runs.reportable import JOURNALS, JudgedRun, journal_folder
from pytest_sopbench._hooks.runs.run_cache import Runs, asks_for_run
from pytest_sopbench._hooks.session.consistency import has_workers
from pytest_sopbench._hooks.session.domains import TaskRef, judged_in
from pytest_sopbench._hooks.session.session import REF, SopSession
from pytest_sopbench._reports.notices import budget_lines

if TYPE_CHECKING:
    from pytest_sopbench._judge.keeping import LogReader

ELAPSED: Final = "sop_elapsed"
"""What a worker is told: the seconds of the session that are over when it is started."""

FLAG: Final = "budget-spent"
"""The file that says to workers that the money is spent."""

NO_COST = (
    "--sop-budget={}usd: the first run that returned reported no cost, so nobody can say what is "
    "spent\nlet the agent tell it with tools.report(usage={{'cost_usd': ...}}), let it name its "
    "model and give prices (sop_prices), or give a budget of time, such as 14m"
)


JUDGE_COST = (
    "--sop-budget={}usd: the judge reported no cost, so nobody can say what is spent\n"
    "give prices of its model (sop_prices), or give a budget of time, such as 14m"
)


class BudgetTracker:
    """Counts what is spent, where results are recorded, and says so at the end."""

    def __init__(
        self,
        sop: SopSession,
        recorder: SessionRecorder,
        *,
        has_workers: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sop = sop
        self._budget = sop.options.budget
        self._recorder = recorder
        self._has_workers = has_workers
        self._clock = clock
        self._lock = Lock()
        self._spending = Spending()
        self._judge: LogReader | None = None
        self._began: float | None = None
        self._took: float | None = None
        self._is_flagged = False
        recorder.tell_again(self._count)

    @property
    def seconds(self) -> float:
        """How long it is since the first test began; 0 before."""
        if self._took is not None:
            return self._took
        return 0.0 if self._began is None else self._clock() - self._began

    @property
    def is_spent(self) -> bool:
        return self._spending.reaches(self._budget, self.seconds)

    def follow(self, runs: Runs) -> None:
        """Count each run of this process as it ends, which may be long before its test comes."""

        def told(done: JudgedRun) -> None:
            self._add(done.record)
            if self._spending.reaches_money(self._budget):
                runs.hold_back()

        runs.tell(told)

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        if not self._recorder.resumption.took(run.key):
            self._count(run)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        if self._began is None:
            # Not before: workers take their time to come up, and spend nothing in it.
            self._began = self._clock()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Fail a session whose budget has kept runs from starting.

        Raises:
            pytest.UsageError: the agent tells no cost, and money is bounded. What was in flight
                when that was seen has ended, and is counted.
        """
        try:
            result = yield
        finally:
            self._took = self.seconds
        if self._spending.unpriced_first and self._budget.usd is not None:
            raise pytest.UsageError(NO_COST.format(f"{self._budget.usd:g}"))
        if self._spending.judge_usd is None and self._budget.usd is not None:
            raise pytest.UsageError(JUDGE_COST.format(f"{self._budget.usd:g}"))
        if self._sop.makes_runs and self._not_started():
            # Also without a gate: what was not run has not passed. Whether the budget is to blame
            # is not asked, since the clocks of workers and of this process are not one.
            session.testsfailed += 1
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[ELAPSED] = self.seconds

    @pytest.hookimpl
    def pytest_sop_summary(self) -> list[str]:
        # What was in flight in a dead worker was paid for, too, if it was made again.
        unpriced = self._spending.unpriced + self._recorder.crashes.made_again
        lines = budget_lines(
            self._budget,
            replace(self._spending, unpriced=unpriced),
            seconds=self.seconds,
            not_started=self._not_started(),
        )
        return [*lines]

    def _count(self, run: RunRecord) -> None:
        """Count a run that a worker has made, as often as workers make it."""
        if not self._has_workers or run.outcome is Outcome.NOT_RUN:
            # In one process each run is counted as it ends.
            return
        self._add(run)
        if self._spending.reaches_money(self._budget):
            self._flag()

    def _add(self, run: RunRecord) -> None:
        with self._lock:
            self._spending.add(run.outcome, cost_now(run), run.agent)
            if self._budget.usd is not None:
                self._ask_the_judge()

    def _ask_the_judge(self) -> None:
        """Count what a model was paid for judging, which it was while the run was in flight."""
        judging = judged_in(self._sop.config)
        if judging is None:
            return
        if self._judge is None:
            from pytest_sopbench._judge.keeping import LogReader  # noqa: PLC0415 - only if a model judges

            self._judge = LogReader(judging.log, self._sop.prices)
        self._spending.judge_usd = self._judge.read().cost_usd

    def _not_started(self) -> int:
        if not self._recorder.has_runs:
            return 0
        summaries = self._recorder.close().values()
        return sum(one.outcomes.get(Outcome.NOT_RUN, 0) for one in summaries)

    def _flag(self) -> None:
        if self._is_flagged:
            return
        self._is_flagged = True
        flag = journal_folder(self._sop).folder / FLAG
        try:
            flag.parent.mkdir(parents=True, exist_ok=True)
            flag.touch()
        except OSError as fault:
            msg = f"--sop-budget: it is spent, and the workers cannot be told: {flag}: {fault}"
            raise pytest.UsageError(msg) from None


class BudgetStop:
    """Passes over tests whose runs must not begin, in a process that makes runs."""

    def __init__(self, runs: Runs, is_spent: Callable[[], bool]) -> None:
        self._runs = runs
        self._is_spent = is_spent
        self._is_pulled = False
        self._refused: set[RunKey] = set()
        runs.watch(self._look)
        runs.guard(self.ask_leave)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        ref = item.stash.get(REF, None)
        if ref is None or not asks_for_run(item) or self._may_begin(ref.key):
            return None
        tear_down(item, nextitem)
        return True

    def ask_leave(self, ref: TaskRef, item: pytest.Item) -> None:
        """Skip a test that asks for its run by name, which only now is known to be wanted.

        Raises:
            pytest.skip.Exception: the run would have to begin.
        """
        if asks_for_run(item) or self._may_begin(ref.key):
            return
        if not ref.variant and ref.key not in self._refused:
            self._refused.add(ref.key)
            attach_not_run(item)
        pytest.skip("--sop-budget: it is spent, and the run of this test had not begun")

    def _may_begin(self, key: RunKey) -> bool:
        self._look()
        return not self._is_pulled or self._runs.is_begun(key)

    def _look(self) -> None:
        if not self._is_pulled and self._is_spent():
            self._is_pulled = True
            self._runs.hold_back()


class WorkerBudget:
    """What a worker of xdist knows of the budget: its own clock, and the controller's word."""

    def __init__(self, sop: SopSession, clock: Callable[[], float] = time.monotonic) -> None:
        given: dict[str, Any] = getattr(sop.config, "workerinput", {})
        self._budget = sop.options.budget
        self._clock = clock
        self._elapsed: float = given.get(ELAPSED, 0.0)
        self._began: float | None = None
        self._flag = Path(given[JOURNALS]) / FLAG if JOURNALS in given else None

    def is_spent(self) -> bool:
        if self._began is None:
            # From its first test: whatever the budget is, the controller hears of the plan.
            self._began = self._clock()
        seconds = self._elapsed + self._clock() - self._began
        return reaches_time(self._budget, seconds) or (
            self._budget.usd is not None and self._flag is not None and self._flag.exists()
        )


def check_budget(sop: SopSession) -> None:
    """Refuse to bound the money of workers that cannot be told when it is spent.

    Raises:
        pytest.UsageError: a worker is on another machine.
    """
    if sop.options.budget.usd is None or not has_workers(sop.config):
        return
    from execnet import XSpec  # noqa: PLC0415 - xdist is an extra
    from xdist.workermanage import parse_tx_spec_config  # type: ignore[import-untyped]  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - xdist is an extra without types

    specs: list[str] = parse_tx_spec_config(sop.config)
    for spec in map(XSpec, specs):
        if not spec.popen or spec.via:
            msg = (
                "--sop-budget: workers on other machines cannot be told when the money is spent\n"
                "bound the time instead, such as --sop-budget=14m, or run on this machine"
            )
            raise pytest.UsageError(msg)
