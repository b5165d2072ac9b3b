"""What each run needs, and where each stands."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Trace, Usage
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.tools.toolbox import Toolbox

from .event_loop import CancellableAwait
from .threads import OneShotEvent, RunThread

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
    unavailable: Callable[[BaseException], bool] = lambda _: False
    timed_out: Callable[[BaseException], bool] = lambda _: False
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
    `blockers` are those for whose sake it was made again. `retry_after` is for how many seconds the
    provider asked to be left alone by the current attempt, if it did. `worker` has it, and `missed`
    counts the looks in a row at which it had let go of it. `trace` is of the last attempt that has
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
    retry_after: float | None = None
    toolbox: Toolbox | None = None
    settling: CancellableAwait | None = None
    worker: RunThread[PendingRun[K]] | None = None
    missed: int = 0
    spent: Usage = UNKNOWN_USAGE
    trace: Trace | None = None
    fault: BaseException | None = None
    done: OneShotEvent = field(default_factory=OneShotEvent)

    @property
    def is_at_work(self) -> bool:
        """Whether it has begun, and has not ended."""
        return self.state is State.RUNNING and self.attempts > 0

    @property
    def is_orphaned(self) -> bool:
        """Whether it should be in flight, or be told of, and the thread that had it is not at it.

        That is so for a moment whenever a run begins or ends.
        """
        is_owed = self.state in {State.RUNNING, State.ENDED} and not self.done.is_set()
        return is_owed and self.worker is not None and not self.worker.is_at(self)

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
