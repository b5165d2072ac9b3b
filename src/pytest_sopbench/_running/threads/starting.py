"""Start a thread, or say that it cannot be started; wait for no thread that never begins.

An agent shares our process. What it puts in the place of `Thread.start` is for its own threads.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Final

PATIENCE: Final = 5.0
"""Seconds after which a thread counts as one that will never begin."""

_START: Final[Callable[[Thread], None]] = Thread.start


class _Begun(Event):
    """What `Thread.start` waits for, without an end of its own."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(PATIENCE if timeout is None else timeout)


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        RuntimeError, MemoryError: the system gives no more threads, or no memory for one.
    """
    # A thread that the system has given may die for want of memory before it says that it has
    # begun. Python would wait for it for ever, and the one who starts it holds locks.
    begun = vars(thread)["_started"] = _Begun()
    _START(thread)
    if not begun.is_set():
        msg = "the new thread did not begin"
        raise RuntimeError(msg)
