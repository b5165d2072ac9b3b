"""Threads of runs, their clock and their timers."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from math import inf
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Final, Generic, TypeAlias, TypeVar

# The clock that measures runs.

Clock: TypeAlias = Callable[[], float]
"""Seconds from any fixed point; never goes back."""


# Start a thread, or say that it cannot be started; wait for no thread that never begins.

PATIENCE: Final = 5.0
"""Seconds after which a thread counts as one that will never begin."""


class _Begun(Event):
    """What `Thread.start` waits for, without an end of its own."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(PATIENCE if timeout is None else timeout)


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        RuntimeError: the system gives no more threads, or this one did not begin.
    """
    # An agent that raises in all threads may end a new one before it says that it has begun.
    # Python would wait for it for ever, and the one who starts it holds locks of all runs.
    begun = vars(thread)["_started"] = _Begun()
    thread.start()
    if not begun.is_set():
        msg = "the new thread did not begin"
        raise RuntimeError(msg)


# Measure for how long the whole process could not run.
#
# Native code that holds the interpreter's lock, a long collection of garbage or a stopped process
# keeps every run from its work. Whoever wants to wake at fixed times sees it by being late.

BEAT: Final = 0.5
"""Seconds between two looks at all runs."""

LATE: Final = 1.0
"""Seconds by which a look must be late at least: a busy machine is late now and then."""


class Pulse:
    """Counts the seconds in which the process stood still; not safe by itself.

    Args:
        clock: seconds of real time.
    """

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._clock = clock
        self._last: float | None = None
        self._lost = 0.0

    def lost(self) -> float:
        """Return the seconds in which the process stood still, so far."""
        late = 0.0 if self._last is None else self._clock() - self._last - BEAT
        return self._lost + (late if late >= LATE else 0.0)

    def beat(self) -> None:
        """Take note that the process can run; the next beat is expected after `BEAT` seconds."""
        self._lost = self.lost()
        self._last = self._clock()


# Threads that make runs; one that has ended its run is used again.
#
# They are daemons, and of no pool: a pool waits for its threads when the interpreter ends. That
# they are used again matters to agents that keep a client per thread.

F = TypeVar("F")


class RunThread(Generic[F]):
    """One thread, which does what it is given until it is dismissed."""

    def __init__(self, work: Callable[[RunThread[F], F], None], name: str) -> None:
        self._work = work
        self._item: F | None = None
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._is_dismissed = False
        self._thread = Thread(target=self._run, daemon=True, name=name)
        start(self._thread)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def take(self, item: F) -> None:
        self._item = item
        self._wakes.put(None)

    def dismiss(self) -> None:
        self._is_dismissed = True
        self._wakes.put(None)

    def _run(self) -> None:
        # An agent may raise in all threads. Neither the thread nor what it was given is lost by it:
        # the engine takes whoever has given itself back for one that waits.
        while not self._is_dismissed:
            with suppress(BaseException):
                self._wakes.get()
            # Taken off, or the last run would be kept until the next one comes.
            item, self._item = self._item, None
            if item is not None:
                with suppress(BaseException):
                    self._work(self, item)
            del item


# Do something twice a second, and other things once at their time, in one thread.

_LOG = logging.getLogger(__name__)


class Timers:
    """Calls `beat` every `BEAT` seconds, and each action at its time, once.

    Args:
        clock: seconds.
        beat: is called again and again from the first `start` on.
    """

    def __init__(self, clock: Clock, beat: Callable[[], None]) -> None:
        self._clock = clock
        self._beat = beat
        self._lock = Lock()
        self._beats_at = inf
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._thread: Thread | None = None
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._stopped = False

    def start(self) -> None:
        """Beat from now on; a second time changes nothing.

        Raises:
            RuntimeError: the system gives no more threads.
        """
        with self._lock:
            self._beats_at = min(self._beats_at, self._clock() + BEAT)
            if self._thread is None and not self._stopped:
                thread = Thread(target=self._serve, daemon=True, name="sopbench-watchdog")
                start(thread)
                self._thread = thread

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Do `action` when the clock says `when`, or soon if that is past."""
        with self._lock:
            heappush(self._heap, (when, next(self._order), action))
        self._wakes.put(None)

    def ring(self) -> None:
        """Do what is due, in the thread of the caller."""
        while (action := self._due()) is not None:
            try:
                action()
            except Exception:  # noqa: BLE001 - whatever it is, the next one must come
                # Without the beat a session would wait for ever for an agent that hangs.
                _LOG.exception("a time limit could not be enforced")

    def stop(self) -> None:
        """Do nothing more; the thread ends by itself."""
        with self._lock:
            self._stopped = True
            self._heap.clear()
        self._wakes.put(None)

    def _due(self) -> Callable[[], None] | None:
        with self._lock:
            now = self._clock()
            if self._stopped:
                return None
            if self._heap and self._heap[0][0] <= now:
                return heappop(self._heap)[2]
            if self._beats_at <= now:
                self._beats_at = now + BEAT
                return self._beat
            return None

    def _serve(self) -> None:
        while not self._stopped:
            # An agent may raise in all threads, and the next beat must come.
            with suppress(BaseException):
                self.ring()
                with self._lock:
                    due = min(self._beats_at, self._heap[0][0] if self._heap else inf)
                    wait = due - self._clock()
                with suppress(Empty):
                    # Cut, as no platform waits for as long as a float can say.
                    self._wakes.get(timeout=min(max(wait, 0.0), BEAT))
