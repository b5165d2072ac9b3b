"""End runs that are over their time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Lock
from typing import Generic

from .alarms import Alarms
from .in_flight import Flight
from .job import K
from .register import Register
from .toolbox import Clock


class TimeLimit(Generic[K]):
    """Has the watchdog look at all runs when the first of them is due.

    An alarm for each run would be set for nothing nearly always.

    Args:
        seconds: how long an attempt may take; `None` is no limit.
        register: what is in flight.
        lock: guards the register, and this.
        alarms: the watchdog.
        clock: seconds; it is the one of the alarms.
        cut: ends a run whose state is `ENDED` already.
    """

    def __init__(
        self,
        seconds: float | None,
        register: Register[K],
        *,
        lock: Lock,
        alarms: Alarms,
        clock: Clock,
        cut: Callable[[Flight[K], float, str], None],
    ) -> None:
        self.seconds = seconds
        self._register = register
        self._lock = lock
        self._alarms = alarms
        self._clock = clock
        self._cut = cut
        self._looks_at = inf

    def watch(self, began: float) -> None:
        """See to it that a run which began then is looked at in time; the lock is held."""
        if self.seconds is not None and began + self.seconds < self._looks_at:
            self._looks_at = began + self.seconds
            self._alarms.at(self._looks_at, self._look)

    def _look(self) -> None:
        with self._lock:
            self._looks_at, seconds = inf, self.seconds
            if seconds is None:
                return
            late = self._register.end_late(self._clock(), seconds)
            for began in self._register.begun():
                self.watch(began)
        for flight in late:
            try:
                self._cut(flight, seconds, "")
            except BaseException as error:  # noqa: BLE001 - raised where the run is waited for
                flight.fault = error
                flight.drop()
