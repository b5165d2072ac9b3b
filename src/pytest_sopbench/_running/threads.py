"""Threads of runs, their clock and their timers."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from queue import SimpleQueue
from threading import Condition, Event, Lock, Thread
from typing import Any, Final, Generic, TypeAlias, TypeVar

# The clock that measures runs.

Clock: TypeAlias = Callable[[], float]
"""Seconds from any fixed point; never goes back."""


# Something that happens once, and that others wait for.
#
# `threading.Event` makes two locks and a list for it, and one more lock for each waiting. It is
# written in Python: where the memory is used up, it may be left locked for good.


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
#
# An agent shares our process. What it puts in the place of `Thread.start` is for its own threads.

PATIENCE: Final = 5.0
"""Seconds after which a thread counts as one that will never begin."""

_START: Final[Callable[[Thread], None]] = Thread.start
_HOOKS: Final = ("_trace_hook", "_profile_hook")
"""What `threading.settrace` and `threading.setprofile` set, for all threads that begin after it."""

_working: Final[dict[str, object]] = {"_trace_hook": None, "_profile_hook": None}
"""Those under which a thread is known to come to its work."""


class _Begun(Event):
    """What `Thread.start` waits for, without an end of its own."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(PATIENCE if timeout is None else timeout)


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        RuntimeError, MemoryError: the system gives no more threads, or no memory for one.
    """
    _put_back_hooks()
    if not _begin(thread):
        msg = "the new thread did not begin"
        raise RuntimeError(msg)


def _begin(thread: Thread) -> bool:
    # A thread that the system has given may die for want of memory before it says that it has
    # begun. Python would wait for it for ever, and the one who starts it holds locks.
    begun = vars(thread)["_started"] = _Begun()
    _START(thread)
    return begun.is_set()


def _put_back_hooks() -> None:
    """Put back hooks of threads under which none would come to its work; others are left alone.

    A debugger, or what measures coverage, has hooks that work.
    """
    there = {name: getattr(threading, name, None) for name in _HOOKS}
    if all(there[name] is _working[name] for name in _HOOKS):
        return
    if _reaches_its_work():
        _working.update(there)
        return
    for name in _HOOKS:
        setattr(threading, name, _working[name])


def _reaches_its_work() -> bool:
    reached = Event()
    thread: Any = Thread(target=reached.set, daemon=True, name="sopbench-probe")
    # What the hook raises there is nobody's business.
    thread._invoke_excepthook = _say_nothing  # noqa: SLF001 - Python has no other way
    if _begin(thread):
        thread.join(PATIENCE)
    return reached.is_set()


def _say_nothing(_: object) -> None:
    return None


# Measure for how long the whole process could not run.
#
# Native code that holds the interpreter's lock, a long collection of garbage or a stopped process
# keeps every run from its work. A thread that wants to wake at fixed times sees it by its
# lateness.

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
            start(thread)
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
            # Where the memory is used up anything may raise, also between two lines of ours. A
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


# Do something at a given time, from a watchdog thread that waits for the next thing to do.

# A wait is cut here, as no platform waits for as long as a float can say.
_LONGEST_WAIT = 3600.0


class Timer:
    """Something that is to be done; once cancelled, it holds nothing any more."""

    __slots__ = ("_action",)

    def __init__(self, action: Callable[[], None]) -> None:
        self._action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self._action = None

    def ring(self) -> None:
        action, self._action = self._action, None
        if action is None:
            return
        try:
            action()
        except Exception:  # noqa: BLE001 - whatever it is, the next alarm must ring
            # Without its watchdog a session would wait for ever for an agent that hangs.
            _LOG.exception("a time limit could not be enforced")


class Timers:
    """Rings alarms at their time, each once; the thread starts with the first alarm.

    Args:
        clock: seconds; whoever makes it jump calls `poke`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._thread: Thread | None = None
        self._stopped = False

    def at(self, when: float, action: Callable[[], None]) -> Timer:
        """Do `action` when the clock says `when`, or at once where that is past."""
        alarm = Timer(action)
        entry = (when, next(self._order), alarm)
        with self._lock:
            heappush(self._heap, entry)
            if self._thread is None and not self._stopped:
                # Where the system gives no thread, the next alarm tries again, and until then
                # `catch_up` rings; whoever sets an alarm must not fail for that.
                with suppress(Exception):
                    thread = Thread(target=self._watch, daemon=True, name="sopbench-watchdog")
                    start(thread)
                    self._thread = thread
            if self._heap[0] is entry:
                # For a later one the watchdog need not wake: it would only go on waiting.
                self._changed.notify()
        return alarm

    def catch_up(self) -> None:
        """Ring what is due, in the thread of the caller, where no thread of ours does."""
        while self._thread is None:
            with self._lock:
                if self._stopped or not self._heap or self._heap[0][0] > self._clock():
                    return
                alarm = heappop(self._heap)[2]
            alarm.ring()

    def beside(self, action: Callable[[], None]) -> Callable[[], None]:
        """Return an action that catches up as well, for whoever does it again and again."""

        def both() -> None:
            action()
            self.catch_up()

        return both

    def poke(self) -> None:
        """Look at the clock again."""
        with self._lock:
            self._changed.notify()

    def stop(self) -> None:
        """Ring no more; the thread ends by itself."""
        with self._lock:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()

    def _watch(self) -> None:
        while (alarm := self._next()) is not None:
            alarm.ring()

    def _next(self) -> Timer | None:
        with self._lock:
            while not self._stopped:
                wait = self._heap[0][0] - self._clock() if self._heap else _LONGEST_WAIT
                if wait <= 0:
                    return heappop(self._heap)[2]
                self._changed.wait(min(wait, _LONGEST_WAIT))
        return None
