"""One run that an engine was asked for: where it stands, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Generic

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Trace, Usage
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._running.event_loop.cancellable import CancellableAwait
from pytest_sopbench._running.threads.latch import OneShotEvent
from pytest_sopbench._running.threads.run_threads import RunThread
from pytest_sopbench._running.threads.timers import Timer
from pytest_sopbench._running.tools.toolbox import Toolbox

from .backoff import Backoff
from .job import Job, K


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
