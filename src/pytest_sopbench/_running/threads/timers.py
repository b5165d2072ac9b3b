"""Do something at a given time, from a watchdog thread that waits for the next thing to do."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from threading import Condition, Lock, Thread

from .clock import Clock
from .starting import start

_LOG = logging.getLogger(__name__)
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
