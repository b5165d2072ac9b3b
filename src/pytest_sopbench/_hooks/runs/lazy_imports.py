"""What the libraries of agents import with their first request, loaded before runs are in flight.

Nobody pays for another: runs that import the same modules at once may meet them half made. Where
modules import one another in a circle, Python lets a thread have such a module rather than have
two threads wait for each other (`tests/agents/test_first_use.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

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
