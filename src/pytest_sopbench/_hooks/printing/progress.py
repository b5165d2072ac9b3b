"""What keeps the terminal short: a line that counts runs, and failures of one kind shown once.

On a terminal the line is a live one; in CI there is a new one now and then.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from typing import Any, Final

import pytest

from pytest_sopbench._core.gates.conditions import UNAVAILABLE
from pytest_sopbench._core.metrics.summary import UNAVAILABLE_SHARE, Summary
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.run_cache import Runs
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.ini import typed_words
from pytest_sopbench._reports.notices import Progress, progress_line
from pytest_sopbench._reports.terminal.misses import DIRECTION, MissGroups, namer
from pytest_sopbench._reports.text import counted

LIVE_SECONDS: Final = 0.2
"""Between two states of the live line."""

LOG_SECONDS: Final = 30.0
"""Between two lines if lines stay."""


class NoLetters:
    """Prints no letter of a run if a line counts them; registered only as long as one does."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Generator[None, Any, Any]:
        result = yield
        if result and self._sop.plan.key(report.nodeid) is not None:
            category, _, _ = result
            return category, "", ""
        return result


class ProgressHooks:
    """Counts what is recorded, and shows it; quiet under `-q`."""

    def __init__(
        self, sop: SopSession, runs: Runs, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._sop = sop
        self._runs = runs
        self._clock = clock
        self._entered = self._shown = clock()
        # When the first run began, as far as known: workers take their time to start.
        self._began: float | None = None
        self._workers = 0
        self._recorded: Counter[Outcome] = Counter()
        bounds = [one.value for one in sop.options.gates if one.name == UNAVAILABLE]
        self._tolerated = min(bounds, default=UNAVAILABLE_SHARE)
        self._slowest = 0.0
        self._terminal: Any = None
        self._is_live = False
        self._no_letters = NoLetters(sop)
        runs.watch(self._tick)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        self._terminal = self._sop.config.pluginmanager.get_plugin("terminalreporter")
        self._is_live = self._may_be_live()
        if self._is_live:
            self._sop.config.pluginmanager.register(self._no_letters)
        self._entered = self._shown = self._clock()
        try:
            return (yield)
        finally:
            if self._is_live:
                self._terminal.rewrite("", erase=True)
                self._sop.config.pluginmanager.unregister(self._no_letters)
                self._is_live = False

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        took = run.duration_s or 0.0
        if self._began is None:
            # Of a run that is taken over, the time was another session's.
            self._began = max(self._clock() - took, self._entered)
        self._recorded[run.outcome] += 1
        self._slowest = max(self._slowest, took)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        """Count a worker of pytest-xdist."""
        self._workers += 1

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Once for each test: while it waits for its run, it looks by itself.
        if report.when == "teardown":
            self._tick(waiting=False)

    def _may_be_live(self) -> bool:
        """Tell whether all that is printed meanwhile is ours."""
        terminal, options = self._terminal, self._sop.options
        return bool(
            options.typed_domains
            and not self._sop.plan.tests.keys
            and terminal is not None
            and terminal.verbosity == 0
            and _is_tty(terminal)
            and os.environ.get("TERM") != "dumb"
        )

    def _tick(self, *, waiting: bool = True) -> None:
        """Show where the session stands, if it is time; `waiting`: while an item runs."""
        every = LIVE_SECONDS if self._is_live else LOG_SECONDS
        now = self._clock()
        if now - self._shown < every or self._terminal is None or self._terminal.verbosity < 0:
            return
        self._shown = now
        capture: Any = self._sop.config.pluginmanager.get_plugin("capturemanager")
        if not waiting or capture is None:
            self._show(now)
            return
        # While an item runs, what is written to the terminal is taken for its output.
        with capture.global_and_fixture_disabled():
            self._show(now)

    def _show(self, now: float) -> None:
        width: int = self._terminal._tw.fullwidth - 1  # noqa: SLF001 - pytest has no public way
        line = progress_line(self._progress(now), width)
        if self._is_live:
            self._terminal.rewrite(line, erase=True)
        else:
            self._terminal.ensure_newline()
            if self._terminal._tw.width_of_current_line:  # noqa: SLF001 - pytest has no public way
                # Under xdist the letters of tests stand there, which pytest does not know of.
                self._terminal.write_line("")
            self._terminal.write_line(line)

    def _progress(self, now: float) -> Progress:
        plan = self._sop.plan
        planned = len(plan.planned if plan.tests.keys else plan.builtin.keys)
        standing = self._runs.standing()
        recorded = self._recorded.total()
        done, slowest, in_flight, at_once = recorded, 0.0, None, self._workers
        if isinstance(self._sop.options.concurrency, int):
            at_once = self._sop.options.concurrency
        if standing is not None:
            done = max(recorded, standing.ended)
            in_flight = len(standing.running)
            slowest = standing.running[0][1] if standing.running else 0.0
            at_once = standing.limit
            if self._began is None and standing.started:
                self._began = max(now - slowest, self._entered)
        return Progress(
            planned=planned,
            done=done,
            recorded=Summary(runs=recorded, outcomes=self._recorded, tolerated=self._tolerated),
            # In workers, nobody here knows.
            in_flight=in_flight,
            slowest=max(slowest, self._slowest),
            elapsed=0.0 if self._began is None else now - self._began,
            at_once=min(at_once, planned),
        )


def _is_tty(terminal: Any) -> bool:
    # Up to pytest 8.4 it is a property.
    isatty: Any = terminal.isatty
    return bool(isatty() if callable(isatty) else isatty)


# Prints the first failures of a zero-file run in full, and the others by what went wrong.

FULL: Final = 5
"""Failures that are printed in full."""


class GroupedFailures:
    """Keeps the failures of built-in tests from filling the terminal."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._groups = MissGroups()

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        # The test of a correct run may fail by the rules that the run broke.
        if run.outcome is not Outcome.CORRECT or any(rule.broken for rule in run.rules):
            self._groups.add(run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        stats: dict[str, list[Any]] = terminalreporter.stats
        every = stats.get("failed", [])
        ours = [one for one in every if self._key(one) is not None]
        # For one more, a line that stands for it would save nothing.
        config = self._sop.config
        # The user has said how failures are printed.
        is_asked = any(word.startswith("--tb") for word in typed_words(config, os.environ))
        is_asked |= config.option.tbstyle != "auto" or config.option.verbose > 0
        if len(ours) <= FULL + 1 or is_asked:
            yield
            return
        left_out = ours[FULL:]
        gone = {id(one) for one in left_out}
        stats["failed"] = [one for one in every if id(one) not in gone]
        try:
            yield
        finally:
            # The last line of the session counts all of them.
            stats["failed"] = every
        terminalreporter.ensure_newline()
        for line in self._lines({self._key(one) for one in left_out}):
            terminalreporter.write_line(line)

    def _lines(self, left_out: Collection[RunKey | None]) -> Iterator[str]:
        # With workers the order of arrival is another one each time.
        keys = [key for key in self._sop.plan.planned if key in left_out]
        said = f" ({DIRECTION})" if self._groups.has_differences(keys) else ""
        yield f"and {counted(len(left_out), 'more failure')}{said}"
        width = self._sop.config.get_terminal_writer().fullwidth
        named = namer(self._sop.plan.planned)
        yield from self._groups.lines(keys, width=width, named=named)
        yield "-v prints each of them in full"

    def _key(self, report: Any) -> RunKey | None:
        """Return the run of a built-in test that failed by it, else nothing."""
        key = self._sop.plan.builtin.keys.get(report.nodeid)
        return (
            key if key is not None and key in self._groups and report.when != "teardown" else None
        )
