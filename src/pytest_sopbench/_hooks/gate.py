"""Whether the session passes: the gate on TSR, decided once all runs are known."""

from __future__ import annotations

from collections.abc import Generator, Mapping

import pytest

from pytest_sopbench._core.gates import GateState, GateVerdict, evaluate

from .crashes import is_again
from .ledger import Ledger
from .session import SopSession

CUT_SHORT = "the session was cut short"


class Gate:
    """Decides between the session's misses and its exit status."""

    def __init__(self, sop: SopSession, ledger: Ledger) -> None:
        self._sop = sop
        self._ledger = ledger
        self._missed = 0
        # What stands when the loop never comes to its end, by -x or Ctrl-C.
        self.verdicts: tuple[GateVerdict, ...] = ()
        self.not_evaluated = CUT_SHORT
        # Failures beside the misses, which a gate that holds does not forgive.
        self.others = 0

    @property
    def is_set(self) -> bool:
        return bool(self._sop.options.gates)

    @property
    def forgives(self) -> bool:
        """Whether a miss is counted as one, and not as a failure."""
        return self.is_set or self._sop.options.shard is not None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if is_miss(report):
            self._missed += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> object:
        if self.forgives and is_miss(report):
            return "missed", "m", ("MISSED", {"yellow": True})
        # A crash that another run is to blame for: its test is run again, and reported then.
        return ("", "", "") if is_again(report) else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        try:
            result = yield
        except session.Failed as stop:
            self.not_evaluated = f"the session was cut short: {stop}"
            raise
        except KeyboardInterrupt as stop:
            self.not_evaluated = f"the session was cut short{f': {stop}' if str(stop) else ''}"
            raise
        # Not `session.exitstatus`, which other plugins overwrite.
        if self._sop.makes_runs and self._ledger.has_runs:
            session.testsfailed += self._decide(session.testsfailed)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, object, object]:
        result = yield
        # A matrix of shards may have more jobs than tasks. Set last: syrupy adds to the status.
        empty = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if self._sop.options.shard is not None and empty:
            session.exitstatus = pytest.ExitCode.OK
        return result

    def _decide(self, failed: int) -> int:
        """Return what to add to the number of failed tests."""
        if self._sop.options.shard is not None:
            # A gate is asked of all tasks or of none; until then a miss is no failure.
            self.not_evaluated = "a shard is a part of the tasks"
            return -self._missed
        if not self.is_set:
            return 0
        self.not_evaluated = self._taken_away()
        if self.not_evaluated:
            if self._missed:
                self.not_evaluated += f"; {self._missed} missed, which fails the session"
            return 0
        self.verdicts = evaluate(self._sop.options.gates, self._ledger.close())
        if all(verdict.state is GateState.HOLDS for verdict in self.verdicts):
            self.others = failed - self._missed
            return -self._missed
        return 1

    def _taken_away(self) -> str:
        """Say what took selected tasks away, or nothing where all of them were asked for."""
        count = self._sop.plan.taken_away
        if not count:
            return ""
        reasons = [name for name, given in _SELECTORS.items() if self._option(given)]
        blame = ", ".join(reasons) or "node ids or another plugin"
        return f"{blame} took {count} of {len(self._sop.plan.selected)} selected tasks away"

    def _option(self, name: str) -> bool:
        return bool(self._sop.config.getoption(name, None))


_SELECTORS: Mapping[str, str] = {
    "-k": "keyword",
    "-m": "markexpr",
    "--lf": "lf",
    "--sw": "stepwise",
    "--deselect": "deselect",
}


def is_miss(report: pytest.TestReport) -> bool:
    """Tell whether a built-in test failed by its verdict, and by nothing else."""
    # A plugin that runs a failed item again has given the first report another outcome.
    return report.failed and getattr(report, "sop_miss", False)
