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


# Something that happens once, and that others wait for.
#
# `threading.Event` makes two locks and a list for it, and one more lock for each waiting. It is
# written in Python: if the memory is used up, it may be left locked for good.


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
        RuntimeError, MemoryError: the system gives no more threads, or no memory for one.
    """
    # A thread that the system has given may die for want of memory before it says that it has
    # begun. Python would wait for it for ever, and the one who starts it holds locks.
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
        self._inbox: SimpleQueue[F | None] = SimpleQueue()
        self._item: F | None = None
        self._thread = Thread(target=self._run, daemon=True, name=name)
        start(self._thread)

    def take(self, item: F) -> None:
        self._item = item
        self._inbox.put(item)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def is_at(self, item: F) -> bool:
        """Tell whether it was given this item last, and has not let go of it."""
        return self._item is item and self.is_alive

    def dismiss(self) -> None:
        self._inbox.put(None)

    def _run(self) -> None:
        while (item := self._inbox.get()) is not None:
            # If the memory is used up anything may raise, also between two lines of ours. A
            # thread that ended for it might be given another run, which it would never make.
            with suppress(BaseException):
                self._work(self, item)
            if self._item is item:
                self._item = None
            # Else the last run would be kept until the next one comes.
            del item


class ThreadPool(Generic[F]):
    """The workers of one engine; not safe by itself, the engine's lock guards it.

    Args:
        work: does one item; the worker that does it gives itself back with `give_back`.
    """

    def __init__(self, work: Callable[[RunThread[F], F], None]) -> None:
        self._work = work
        self._idle: list[RunThread[F]] = []
        self._numbers = itertools.count(1)
        self._stopped = False

    def start(self, item: F) -> RunThread[F]:
        """Let an idle worker do `item`, or a new one, and return it.

        Raises:
            RuntimeError: the system gives no more threads.
        """
        while self._idle and not self._idle[-1].is_alive:
            self._idle.pop()
        if not self._idle:
            number = next(self._numbers)
            self._idle.append(RunThread(self._work, f"sopbench-agent-{number}"))
        worker = self._idle.pop()
        worker.take(item)
        return worker

    def give_back(self, worker: RunThread[F]) -> None:
        if self._stopped:
            worker.dismiss()
        else:
            self._idle.append(worker)

    def stop(self) -> None:
        """Dismiss those who are idle at once, and the others when they are given back."""
        self._stopped = True
        for worker in self._idle:
            worker.dismiss()
        self._idle.clear()


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
        # One step for whoever wakes and for whoever is woken: a `Condition` is written in Python,
        # and may be left locked for good if the memory is used up.
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._stopped = False

    def start(self) -> None:
        """Beat from now on; a second time changes nothing."""
        with self._lock:
            self._beats_at = min(self._beats_at, self._clock() + BEAT)
            if self._thread is None:
                self._serve_in_thread()

    def at(self, when: float, action: Callable[[], None]) -> None:
        """Do `action` when the clock says `when`, or soon if that is past."""
        with self._lock:
            heappush(self._heap, (when, next(self._order), action))
            if self._thread is None:
                self._serve_in_thread()
        self._wakes.put(None)

    @property
    def is_served(self) -> bool:
        """Whether a thread does what is due; else whoever waits for a run calls `ring`."""
        return self._thread is not None

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

    def _serve_in_thread(self) -> None:
        if not self._stopped:
            # If the system gives no thread, the next call tries again; whoever starts a run
            # must not fail for that.
            with suppress(Exception):
                thread = Thread(target=self._serve, daemon=True, name="sopbench-watchdog")
                start(thread)
                self._thread = thread

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
            # If the memory is used up anything may raise, and the next beat must come.
            with suppress(BaseException):
                self.ring()
                with self._lock:
                    due = min(self._beats_at, self._heap[0][0] if self._heap else inf)
                    wait = due - self._clock()
                with suppress(Empty):
                    # Cut, as no platform waits for as long as a float can say.
                    self._wakes.get(timeout=min(max(wait, 0.0), BEAT))
