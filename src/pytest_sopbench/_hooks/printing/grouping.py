"""Prints the first failures of a zero-file run in full, and the others by what went wrong."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.strictness import typed_words
from pytest_sopbench._reports.terminal.misses import DIRECTION, MissGroups, namer
from pytest_sopbench._reports.text import counted

FULL: Final = 5
"""Failures that are printed in full."""


class GroupedFailures:
    """Keeps the failures of built-in tests from filling the terminal."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._groups = MissGroups()

    @pytest.hookimpl
    def pytest_sop_run_finished(self, run: RunRecord) -> None:
        if run.outcome is not Outcome.CORRECT:
            self._groups.add(run)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, None, None]:
        stats: dict[str, list[Any]] = terminalreporter.stats
        every = stats.get("failed", [])
        ours = [one for one in every if self._key(one) is not None]
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


def _wants_all(config: pytest.Config) -> bool:
    """Tell whether the user has said how failures are printed."""
    typed = any(word.startswith("--tb") for word in typed_words(config, os.environ))
    styles: set[str] = {config.option.tbstyle}
    return typed or bool(styles - {"auto"}) or config.option.verbose > 0
