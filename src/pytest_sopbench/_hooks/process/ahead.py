"""What a session needs after its runs is loaded before them: a run may break what imports need."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Final

from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._hooks.settings.options import Options

READING: Final = (
    "pytest_sopbench._sessions.journal.leftovers",
    "pytest_sopbench._sessions.lines.damage",
    "pytest_sopbench._sessions.lines.shapes",
    "pytest_sopbench._sessions.lines.skimming",
    "pytest_sopbench._sessions.reading.header_line",
    "pytest_sopbench._sessions.reading.planned",
)
"""Read a saved session, and the journals beside it."""

COMPARING: Final = (
    "pytest_sopbench._sessions.commands.compare",
    "pytest_sopbench._reports.terminal.comparison",
)
SIDE_BY_SIDE: Final = (
    "pytest_sopbench._core.comparing.leaderboard",
    "pytest_sopbench._reports.terminal.comparison.leaderboard",
)
GATES: Final = ("pytest_sopbench._core.gates.conditions.comparison_gates",)
PAGES: Final = (
    "pytest_sopbench._sessions.commands.page",
    "pytest_sopbench._sessions.commands.page_sources",
    "pytest_sopbench._sessions.commands.row_places",
    "pytest_sopbench._reports.pages.annotations",
    "pytest_sopbench._reports.pages.markdown.markdown",
)
PUBLISHED: Final = (
    "pytest_sopbench._core.answers.published_finding",
    "pytest_sopbench._core.fields.published",
)
TRIALS: Final = ("pytest_sopbench._core.statistics.bootstrap",)
CONFUSIONS: Final = ("pytest_sopbench._core.metrics.counts.confusion",)


def load_ahead(options: Options, *, reads_back: bool, verbosity: int) -> None:
    """Load what the options will ask for once the runs are made; nothing else is loaded."""
    for name in _wanted(options, reads_back=reads_back, verbosity=verbosity):
        import_module(name)


def load_reading() -> None:
    """Load what reads saved sessions and journals."""
    for name in READING:
        import_module(name)


def _wanted(options: Options, *, reads_back: bool, verbosity: int) -> Iterator[str]:
    asked = {
        READING: reads_back,
        COMPARING: options.compare is not None,
        SIDE_BY_SIDE: len(options.agents) > 1,
        GATES: bool(options.gates),
        PAGES: bool(options.reports),
        PUBLISHED: options.scoring is Scoring.PUBLISHED,
        TRIALS: options.trials > 1,
        CONFUSIONS: verbosity >= 0,
    }
    for names, is_asked in asked.items():
        if is_asked:
            yield from names
