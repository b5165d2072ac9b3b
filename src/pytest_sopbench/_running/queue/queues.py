"""Which runs an engine has queued, has in flight, has between attempts, and has given up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic

from pytest_sopbench._running.event_loop.cancellable import CancellableAwait

from .job import K
from .pending import PendingRun, State

LOOKS: Final = 50
"""Looks in a row at which no thread is at a run before it is given up; a run begins in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStatus(Generic[K]):
    """What an engine is about, at one moment; times in seconds.

    `running` are the runs in flight with the time since they began, the slowest first;
    `abandoned` those that were ended, and whose agents did not stop.
    """

    started: int
    ended: int
    queued: int
    peak: int
    limit: int
    retried: int
    running: tuple[tuple[K, float], ...]
    abandoned: tuple[K, ...]


class RunQueues(Generic[K]):
    """The lists and counts of an engine; not safe by itself, the engine's lock guards it."""

    def __init__(self) -> None:
        self.queue: deque[PendingRun[K]] = deque()
        self.running: dict[K, PendingRun[K]] = {}
        self.between: dict[K, PendingRun[K]] = {}
        self.abandoned: list[K] = []
        self.started = self.ended = self.retried = self._peak = 0

    def admits(self, flight: PendingRun[K]) -> bool:
        """Tell whether a run may be in flight beside those that are."""
        if not self.running:
            return True
        # One that is to be alone has let no other in beside it.
        return not (flight.job.alone or next(iter(self.running.values())).job.alone)

    def admit(self, flight: PendingRun[K], now: float) -> None:
        """Count a run as in flight."""
        flight.state = State.RUNNING
        flight.began = now
        self.running[flight.job.key] = flight
        self._peak = max(self._peak, len(self.running))

    def turn_back(self, flight: PendingRun[K]) -> None:
        """Queue an admitted run again, before all others."""
        self.leave(flight)
        flight.state = State.QUEUED
        self.queue.appendleft(flight)

    def pause(self, flight: PendingRun[K]) -> None:
        """Take a run out of flight, until it is made again."""
        self.leave(flight)
        flight.state = State.BETWEEN
        self.between[flight.job.key] = flight
        self.retried += 1

    def resume(self, flight: PendingRun[K]) -> None:
        """Queue a paused run before all others, unless it was ended meanwhile."""
        if self.between.pop(flight.job.key, None) is None or flight.state is State.ENDED:
            return
        flight.state = State.QUEUED
        # Somebody has waited for it the longest.
        self.queue.appendleft(flight)

    def end_waiting(self) -> list[PendingRun[K]]:
        """End what is not in flight, and return it; it is still to be told of."""
        waiting = [*self.queue, *self.between.values()]
        for one in waiting:
            one.state = State.ENDED
        self.queue.clear()
        return waiting

    def end_running(self) -> list[PendingRun[K]]:
        """End what is in flight, and return it; what somebody else is ending is left to them."""
        running = [one for one in self.running.values() if one.state is State.RUNNING]
        for one in running:
            one.state = State.ENDED
            del self.running[one.job.key]
        return running

    def leave(self, flight: PendingRun[K]) -> None:
        """Count a run as in flight no more."""
        self.running.pop(flight.job.key, None)
        self.between.pop(flight.job.key, None)
        flight.let_go()

    def abandon(self, key: K, settling: CancellableAwait | None) -> None:
        """Count a run that was ended as abandoned, unless its agent has ended as well."""
        if settling is None or not settling.has_ended():
            # One step, so that no lock is needed.
            self.abandoned.append(key)

    def orphaned(self, waited_for: PendingRun[K]) -> list[PendingRun[K]]:
        """Count a look; end the runs that no thread was at for many of them, and return these."""
        found: list[PendingRun[K]] = []
        for one in dict.fromkeys([*self.running.values(), waited_for]):
            one.missed = one.missed + 1 if one.is_orphaned else 0
            if one.missed >= LOOKS:
                one.state = State.ENDED
                found.append(one)
        return found

    def end_late(self, is_late: Callable[[PendingRun[K]], bool]) -> list[PendingRun[K]]:
        """End what has used up its time, and return it."""
        late = [one for one in self.at_work() if is_late(one)]
        for one in late:
            one.state = State.ENDED
        return late

    def at_work(self) -> list[PendingRun[K]]:
        """Return the runs that have begun, and have not ended."""
        running = self.running.values()
        return [one for one in running if one.state is State.RUNNING and one.attempts]

    def standing(self, now: float, limit: int) -> EngineStatus[K]:
        running = [(key, now - one.began) for key, one in self.running.items()]
        return EngineStatus(
            started=self.started,
            ended=self.ended,
            queued=len(self.queue),
            peak=self._peak,
            limit=limit,
            retried=self.retried,
            running=tuple(sorted(running, key=lambda one: -one[1])),
            abandoned=tuple(self.abandoned),
        )
