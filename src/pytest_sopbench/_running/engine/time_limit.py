"""End runs that are over their time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from threading import Lock
from typing import Generic

from pytest_sopbench._running.queue.job import K
from pytest_sopbench._running.queue.pending import PendingRun
from pytest_sopbench._running.queue.queues import RunQueues
from pytest_sopbench._running.threads.timers import Timers

from .time_used import TimeUsed


class TimeLimit(Generic[K]):
    """Has the watchdog look at all runs when the first of them is due.

    An alarm for each run would be set for nothing nearly always.

    Args:
        seconds: how long an attempt may take; `None` is no limit.
        register: what is in flight.
        used: how much of its time each run has used.
        lock: guards the register, and this.
        alarms: the watchdog.
        cut: ends a run whose state is `ENDED` already.
    """

    def __init__(
        self,
        seconds: float | None,
        register: RunQueues[K],
        used: TimeUsed[K],
        *,
        lock: Lock,
        alarms: Timers,
        cut: Callable[[PendingRun[K], float, str], None],
    ) -> None:
        self.seconds = seconds
        self._register = register
        self._used = used
        self._lock = lock
        self._alarms = alarms
        self._cut = cut
        self._looks_at = inf

    def watch(self, began: float) -> None:
        """See to it that a run which began then is looked at in time; the lock is held."""
        if self.seconds is not None and began + self.seconds < self._looks_at:
            self._looks_at = began + self.seconds
            self._alarms.at(self._looks_at, self.look)

    def look(self) -> None:
        """End the runs that are over their time; those that others kept from work are not."""
        with self._lock:
            late, seconds = self._late(), self.seconds
        if seconds is None or not late:
            return
        for flight in late:
            try:
                self._cut(flight, seconds, "")
            except BaseException as error:  # noqa: BLE001 - raised where the run is waited for
                flight.fault = error
                flight.drop()
        with self._lock:
            # One that blocks its loop cannot be cancelled, and the others need not wait for it.
            self._used.look(seconds)

    def _late(self) -> list[PendingRun[K]]:
        self._looks_at, seconds = inf, self.seconds
        self._used.look(seconds)
        if seconds is None:
            return []
        late = self._register.end_late(lambda one: self._used.of(one, seconds) >= seconds)
        for one in self._register.at_work():
            self.watch(self._used.since(one, seconds))
        return late
