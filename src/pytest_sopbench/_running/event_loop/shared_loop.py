"""One event loop for the async agents of all runs, in a thread of its own.

The clients of providers belong to the loop on which they were first used, so runs that share a
client must share the loop. Where an agent blocks the loop for good, the next runs get a new one.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loop_thread import LoopThread


class SharedLoop:
    """Gives the loop of all runs; it is made when the first awaitable comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: LoopThread | None = None
        self._blocked: list[LoopThread] = []

    def current(self) -> LoopThread:
        """Return the loop on which runs begin.

        Raises:
            RuntimeError, MemoryError: the system gives no more threads.
        """
        with self._lock:
            if self._current is None:
                from .loop_thread import LoopThread  # noqa: PLC0415 - only where an agent is async

                self._current = LoopThread()
            return self._current

    def standing(self) -> LoopThread | None:
        """Return the loop on which runs begin, if there is one."""
        return self._current

    def replace(self, blocked: LoopThread) -> None:
        """Give a new loop from now on, if this one is still the one that is given."""
        with self._lock:
            if self._current is blocked:
                self._current = None
                # Other runs on it may go on, once it is free again.
                self._blocked.append(blocked)

    def stop(self, grace: float) -> None:
        """End the loop; wait for that no longer than `grace` seconds."""
        with self._lock:
            current, self._current = self._current, None
        for blocked in self._blocked:
            blocked.stop(0.0)
        if current is not None:
            current.stop(grace)
