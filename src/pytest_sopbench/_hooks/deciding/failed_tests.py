"""The tests of a session that failed: misses, those whose task may fail, and all others."""

from __future__ import annotations

import pytest

from pytest_sopbench._hooks.books.worker_crashes import is_again
from pytest_sopbench._hooks.items.payload import is_breach, is_miss
from pytest_sopbench._hooks.session.session import SopSession

from .quarantine import Quarantine


class FailedTests:
    """Counts each failed test as what it is, and says how pytest shows it."""

    def __init__(self, sop: SopSession, entries: Quarantine) -> None:
        self._sop = sop
        self._entries = entries
        self.missed = 0
        self.forgiven = 0
        # All of which the runs do not tell, whether there is a gate or not.
        self.untold = 0
        # Whether any failed whose task may not fail.
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
        if self._may_fail(report):
            self.forgiven += 1
            return
        self.has_unforgiven = True
        if is_miss(report):
            self.missed += 1
        elif not is_breach(report):
            # Of broken rules the runs tell, to whoever asks a gate of the saved session.
            self.untold += 1

    def status(self, report: pytest.TestReport, *, forgives: bool) -> object:
        """Return how pytest shows a test that has not passed; `None` where pytest decides.

        `forgives` tells that a miss is counted as one, and not as a failure.
        """
        if self._may_fail(report):
            return "may fail", "q", ("MAY FAIL", {"yellow": True})
        if forgives and is_miss(report):
            return "missed", "m", ("MISSED", {"yellow": True})
        # A crash that another run is to blame for: its test is run again, and reported then.
        return ("", "", "") if is_again(report) else None

    def _may_fail(self, report: pytest.TestReport) -> bool:
        """Tell whether a test failed, and its task may fail today; its set-up may not."""
        if not report.failed or report.when in {"setup", "teardown"}:
            return False
        return self._entries.may_fail(self._sop.plan.key(report.nodeid))
