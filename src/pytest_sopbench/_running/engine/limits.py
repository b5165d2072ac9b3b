"""Time limits of runs, and the time that a run has used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Final, Generic

from pytest_sopbench._core.model.trace import ATTEMPT, HELD, LOOP_LOST, STOOD_STILL, Ending, Trace
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._core.values.text import as_seconds
from pytest_sopbench._running.event_loop import SharedLoop
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._running.observing.problem import problem_of, retry_after
from pytest_sopbench._running.queue import K, Limits, PendingRun, RunQueues
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.threads import Clock, Pulse, Timers
from pytest_sopbench._running.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from pytest_sopbench._running.event_loop import LoopThread

# One attempt at a run, as an engine sees it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of it; without a trace it was not made, or something is wrong on our side.

    `retry_after` is for how many seconds the provider asked to be left alone, if it did.
    """

    trace: Trace | None = None
    fault: BaseException | None = None
    retry_after: float | None = None

    @property
    def unavailable(self) -> bool:
        return self.trace is not None and self.trace.ending is Ending.UNAVAILABLE

    @property
    def ended_well(self) -> bool:
        """Whether the provider has shown that it can bear as many runs as there were."""
        return self.trace is not None and self.trace.ending in (
            Ending.RETURNED,
            Ending.OVER_LIMIT,
        )


def make_attempt(
    flight: PendingRun[K],
    toolbox: Toolbox,
    *,
    clock: Clock,
    settle: Callable[[object], object],
    capture: Capture,
) -> Attempt:
    """Run the agent once; the flight counts this attempt already.

    Raises:
        KeyboardInterrupt: as `run_task` does.
    """
    job = flight.job
    asked: list[float | None] = []

    def unavailable(error: BaseException) -> bool:
        found = job.unavailable(error)
        if found:
            asked.append(retry_after(error))
        return found

    trace = run_task(
        job.caller,
        job.domain,
        job.task,
        toolbox,
        clock=clock,
        unavailable=unavailable,
        timed_out=job.timed_out,
        capture=capture,
        settle=settle,
        wrap=partial(job.wrap, flight.attempts) if job.wrap is not None else None,
    )
    return Attempt(trace=trace, retry_after=asked[0] if asked else None)


def failed_attempt(error: BaseException) -> Attempt:
    """Tell what was raised where `run_task` raises nothing: in a thread that no Ctrl-C reaches."""
    if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
        # Of the agent's own values, as they were read; the session goes on.
        return Attempt(trace=Trace(ending=Ending.RAISED, problem=problem_of(error)))
    return Attempt(fault=error)


def not_started(error: BaseException) -> Trace:
    """Tell of a run for which the system gave no thread, or no memory."""
    problem = problem_of(error)
    message = f"the run could not be started: {problem.message or problem.type}"
    return Trace(ending=Ending.RAISED, problem=replace(problem, message=message, traceback=""))


def let_go() -> Trace:
    """Tell of a run whose thread ended, or came to the end of its memory, before the run did."""
    problem = problem_of(MemoryError("the thread of the run let go of it, as for want of memory"))
    return Trace(ending=Ending.RAISED, problem=problem)


def delay_of(flight: PendingRun[K], made: Attempt, limits: Limits) -> float | None:
    """Return the seconds after which a run is made again; `None` where it has ended."""
    if flight.is_lost:
        return 0.0
    number = flight.attempts - len(flight.blockers)
    if made.unavailable and number <= limits.retries:
        return limits.backoff.delay(number, made.retry_after)
    return None


def run_trace(
    flight: PendingRun[K],
    trace: Trace,
    *,
    timeout: float | None,
    most: int,
    kept: float = 0.0,
    notes: Sequence[str] = (),
) -> Trace:
    """Return the trace of an attempt as that of the run.

    What the attempts before it consumed was consumed by the run, and is added. One that took
    longer than `timeout` seconds by its own clock was timed out, however late the watchdog is;
    `kept` seconds, in which it could not go on, do not count. `most` is how many attempts there
    may be because of the provider. `notes` are added.
    """
    if flight.attempts > 1:
        trace = replace(trace, usage=add_usage(flight.spent, trace.usage))
    added = (*_attempts(flight, most), *notes)
    if added:
        trace = replace(trace, notes=(*trace.notes, *added))
    if timeout is None or trace.duration - kept < timeout:
        return trace
    ending = Ending.OVER_LIMIT if trace.ending is Ending.OVER_LIMIT else Ending.TIMED_OUT
    return replace(trace, ending=ending, returned=None, problem=None, duration=timeout)


def _attempts(flight: PendingRun[K], most: int) -> Iterator[str]:
    number = flight.attempts - len(flight.blockers)
    if number > 1:
        yield f"{ATTEMPT} {number} of {most}: the provider was not available before"
    if flight.blockers:
        blockers = ", ".join(filter(None, flight.blockers)) or "another run"
        yield f"{LOOP_LOST} {blockers}"


# How much of its time limit each run has used, less what kept it from its work.
#
# A limit counts the time in which a run was able to go on. Two things may keep it from that for
# which it is not to blame: the process stands still, or another agent holds the event loop on
# which the run is. A loop whose holder was ended is left: runs that it has not come to begin on a
# new one.

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
        register: what is in flight.
        loops: the loops on which async agents are.
        clock: seconds.
        pulse: tells for how long the process stood still.
    """

    def __init__(
        self, register: RunQueues[K], loops: SharedLoop, *, clock: Clock, pulse: Pulse
    ) -> None:
        self._register = register
        self._loops = loops
        self._clock = clock
        self._pulse = pulse
        self._looked, self._lost = clock(), pulse.lost()
        self._silent: dict[LoopThread, float] = {}
        self._left: dict[LoopThread, float] = {}

    def begin(self, flight: PendingRun[K]) -> None:
        """Count the time of a run from this moment on."""
        flight.began = self._clock()
        flight.lost_before = self._pulse.lost()
        flight.held_up = 0.0

    def kept(self, flight: PendingRun[K]) -> float:
        """Return the seconds for which a run was kept from its work."""
        return self._stood(flight) + flight.held_up

    def of(self, flight: PendingRun[K], limit: float) -> float:
        """Return the seconds that a run has used; what it is excused from has an end.

        Of one that waits for its loop no time runs: it is given another where that is blocked.
        """
        if flight.settling is not None and flight.settling.waits:
            return 0.0
        most = max(_MOST_LIMITS * limit, _MOST_SECONDS)
        return self._clock() - flight.began - min(self.kept(flight), most)

    def since(self, flight: PendingRun[K], limit: float) -> float:
        """Return when a run would have begun that has used as much, and was never held up."""
        return self._clock() - self.of(flight, limit)

    def _notes(self, flight: PendingRun[K], stood: float) -> list[str]:
        """Say what kept a run from its work; `stood` is for how long the process stood still."""
        notes: list[str] = []
        if stood >= WORTH_A_NOTE:
            notes.append(f"{STOOD_STILL} {as_seconds(stood)}, which its time limit does not count")
        if flight.held_up >= WORTH_A_NOTE:
            held = f"{flight.held_up_by or 'another agent'} {HELD} {as_seconds(flight.held_up)}"
            notes.append(f"{held}, which its time limit does not count")
        return notes

    def run_trace(
        self,
        flight: PendingRun[K],
        trace: Trace,
        timeout: float | None,
        *,
        most: int,
        limited: bool,
    ) -> Trace:
        """Return the trace of an attempt as that of the run, with what its time was used for.

        `limited` tells whether there is a time limit at all; see `attempt.told` for the rest.
        """
        stood = self._stood(flight)
        notes = self._notes(flight, stood) if limited else ()
        kept = stood + flight.held_up
        return run_trace(flight, trace, timeout=timeout, most=most, kept=kept, notes=notes)

    def look(self, limit: float | None) -> None:
        """Ask all loops whether they go on; leave those that a run blocks which was ended."""
        now, lost = self._clock(), self._pulse.lost()
        passed = max(0.0, now - self._looked - (lost - self._lost))
        homes = self._homes()
        self._silent = {home: since for home, since in self._silent.items() if home in homes}
        for home, runs in homes.items():
            if home.answers():
                self._silent.pop(home, None)
            else:
                silent = now - self._silent.setdefault(home, self._looked)
                self._hold_up(home, runs, silent, passed=passed, limit=limit)
        self._looked, self._lost = now, lost

    def _homes(self) -> dict[LoopThread, list[PendingRun[K]]]:
        homes: dict[LoopThread, list[PendingRun[K]]] = {}
        standing = self._loops.standing()
        if standing is not None:
            homes[standing] = []
        for flight in self._register.at_work():
            home = flight.settling.home if flight.settling is not None else None
            if home is not None:
                homes.setdefault(home, []).append(flight)
        return homes

    def _hold_up(
        self,
        home: LoopThread,
        runs: list[PendingRun[K]],
        silent: float,
        *,
        passed: float,
        limit: float | None,
    ) -> None:
        holder = home.holder()
        if holder is None:
            # Nobody knows who is to blame, so that the time of all goes on.
            has_ended = limit is not None and silent >= limit
        else:
            has_ended = not self._excuse(holder, runs, passed) and silent >= SILENT
        if has_ended:
            self._leave(home, runs)

    def _excuse(self, holder: object, runs: list[PendingRun[K]], passed: float) -> bool:
        """Excuse the runs on a blocked loop but for the one that holds it; tell if it is here."""
        others = [one for one in runs if one.settling is not holder]
        for one in others:
            one.held_up += passed
            one.held_up_by = getattr(holder, "name", "")
        return len(others) < len(runs)

    def _leave(self, home: LoopThread, runs: list[PendingRun[K]]) -> None:
        self._loops.replace(home)
        left = self._left.setdefault(home, self._clock())
        is_lost = self._clock() - left >= PATIENCE
        for one in runs:
            if one.settling is None:
                continue
            # Where there is no thread for another loop, the next look tries again.
            with suppress(RuntimeError, MemoryError):
                if one.settling.move():
                    # All of its time was spent on waiting.
                    one.held_up = self._clock() - one.began - self._stood(one)
            if is_lost and not one.settling.waits:
                one.settling.lose()

    def _stood(self, flight: PendingRun[K]) -> float:
        return self._pulse.lost() - flight.lost_before


# End runs that are over their time.


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
