"""What is loaded before the runs: what a session needs after them, and what they load lazily.

A run may break what imports need. Runs that import the same modules at once may meet them half
made: where modules import one another in a circle, Python lets a thread have such a module rather
than have two threads wait for each other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._hooks.settings.options import Options

READING: Final = (
    "pytest_sopbench._sessions.journal",
    "pytest_sopbench._sessions.lines",
    "pytest_sopbench._sessions.reading.reader",
    "pytest_sopbench._sessions.reading.planned",
)
"""Read a saved session, and the journals beside it."""

COMPARING: Final = (
    "pytest_sopbench._sessions.commands.compare",
    "pytest_sopbench._reports.terminal.comparison",
)
SIDE_BY_SIDE: Final = (
    "pytest_sopbench._core.comparing.leaderboard",
    "pytest_sopbench._reports.terminal.comparison",
)
GATES: Final = ("pytest_sopbench._core.gates.conditions",)
PAGES: Final = (
    "pytest_sopbench._sessions.commands.page",
    "pytest_sopbench._reports.pages.annotations",
    "pytest_sopbench._reports.pages.markdown",
)
PUBLISHED: Final = (
    "pytest_sopbench._core.answers.published",
    "pytest_sopbench._core.fields.comparison",
)
TRIALS: Final = ("pytest_sopbench._core.statistics",)
CONFUSIONS: Final = ("pytest_sopbench._core.metrics.counts",)

_HTTP: Final = ("anyio._backends._asyncio", "concurrent.futures.thread", "encodings.idna")
LAZY: Final[Mapping[str, Sequence[str]]] = {
    "anthropic": ("anthropic.resources.messages", "opentelemetry.propagate"),
    "botocore": ("encodings.idna",),
    "httpx": ("httpcore", *_HTTP),
    "httpx2": ("httpcore2", *_HTTP),
    "openai": (
        "openai.lib._parsing._completions",
        "openai.lib._parsing._responses",
        "openai.lib.streaming.chat",
        "openai.lib.streaming.responses",
        "openai.pagination",
        "openai.resources.chat.chat",
        "openai.resources.chat.completions.completions",
        "openai.resources.chat.completions.messages",
        "openai.resources.responses.input_items",
        "openai.resources.responses.input_tokens",
        "openai.resources.responses.responses",
        "openai.types.chat.completions.message_list_params",
    ),
    "pydantic": ("pydantic.fields", "pydantic.main", "pydantic.type_adapter"),
}
"""By library, what its clients import with their first request."""


def load_ahead(options: Options, *, reads_back: bool, verbosity: int) -> None:
    """Load what the options will ask for once the runs are made; nothing else is loaded."""
    for name in _wanted(options, reads_back=reads_back, verbosity=verbosity):
        import_module(name)


def load_lazy_parts(loaded: set[str]) -> None:
    """Load what the libraries of agents would import in flight.

    Args:
        loaded: the libraries of which that was done; those that are at hand now are added.
    """
    for library in (LAZY.keys() & sys.modules.keys()) - loaded:
        loaded.add(library)
        for name in LAZY[library]:
            # Another version has other modules, and what is broken the run itself meets.
            with suppress(Exception):
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
