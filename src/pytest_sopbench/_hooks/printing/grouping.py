"""Prints the first failures of a zero-file run in full, and the others in a line for each kind."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.strictness import typed_words
from pytest_sopbench._reports.terminal.alike import alike_lines, kind_of

FULL: Final = 5
"""Failures that are printed in full."""


class GroupedFailures:
    """Keeps the failures of built-in tests from filling the terminal."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._kinds: dict[RunKey, str] = {}

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        if run.outcome is not Outcome.CORRECT:
            self._kinds[run.key] = kind_of(run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        stats: dict[str, list[Any]] = terminalreporter.stats
        every = stats.get("failed", [])
        ours = [one for one in every if self._kind(one)]
        # For one more, a line that stands for it would save nothing.
        if len(ours) <= FULL + 1 or _wants_all(self._sop.config):
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
        for line in self._lines(ours[:FULL], left_out):
            terminalreporter.write_line(line)

    def _lines(self, printed: Sequence[Any], left_out: Sequence[Any]) -> Sequence[str]:
        first: dict[str, str] = {}
        for report in printed:
            first.setdefault(self._kind(report), _task(report))
        others: dict[str, list[str]] = {}
        for report in left_out:
            others.setdefault(self._kind(report), []).append(_task(report))
        return tuple(alike_lines(first, others))

    def _kind(self, report: Any) -> str:
        """Return the kind of a built-in test that failed by its run, else nothing."""
        key = self._sop.plan.builtin.keys.get(report.nodeid)
        return self._kinds.get(key, "") if key is not None and report.when != "teardown" else ""


def _task(report: Any) -> str:
    return str(report.nodeid).rpartition("::")[2]


def _wants_all(config: pytest.Config) -> bool:
    """Tell whether the user has said how failures are printed."""
    typed = any(word.startswith("--tb") for word in typed_words(config, os.environ))
    styles: set[str] = {config.option.tbstyle}
    return typed or bool(styles - {"auto"}) or config.option.verbose > 0
