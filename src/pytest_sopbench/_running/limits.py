"""A run that an engine is asked for, where it stands, and what bounds it.

A `Job` is one run: what it needs, where it stands and what came of it. A `Limit` says how many runs
may be in flight, `Limits` how long an attempt may take and how often it is made again, and
`TimeUsed` counts how much of its time each has used.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from math import inf
from threading import Event
from typing import Final, Generic, TypeVar

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import (
    ATTEMPT,
    HELD,
    LOOP_LOST,
    STOOD_STILL,
    UNKNOWN_USAGE,
    Ending,
    Trace,
    Usage,
)
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._core.values.text import as_seconds
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.event_loop import CancellableAwait, LoopThread, SharedLoop
from pytest_sopbench._running.threads import Clock, Pulse
from pytest_sopbench._running.tools.toolbox import Toolbox

# How long to wait before a run is made again: exponential back-off with full jitter.
#
# The source of the formula is Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog,
# 2015): random between 0 and min(most, first * 2 ** n).


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits between the attempts of a run, in seconds.

    `random` gives a number from 0 to 1. `sleep` is used only if the run is made in the thread
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


# What an engine needs to make one run, and to make it again; where that run stands.

K = TypeVar("K", bound=Hashable)


class State(Enum):
    """Where a run stands. It is told of its end once, by whoever moves it to `ENDED`."""

    QUEUED = auto()
    RUNNING = auto()
    BETWEEN = auto()
    ENDED = auto()


@dataclass(slots=True, kw_only=True, eq=False)
class Job(Generic[K]):
    """One run that is to be made, where it stands, and what came of it.

    `key` is what the engine knows it by. `open_toolbox` gives a fresh toolbox each time it is
    called, in the thread of the run. What `unavailable` and `timed_out` tell is what `run_task`
    asks of them. A job that is to be made `alone` has no other run in flight beside it: it may end
    the process. `wrap` gives, by the number of an attempt, what is entered around it. `compare`
    adds to the trace of a run what others find of its answer, before anybody is told that the run
    has ended.

    All else is the engine's, whose lock guards it; `replace` makes a job anew. `began` is when the
    current attempt began, `lost_before` for how long the process had stood still by then, and
    `held_up` for how long another run has kept it from its work since. `blockers` are those for
    whose sake it was made again. `retry_after` is for how many seconds the provider asked to be
    left alone by the current attempt, if it did. `trace` is of the last attempt that has ended,
    `spent` what the ones before it consumed. `fault` is what went wrong on our side of the agent.
    """

    key: K
    caller: AgentCaller
    domain: Domain
    task: Task
    open_toolbox: Callable[[], Toolbox]
    unavailable: Callable[[BaseException], bool] = lambda _: False
    timed_out: Callable[[BaseException], bool] = lambda _: False
    alone: bool = False
    wrap: Callable[[int], AbstractContextManager[object]] | None = None
    compare: Callable[[Trace], Trace] | None = None

    state: State = field(default=State.QUEUED, init=False)
    attempts: int = field(default=0, init=False)
    began: float = field(default=0.0, init=False)
    lost_before: float = field(default=0.0, init=False)
    held_up: float = field(default=0.0, init=False)
    held_up_by: str = field(default="", init=False)
    blockers: list[str] = field(default_factory=list[str], init=False)
    retry_after: float | None = field(default=None, init=False)
    toolbox: Toolbox | None = field(default=None, init=False)
    settling: CancellableAwait | None = field(default=None, init=False)
    spent: Usage = field(default=UNKNOWN_USAGE, init=False)
    trace: Trace | None = field(default=None, init=False)
    fault: BaseException | None = field(default=None, init=False)
    done: Event = field(default_factory=Event, init=False)

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

    `running` are the runs in flight with the time since they began, the slowest first.
    """

    started: int
    ended: int
    queued: int
    peak: int
    limit: int
    retried: int
    running: tuple[tuple[K, float], ...]


# How many runs may be in flight: a number that stays, or one that learns from the provider.
#
# The adaptive limit is additive increase, multiplicative decrease, as congestion control has it
# (RFC 5681), and as Inspect AI limits its connections. It first grows by one with each run that
# ends well, which doubles it in every round, and from the first throttling on by one in every
# round. A limit that is not used up does not grow, as nothing was learned about more. Throttling
# cuts it to seven tenths (the factor of CUBIC, RFC 9438), once per round: only a run that began
# after the last cut can tell anything of the limit since then.

START: Final = 20
"""Runs in flight with which an adaptive limit starts."""

HIGHEST: Final = 200
"""Runs in flight that an adaptive limit never exceeds, unless told."""

CUT: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The number of runs that may be in flight; a value, so that every change is a new one.

    Times are seconds of one clock. Made with `Limit.fixed` or `Limit.adaptive`.
    """

    lowest: int
    highest: int
    level: float
    probing: bool = True
    cut_at: float = -inf
    paused_until: float = -inf

    @classmethod
    def fixed(cls, count: int) -> Limit:
        """Return a limit that nothing changes.

        Raises:
            ValueError: fewer than one run could never start.
        """
        return cls.adaptive(start=count, highest=count, lowest=count)

    @classmethod
    def adaptive(cls, *, start: int = START, highest: int = HIGHEST, lowest: int = 1) -> Limit:
        """Return a limit between two bounds; a start beyond them is moved to the nearer one.

        Raises:
            ValueError: the bounds are below one, or the wrong way round.
        """
        if not 1 <= lowest <= highest:
            msg = f"a limit of runs in flight from {lowest} to {highest}: start no lower than 1"
            raise ValueError(msg)
        return cls(lowest=lowest, highest=highest, level=min(max(start, lowest), highest))

    @property
    def count(self) -> int:
        """How many runs may be in flight, were there no pause."""
        return int(self.level)

    def room(self, in_flight: int, now: float) -> int:
        """Return how many more runs may start at this moment."""
        return 0 if now < self.paused_until else max(0, int(self.level) - in_flight)

    def ended_well(self, in_flight: int) -> Limit:
        """Learn that a run ended well, with so many in flight, itself among them."""
        if in_flight < int(self.level) or self.lowest == self.highest:
            return self
        step = 1.0 if self.probing else 1.0 / self.level
        return replace(self, level=min(float(self.highest), self.level + step))

    def throttled(
        self, in_flight: int, *, began: float, now: float, retry_after: float | None = None
    ) -> Limit:
        """Learn that the provider turned a run away.

        Args:
            in_flight: how many runs were in flight, itself among them.
            began: when the run began.
            now: when it ended.
            retry_after: the seconds for which the provider asks to be left alone, if it said so.
        """
        if self.lowest == self.highest:
            return self
        paused = max(self.paused_until, now + (retry_after or 0.0))
        if began < self.cut_at:
            return replace(self, paused_until=paused)
        level = max(float(self.lowest), min(self.level, float(in_flight)) * CUT)
        return replace(self, level=level, probing=False, cut_at=now, paused_until=paused)


# How much of its time limit each run has used, less what kept it from its work.
#
# A limit counts the time in which a run was able to go on. Two things may keep it from that for
# which it is not to blame: the process stands still, or another agent holds the event loop on
# which the run is.
#
# A loop whose holder was ended is left. The runs that it has not come to begin on a new loop, and
# those that had begun are made again, if the old one does not come back. Without the one or the
# other their verdicts are lost: they would hang as long as they are excused, and then time out for
# what another agent did. `test_an_agent_that_blocks_its_loop_times_out_alone` in
# `tests/hooks/test_in_flight_limits.py` does not end without either.

SILENT: Final = 0.5
"""Seconds without an answer after which a loop counts as blocked: any step takes some time."""

PATIENCE: Final = 10.0
"""Seconds that a loop has to come back once it was left, before its runs are made again."""

WORTH_A_NOTE: Final = 1.0
"""Seconds; less is not told of."""

_MOST_LIMITS: Final = 10
_MOST_SECONDS: Final = 600.0


class TimeUsed(Generic[K]):
    """Counts for every run in flight; not safe by itself, the engine's lock guards it.

    Args:
        loops: the loops on which async agents are.
        clock: seconds.
        pulse: tells for how long the process stood still.
        most: how many attempts there may be because of the provider.
    """

    def __init__(self, loops: SharedLoop, *, clock: Clock, pulse: Pulse, most: int = 1) -> None:
        self._loops = loops
        self._most = most
        self._clock = clock
        self._pulse = pulse
        self._looked, self._lost = clock(), pulse.lost()

    def begin(self, run: Job[K]) -> None:
        """Count the time of an attempt from this moment on."""
        run.began = self._clock()
        run.lost_before = self._pulse.lost()
        run.held_up = 0.0

    def of(self, run: Job[K], limit: float) -> float:
        """Return the seconds that a run has used; what it is excused from has an end.

        Of one that waits for its loop no time runs: it is given another if that is blocked.
        """
        if run.settling is not None and run.settling.waits:
            return 0.0
        kept = self._stood(run) + run.held_up
        most = max(_MOST_LIMITS * limit, _MOST_SECONDS)
        return self._clock() - run.began - min(kept, most)

    def excuse(self, at_work: Iterable[Job[K]]) -> None:
        """Ask all loops whether they go on; excuse the runs that somebody else keeps from work.

        If nobody knows who holds a loop, the time of all goes on.
        """
        now, lost = self._clock(), self._pulse.lost()
        passed = max(0.0, now - self._looked - (lost - self._lost))
        for home, runs in self._homes(at_work).items():
            if home.answers():
                home.silent_since = None
                continue
            if home.silent_since is None:
                home.silent_since = self._looked
            holder = home.holder()
            for one in runs:
                if holder is not None and one.settling is not holder:
                    one.held_up += passed
                    one.held_up_by = getattr(holder, "name", "")
        self._looked, self._lost = now, lost

    def leave_blocked(self, at_work: Iterable[Job[K]], limit: float | None) -> None:
        """Leave the loops that are held by a run which was ended, or by nobody knows whom."""
        for home, runs in self._homes(at_work).items():
            if home.silent_since is None:
                continue
            silent = self._clock() - home.silent_since
            if silent >= SILENT and home.unheard:
                # Whoever holds it, be it no task at all: the next run need not wait for that.
                self._loops.replace(home)
            holder = home.holder()
            if holder is None:
                is_over = limit is not None and silent >= limit
            else:
                is_over = silent >= SILENT and all(one.settling is not holder for one in runs)
            if is_over:
                self._leave(home, runs)

    def trace(self, run: Job[K], trace: Trace, *, timeout: float | None, limited: bool) -> Trace:
        """Return the trace of an attempt as that of the run, with what its time was used for.

        What the attempts before it consumed was consumed by the run, and is added. One that took
        longer than `timeout` seconds by its own clock was timed out, however late the watchdog is.
        `limited` tells whether there is a time limit at all.
        """
        stood = self._stood(run)
        if run.attempts > 1:
            trace = replace(trace, usage=add_usage(run.spent, trace.usage))
        added = (*_notes(run, stood, most=self._most, limited=limited),)
        if added:
            trace = replace(trace, notes=(*trace.notes, *added))
        kept = stood + run.held_up
        if timeout is None or trace.duration - kept < timeout:
            return trace
        ending = Ending.OVER_LIMIT if trace.ending is Ending.OVER_LIMIT else Ending.TIMED_OUT
        return replace(trace, ending=ending, returned=None, problem=None, duration=timeout)

    def _homes(self, at_work: Iterable[Job[K]]) -> dict[LoopThread, list[Job[K]]]:
        """Return the runs by the loop on which each is; the one that is given now may have none."""
        homes: dict[LoopThread, list[Job[K]]] = {}
        standing = self._loops.standing()
        if standing is not None:
            homes[standing] = []
        for run in at_work:
            home = run.settling.home if run.settling is not None else None
            if home is not None:
                homes.setdefault(home, []).append(run)
        return homes

    def _leave(self, home: LoopThread, runs: list[Job[K]]) -> None:
        now = self._clock()
        self._loops.replace(home)
        if home.left_at is None:
            home.left_at = now
        is_lost = now - home.left_at >= PATIENCE
        for one in runs:
            if one.settling is None:
                continue
            # If there is no thread for another loop, the next look tries again.
            with suppress(RuntimeError, MemoryError):
                if one.settling.move():
                    # All of its time was spent on waiting.
                    one.held_up = now - one.began - self._stood(one)
            if is_lost and not one.settling.waits:
                one.settling.lose()

    def _stood(self, run: Job[K]) -> float:
        return self._pulse.lost() - run.lost_before


def _notes(run: Job[K], stood: float, *, most: int, limited: bool) -> Iterator[str]:
    """Say how often a run was made, and what kept it from its work if its time is limited.

    `stood` is for how long the process stood still.
    """
    number = run.attempts - len(run.blockers)
    if number > 1:
        yield f"{ATTEMPT} {number} of {most}: the provider was not available before"
    if run.blockers:
        blockers = ", ".join(filter(None, run.blockers)) or "another run"
        yield f"{LOOP_LOST} {blockers}"
    if limited and stood >= WORTH_A_NOTE:
        yield f"{STOOD_STILL} {as_seconds(stood)}, which its time limit does not count"
    if limited and run.held_up >= WORTH_A_NOTE:
        held = f"{run.held_up_by or 'another agent'} {HELD} {as_seconds(run.held_up)}"
        yield f"{held}, which its time limit does not count"
