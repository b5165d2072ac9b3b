"""What each run needs, and where each stands."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Generic, Protocol, TypeVar

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Trace, Usage
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.tools.toolbox import Toolbox

from .event_loop import CancellableAwait
from .threads import OneShotEvent, RunThread, Timer

# How long to wait before a run is made again: exponential back-off with full jitter.
#
# The source of the formula is Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog,
# 2015): random between 0 and min(most, first * 2 ** n).


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits between the attempts of a run, in seconds.

    `random` gives a number from 0 to 1. `sleep` is used only where the run is made in the thread
    that waits for it; elsewhere nothing sleeps.
    """

    first: float = 1.0
    most: float = 60.0
    random: Callable[[], float] = random.random
    sleep: Callable[[float], object] = time.sleep

    def delay(self, failed: int, retry_after: float | None = None) -> float:
        """Return the wait after `failed` attempts, at least as long as the provider asks for."""
        # The exponent is held down, as 2 ** 1024 is no float.
        bound = min(self.most, self.first * 2.0 ** min(failed - 1, 60))
        return (retry_after or 0.0) + self.random() * bound


# What an engine needs to make one run, and to make it again.

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


def never(_: BaseException) -> bool:
    """Say no of every exception."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Generic[K]):
    """One run that is to be made; `key` is what the engine knows it by.

    `open_toolbox` gives a fresh toolbox each time it is called, in the thread of the run. What
    `unavailable` and `timed_out` tell is what `run_task` asks of them. A job that is to be made
    `alone` has no other run in flight beside it: it may end the process. `wrap` gives, by the
    number of an attempt, what is entered around it. `compare` adds to the trace of a run what
    others find of its answer, before anybody is told that the run has ended.
    """

    key: K
    caller: AgentCaller
    domain: Domain
    task: Task
    open_toolbox: Callable[[], Toolbox]
    unavailable: Callable[[BaseException], bool] = never
    timed_out: Callable[[BaseException], bool] = never
    alone: bool = False
    wrap: Callable[[int], AbstractContextManager[None]] | None = None
    compare: Callable[[Trace], Trace] | None = None

    @property
    def name(self) -> str:
        """What the run is called in what others are told of it."""
        return f"{self.task.domain}/{self.task.id}"


class Listener(Protocol[K_contra]):
    """Is told of runs as they start and end, in whichever thread that happens.

    What it raises is raised again by `Engine.wait` for the run in question.
    """

    def started(self, key: K_contra, /) -> None:
        """Take note that a run starts, before its agent is called; once, however often retried."""
        ...

    def ended(self, key: K_contra, trace: Trace, /) -> None:
        """Take note of how a run ended, before anyone who waits for it goes on."""
        ...


class NullListener:
    """A listener that takes no note."""

    def started(self, key: object, /) -> None: ...

    def ended(self, key: object, trace: Trace, /) -> None: ...


# One run that an engine was asked for: where it stands, and what came of it.


class State(Enum):
    """Where a run stands. It is told of its end once, by whoever moves it to `ENDED`."""

    QUEUED = auto()
    RUNNING = auto()
    BETWEEN = auto()
    ENDED = auto()


@dataclass(slots=True, kw_only=True, eq=False)
class PendingRun(Generic[K]):
    """A run on its way; the engine's lock guards it.

    `began` is when the current attempt began, `lost_before` for how long the process had stood
    still by then, and `held_up` for how long another run has kept it from its work since.
    `blockers` are those for whose sake it was made again. `worker` has it, and `missed` counts the
    looks in a row at which it had let go of it. `trace` is of the last attempt that has
    ended, `spent` what the ones before it consumed. `fault` is what went wrong on our side of the
    agent.
    """

    job: Job[K]
    state: State = State.QUEUED
    attempts: int = 0
    began: float = 0.0
    lost_before: float = 0.0
    held_up: float = 0.0
    held_up_by: str = ""
    blockers: list[str] = field(default_factory=list[str])
    toolbox: Toolbox | None = None
    settling: CancellableAwait | None = None
    alarm: Timer | None = None
    worker: RunThread[PendingRun[K]] | None = None
    missed: int = 0
    spent: Usage = UNKNOWN_USAGE
    trace: Trace | None = None
    fault: BaseException | None = None
    done: OneShotEvent = field(default_factory=OneShotEvent)

    @property
    def is_lost(self) -> bool:
        """Whether the loop on which it is was blocked for good by another run."""
        return self.settling is not None and self.settling.is_lost

    @property
    def is_orphaned(self) -> bool:
        """Whether it should be in flight, or be told of, and the thread that had it is not at it.

        That is so for a moment whenever a run begins or ends.
        """
        is_owed = self.state in {State.RUNNING, State.ENDED} and not self.done.is_set()
        return is_owed and self.worker is not None and not self.worker.is_at(self)

    def take(self, toolbox: Toolbox) -> bool:
        """Give a run its toolbox; tell whether it had not ended while that was opened."""
        if self.state is not State.RUNNING:
            return False
        self.toolbox = toolbox
        return True

    def enter(self, trace: Trace, usage: Usage) -> None:
        """Keep the trace of an attempt that has ended, and what this attempt alone consumed."""
        self.trace = trace
        self.spent = add_usage(self.spent, usage)

    def blame_blocker(self) -> None:
        """Forget an attempt that another run has blocked for good, and keep whose run that was."""
        # What came of it was the end of its waiting, and nothing that its agent did.
        self.trace = None
        self.blockers.append(self.held_up_by)

    def let_go(self) -> None:
        """Forget what only a run needs that is still on its way."""
        if self.alarm is not None:
            self.alarm.cancel()
        self.alarm = self.toolbox = self.settling = None

    def compare(self) -> None:
        """Ask others what the judge does not compare; the run has ended, and its time with it."""
        if self.job.compare is not None and self.trace is not None and self.fault is None:
            self.trace = self.job.compare(self.trace)

    def cancel(self) -> bool:
        """Refuse what the agent still asks for; tell whether it was told to end as well."""
        if self.toolbox is not None:
            self.toolbox.close()
        return self.settling is not None and self.settling.cancel()

    def drop(self) -> None:
        """Let those who wait for the run go on, with what there is."""
        self.state = State.ENDED
        self.done.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds a run: seconds that an attempt may take, and how often it is made again.

    Without a `timeout` an attempt may take for ever. Only an unavailable run is made again.
    """

    timeout: float | None = None
    retries: int = 0
    backoff: Backoff = field(default_factory=Backoff)


# Which runs an engine has queued, has in flight, has between attempts, and has given up.

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
