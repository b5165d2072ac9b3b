"""The tests of a session that failed: misses, those whose task may fail, and all others."""

from __future__ import annotations

from enum import Enum, auto

import pytest

from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._hooks.books.worker_crashes import is_again
from pytest_sopbench._hooks.items.payload import failed_by, is_builtin
from pytest_sopbench._hooks.session.session import SopSession


class Failed(Enum):
    """What a test failed by: what the tasks file forgives, what gates bound, a rule, all else."""

    FORGIVEN = auto()
    MISS = auto()
    BREACH = auto()
    OTHER = auto()


class FailedTests:
    """Counts each failed test as what it is, and says how pytest shows it."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self.missed = 0
        # By what the tasks file says.
        self.forgiven = 0
        # All of which the runs do not tell, whether there is a gate or not.
        self.untold = 0
        # Whether any failed by what nothing forgives.
        self.has_unforgiven = False

    @property
    def excused(self) -> int:
        """How many a gate that holds takes back."""
        return self.missed + self.forgiven

    def enter(self, report: pytest.TestReport) -> None:
        """Count a test that failed."""
        if hasattr(report, "wasxfail"):
            # pytest counts no failure that a plugin has marked as expected; to forgive it would
            # forgive another one.
            return
        kind = self._kind(report)
        self.forgiven += kind is Failed.FORGIVEN
        self.has_unforgiven |= kind is not Failed.FORGIVEN
        self.missed += kind is Failed.MISS
        # Of broken rules the runs tell, to whoever asks a gate of the saved session.
        self.untold += kind is Failed.OTHER

    def status(self, report: pytest.TestReport, *, forgives: bool) -> object:
        """Return how pytest shows a test that has not passed; `None` where pytest decides.

        `forgives` tells that a miss is counted as one, and not as a failure.
        """
        kind = self._kind(report) if report.failed else None
        if kind is Failed.FORGIVEN:
            return "may fail", "q", ("MAY FAIL", {"yellow": True})
        if forgives and kind is Failed.MISS:
            return "missed", "m", ("MISSED", {"yellow": True})
        # A crash that another run is to blame for: its test is run again, and reported then.
        return ("", "", "") if is_again(report) else None

    def _kind(self, report: pytest.TestReport) -> Failed:
        """Tell what a test failed by; a set-up or a tear-down that fails is nobody's answer."""
        found, key = failed_by(report), self._sop.plan.key(report.nodeid)
        if found is None or key is None:
            return Failed.OTHER
        task, forgiven = TaskName(key.domain, key.task), self._sop.forgiven
        if forgiven.forgives(task, found.outcome, found.rules):
            return Failed.FORGIVEN
        if not is_builtin(report):
            return Failed.OTHER
        return Failed.MISS if forgiven.forgives_rules(task, found.rules) else Failed.BREACH
