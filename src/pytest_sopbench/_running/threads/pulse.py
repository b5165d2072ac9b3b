"""Measure for how long the whole process could not run.

Native code that holds the interpreter's lock, a long collection of garbage or a stopped process
keeps every run from its work. A thread that wants to wake at fixed times sees it by its lateness.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import Final

from .clock import Clock
from .latch import OneShotEvent
from .starting import start as start_thread

_LOG = logging.getLogger(__name__)

BEAT: Final = 0.5
"""Seconds between two looks."""

LATE: Final = 1.0
"""Seconds by which a look must be late at least: a busy machine is late now and then."""


class Pulse:
    """Counts the seconds in which the process stood still, and has something done at each beat.

    Args:
        clock: seconds of real time.
        every: seconds between two beats.
    """

    def __init__(self, clock: Clock = time.perf_counter, every: float = BEAT) -> None:
        self._clock = clock
        self._every = every
        self._lock = Lock()
        self._last: float | None = None
        self._lost = 0.0
        self._ended = OneShotEvent()
        self._thread: Thread | None = None

    def lost(self) -> float:
        """Return the seconds in which the process stood still, so far."""
        with self._lock:
            return self._lost + self._late()

    def beat(self) -> None:
        """Take note that the process can run."""
        with self._lock:
            self._lost += self._late()
            self._last = self._clock()

    def start(self, action: Callable[[], None]) -> None:
        """Beat from now on, in a thread of its own; a second time changes nothing."""
        if self._thread is not None or self._ended.is_set():
            return
        # Where the system gives no thread, limits count the time on the wall.
        with suppress(Exception):
            thread = Thread(target=self._go_on, args=(action,), daemon=True, name="sopbench-pulse")
            start_thread(thread)
            self._thread = thread
            self.beat()

    def stop(self) -> None:
        """Beat no more; the thread ends by itself."""
        self._ended.set()

    def _late(self) -> float:
        if self._last is None:
            return 0.0
        late = self._clock() - self._last - self._every
        return late if late >= LATE else 0.0

    def _go_on(self, action: Callable[[], None]) -> None:
        while not self._ended.wait(self._every):
            self.beat()
            try:
                action()
            except Exception:  # noqa: BLE001 - whatever it is, the next beat must come
                # Without a beat it would seem that the process stands still.
                _LOG.exception("a time limit could not be enforced")
