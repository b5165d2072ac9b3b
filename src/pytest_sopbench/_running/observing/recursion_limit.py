"""The recursion limit of a process: code of a project may raise it, and lower it for nobody else.

The limit holds for every thread. One that a run or a comparer sets for itself ends whatever stands
deeper, in the middle of pytest.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

# Taken at import: an agent may put another function into its place.
_current_thread, _main_thread = threading.current_thread, threading.main_thread
_get: Final = sys.getrecursionlimit
_set: Final = sys.setrecursionlimit


@contextmanager
def kept_recursion_limit() -> Generator[None]:
    """Let no thread but the main one lower the limit below what it is, or the main one has set."""
    setter, least = sys.setrecursionlimit, _get()

    def set_limit(limit: int, /) -> None:
        nonlocal least
        if _current_thread() is _main_thread():
            setter(limit)
            least = max(least, limit)
        else:
            # What is no limit is refused as ever.
            setter(max(limit, least) if limit > 0 else limit)

    sys.setrecursionlimit = set_limit
    try:
        yield
    finally:
        if sys.setrecursionlimit is set_limit:
            sys.setrecursionlimit = setter


class restored_recursion_limit:  # noqa: N801 - it is used as a function is; a generator costs a run more
    """Raise the limit to what it was, where the block has lowered it."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _get()

    def __exit__(self, *_: object) -> None:
        if _get() < self._before:
            _set(self._before)
