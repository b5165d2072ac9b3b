"""Something that happens once, and that others wait for.

`threading.Event` makes two locks and a list for it, and one more lock for each waiting. It is
written in Python: where the memory is used up, it may be left locked for good.
"""

from __future__ import annotations

from threading import Lock


class OneShotEvent:
    """Closed until it is opened; any number of threads may wait for that."""

    __slots__ = ("_is_open", "_lock")

    def __init__(self) -> None:
        self._is_open = False
        self._lock = Lock()
        self._lock.acquire()

    def is_set(self) -> bool:
        return self._is_open

    def set(self) -> None:
        """Open it; a second time changes nothing."""
        self._is_open = True
        try:
            self._lock.release()
        except RuntimeError:
            # It is open already; who waits passes the lock on.
            return

    def wait(self, timeout: float) -> bool:
        """Wait for at most so many seconds; tell whether it is open."""
        if not self._is_open and self._lock.acquire(timeout=timeout):
            # The next one who waits is let through in turn.
            self.set()
        return self._is_open
