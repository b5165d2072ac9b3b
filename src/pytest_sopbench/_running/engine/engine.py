"""Keep many agent runs in flight inside one process, each with its own limits and its own end.

Runs are made in daemon threads; what an async agent returns is settled on one event loop while
its thread waits. A run that has to wait for its provider waits without a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from threading import Lock
from typing import Final, Generic

from pytest_sopbench._core.model.trace import GOES_ON, Trace
from pytest_sopbench._running.event_loop import GRACE, CancellableAwait, SharedLoop, run_blocking
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._running.queue import (
    EngineStatus,
    Job,
    K,
    Limits,
    Listener,
    NullListener,
    PendingRun,
    RunQueues,
    State,
)
from pytest_sopbench._running.runner import interrupted_trace
from pytest_sopbench._running.threads import Clock, Pulse, RunThread, ThreadPool, Timers

from .limits import (
    Attempt,
    TimeLimit,
    TimeUsed,
    delay_of,
    failed_attempt,
    let_go,
    make_attempt,
    not_started,
)

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
    def adapts(self) -> bool:
        return self.lowest < self.highest

    @property
    def count(self) -> int:
        """How many runs may be in flight, were there no pause."""
        return int(self.level)

    def room(self, in_flight: int, now: float) -> int:
        """Return how many more runs may start at this moment."""
        return 0 if now < self.paused_until else max(0, self.count - in_flight)

    def ended_well(self, in_flight: int) -> Limit:
        """Learn that a run ended well, with so many in flight, itself among them."""
        if in_flight < self.count or not self.adapts:
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
        if not self.adapts:
            return self
        paused = max(self.paused_until, now + (retry_after or 0.0))
        if began < self.cut_at:
            return replace(self, paused_until=paused)
        level = max(float(self.lowest), min(self.level, float(in_flight)) * CUT)
        return replace(self, level=level, probing=False, cut_at=now, paused_until=paused)


# The room that there is for runs, which changes with what becomes of them.


class Room:
    """Holds the limit of runs in flight; not safe by itself, the engine's lock guards it."""

    def __init__(self, limit: Limit, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._resumes_at = -inf

    @property
    def count(self) -> int:
        return self._limit.count

    def is_there(self, in_flight: int) -> bool:
        """Tell whether one more run may start beside those that are in flight."""
        return self._limit.room(in_flight, self._clock()) > 0

    def pause(self) -> float | None:
        """Return when runs may start again; once for each pause that the provider asked for."""
        until = self._limit.paused_until
        if not self._clock() < until > self._resumes_at:
            return None
        self._resumes_at = until
        return until

    def learn(self, made: Attempt, *, began: float, in_flight: int) -> None:
        """Adapt the limit to what became of a run, itself among those in flight."""
        if made.unavailable:
            self._limit = self._limit.throttled(
                in_flight, began=began, now=self._clock(), retry_after=made.retry_after
            )
        elif made.ended_well:
            self._limit = self._limit.ended_well(in_flight)


# Start runs as the limit gives room, and end each of them once.
#
# A run ends in its thread, by the watchdog, or by the one who stops everything: whoever moves it
# to `ENDED` under the lock tells of it, and whoever comes later finds it ended and leaves it
# alone.


class Dispatcher(Generic[K]):
    """Makes queued runs, in threads or in the thread of the caller.

    `limit` is how many may be in flight at first, and `limits` what else bounds a run. All time is
    that of `clock`, less what `pulse` saw the process stand still. `listener` is told of the rest.
    """

    def __init__(
        self, limit: Limit, limits: Limits, *, clock: Clock, pulse: Pulse, listener: Listener[K]
    ) -> None:
        self._room = Room(limit, clock)
        self._limits = limits
        self._clock = clock
        self._listener = listener
        self._context = copy_context()
        self._lock = Lock()
        self._register: RunQueues[K] = RunQueues()
        self._stopped, self._alarms = False, Timers(clock)
        self._loop = SharedLoop()
        self._pulse = pulse
        self._used = TimeUsed(self._register, self._loop, clock=clock, pulse=pulse)
        self._time = TimeLimit(
            limits.timeout,
            self._register,
            self._used,
            lock=self._lock,
            alarms=self._alarms,
            cut=self._cut,
        )
        self._beat = self._alarms.beside(self._time.look)
        self._workers: ThreadPool[PendingRun[K]] = ThreadPool(self._work)

    def queue(self, flight: PendingRun[K], *, start: bool = True) -> None:
        """Take a run, and start it when there is room; `start` is no where a caller makes it."""
        with self._lock:
            if self._stopped:
                flight.drop()
                return
            self._register.queue.append(flight)
        if start:
            self._pump()

    def first(self, flight: PendingRun[K]) -> None:
        """Let a queued run be the next to start."""
        with self._lock:
            if flight.state is State.QUEUED:
                self._register.queue.remove(flight)
                self._register.queue.appendleft(flight)

    def make_here(self, flight: PendingRun[K]) -> None:
        """Make a queued run in this thread; what the agent writes is shown as well as kept.

        Raises:
            KeyboardInterrupt: the user has interrupted.
            SopbenchError: its toolbox cannot be opened.
        """
        with self._lock:
            if flight.state is not State.QUEUED:
                return
            self._register.queue.remove(flight)
        delay: float | None = 0.0
        try:
            while delay is not None:
                with self._lock:
                    self._admit(flight)
                made = self._attempt(flight, run_blocking, "tee")
                delay = self._conclude(flight, made)
                if delay is not None:
                    self._limits.backoff.sleep(delay)
        except BaseException as error:
            # Else whoever asks for it again would wait for ever.
            flight.fault = error
            self._end(flight)
            raise

    def abandon(self, flight: PendingRun[K], note: str) -> None:
        """End a run as timed out, for someone else's limit; one that has ended stays as it is."""
        with self._lock:
            state, elapsed = flight.state, self._clock() - flight.began
            if state is State.QUEUED:
                self._register.queue.remove(flight)
            flight.state = State.ENDED
        if state is State.RUNNING:
            self._cut(flight, elapsed, note)
        elif state is not State.ENDED:
            self._end(flight)

    def cancel_queued(self) -> list[PendingRun[K]]:
        """Drop what has not started, and return it; what waits to be made again ends as it is."""
        with self._lock:
            waiting = self._register.end_waiting()
        for one in waiting:
            self._end(one)
        return [one for one in waiting if not one.attempts]

    def stop(self, grace: float) -> None:
        """Start nothing more, cancel or abandon what is in flight, and end the threads."""
        with self._lock:
            self._stopped = True
        self.cancel_queued()
        with self._lock:
            running = self._register.end_running()
            self._workers.stop()
        for one in running:
            one.cancel()
            one.drop()
        self._alarms.stop()
        self._pulse.stop()
        self._loop.stop(grace)

    def lift_timeout(self) -> None:
        """Limit the time of no run any more, also not of those in flight."""
        with self._lock:
            self._time.seconds = None

    def rescue(self, waited_for: PendingRun[K]) -> None:
        """End the runs that their threads have let go of, as for want of memory."""
        with self._lock:
            lost = self._register.orphaned(waited_for)
        for one in lost:
            one.trace = one.trace or let_go()
            self._end(one)
        self._pump()

    def standing(self) -> EngineStatus[K]:
        with self._lock:
            return self._register.standing(self._clock(), self._room.count)

    def _pump(self) -> None:
        """Start what there is room for."""
        with self._lock:
            refused = self._start_queued()
        for flight in refused:
            self._end(flight)

    def _start_queued(self) -> list[PendingRun[K]]:
        """Start what there is room for; return what the system does not let start."""
        register, refused = self._register, list[PendingRun[K]]()
        while register.queue and self._room.is_there(len(register.running)):
            if not register.admits(register.queue[0]):
                return refused
            flight = register.queue.popleft()
            self._admit(flight)
            try:
                self._pulse.start(self._beat)
                flight.worker = self._workers.start(flight)
            except Exception as error:  # noqa: BLE001 - an agent may have put anything in the way
                # There are no more threads: those that there are have to do.
                register.turn_back(flight)
                if register.running:
                    return refused
                register.queue.popleft()
                flight.trace, flight.state = not_started(error), State.ENDED
                refused.append(flight)
        resumes_at = self._room.pause() if register.queue else None
        if resumes_at is not None:
            self._alarms.at(resumes_at, self._pump)
        return refused

    def _admit(self, flight: PendingRun[K]) -> None:
        flight.settling = CancellableAwait(self._loop, flight.job.name)
        self._register.admit(flight, self._clock())

    def _work(self, worker: RunThread[PendingRun[K]], flight: PendingRun[K]) -> None:
        """Make one attempt, in the thread of a worker."""
        settling = flight.settling or run_blocking
        try:
            made = self._context.copy().run(self._attempt, flight, settling, "keep")
        except BaseException as error:  # noqa: BLE001 - it is told to whoever waits for the run
            made = self._context.copy().run(failed_attempt, error)
        delay: float | None = None
        try:
            delay = self._conclude(flight, made)
        except BaseException as error:  # noqa: BLE001 - else its test would wait for ever
            flight.fault = error
            self._end(flight)
        with self._lock:
            if delay is not None:
                when = self._clock() + delay
                flight.alarm = self._alarms.at(when, partial(self._queue_again, flight))
            self._workers.give_back(worker)
        self._pump()

    def _queue_again(self, flight: PendingRun[K]) -> None:
        with self._lock:
            self._register.resume(flight)
        self._pump()

    def _attempt(
        self, flight: PendingRun[K], settle: Callable[[object], object], capture: Capture
    ) -> Attempt:
        with self._lock:
            if flight.state is not State.RUNNING:
                return Attempt()
            flight.attempts += 1
            self._used.begin(flight)
            number = flight.attempts
            self._register.started += number == 1
            self._time.watch(flight.began)
        if number == 1:
            self._listener.started(flight.job.key)
        toolbox = flight.job.open_toolbox()
        with self._lock:
            is_taken = flight.take(toolbox)
        if not is_taken:
            toolbox.close()
            return Attempt()
        return make_attempt(flight, toolbox, clock=self._clock, settle=settle, capture=capture)

    def _conclude(self, flight: PendingRun[K], made: Attempt) -> float | None:
        """End a run, unless somebody has; return the seconds after which it is made again."""
        with self._lock:
            if flight.state is not State.RUNNING:
                return None
            flight.fault = made.fault
            if made.trace is not None:
                trace = self._run_trace(flight, made.trace, self._time.seconds)
                flight.enter(trace, made.trace.usage)
            self._room.learn(made, began=flight.began, in_flight=len(self._register.running))
            delay = None if self._stopped else delay_of(flight, made, self._limits)
            if flight.is_lost:
                flight.blame_blocker()
            if delay is None:
                flight.state = State.ENDED
            else:
                self._register.pause(flight)
        if delay is None:
            flight.compare()
            self._end(flight)
        return delay

    def _run_trace(self, flight: PendingRun[K], trace: Trace, timeout: float | None) -> Trace:
        most, limited = self._limits.retries + 1, self._time.seconds is not None
        return self._used.run_trace(flight, trace, timeout, most=most, limited=limited)

    def _cut(self, flight: PendingRun[K], duration: float, note: str) -> None:
        """End a run from outside; its state is already `ENDED`, so that nobody else does."""
        settling = flight.settling if flight.cancel() else None
        notes = (note, GOES_ON if settling is None else "")
        trace = interrupted_trace(flight.toolbox, duration=duration, notes=[*filter(None, notes)])
        flight.trace = self._run_trace(flight, trace, None)
        abandon = partial(self._register.abandon, flight.job.key, settling)
        if settling is None:
            abandon()
        else:
            self._alarms.at(self._clock() + GRACE, abandon)
        self._end(flight)
        self._pump()

    def _end(self, flight: PendingRun[K]) -> None:
        """Tell of a run whose end is ours to tell."""
        try:
            if flight.trace is not None and flight.fault is None:
                self._listener.ended(flight.job.key, flight.trace)
        except BaseException as error:  # noqa: BLE001 - it is raised where the run is waited for
            flight.fault = error
        try:
            with self._lock:
                self._register.ended += flight.attempts > 0
                self._register.leave(flight)
        finally:
            flight.drop()


# On Windows a wait without an end cannot be interrupted.
_POLL: Final = 0.1


class Engine(Generic[K]):
    """Makes the runs that it is asked for, so many at a time, and each key once.

    With a fixed limit of one and no time-out the runs are made in the thread that waits for them,
    as a debugger needs it, and what agents write is shown as well as kept. All methods may be
    called from any thread. Runs see the context in which the engine was made, not that of tests.

    Args:
        limit: how many runs may be in flight.
        limits: what else bounds a run.
        clock: seconds; it is the one of all limits.
        pulse: tells for how long the process stood still, which no limit counts.
        listener: is told of starts and ends.

    Raises:
        ValueError: the limit is below one.
    """

    def __init__(
        self,
        limit: int | Limit,
        limits: Limits | None = None,
        *,
        clock: Clock = time.perf_counter,
        pulse: Pulse | None = None,
        listener: Listener[K] | None = None,
    ) -> None:
        limit = Limit.fixed(limit) if isinstance(limit, int) else limit
        limits = limits or Limits()
        self.direct: Final = limit.highest == 1 and limits.timeout is None
        self._lock = Lock()
        self._flights: dict[K, PendingRun[K]] = {}
        self._dispatcher: Dispatcher[K] = Dispatcher(
            limit,
            limits,
            clock=clock,
            pulse=pulse or Pulse(),
            listener=listener or NullListener(),
        )

    def submit(self, job: Job[K]) -> None:
        """Queue a run; a key that is known changes nothing. A stopped engine starts nothing."""
        with self._lock:
            if job.key in self._flights:
                return
            flight = self._flights[job.key] = PendingRun(job=job)
        self._dispatcher.queue(flight, start=not self.direct)

    def urgent(self, key: K) -> None:
        """Let a queued run be the next to start.

        Raises:
            KeyError: nobody has submitted it.
        """
        self._dispatcher.first(self._flights[key])

    def ensure(self, current: K, upcoming: Iterable[K], job_of: Callable[[K], Job[K]]) -> None:
        """Have the current run made next, and after it the upcoming ones in their order.

        `job_of` is asked only for keys that are not known. Where runs are made in the waiting
        thread, upcoming ones are left for later.
        """
        self._ensure(current, job_of)
        if self._flights[current].state is State.QUEUED:
            self.urgent(current)
        if not self.direct:
            for key in upcoming:
                self._ensure(key, job_of)

    def wait(self, key: K, look: Callable[[], None] | None = None) -> Trace | None:
        """Wait until a run has ended; Ctrl-C gets through. `look` is called now and then.

        Returns:
            Its trace, or `None` where it was dropped or stopped before it came to an end.

        Raises:
            KeyError: nobody has submitted it.
            SopbenchError: its toolbox cannot be opened. What the listener raised is raised too.
        """
        flight = self._flights[key]
        if self.direct:
            self._dispatcher.make_here(flight)
        while not flight.done.wait(_POLL):
            self._dispatcher.rescue(flight)
            if look is not None:
                look()
        if flight.fault is not None:
            raise flight.fault
        return flight.trace

    def abandon(self, key: K, note: str = "") -> Trace | None:
        """End a run as timed out, for someone else's limit; one that has ended stays as it is.

        Returns:
            Its trace, or `None` where it has not started.
        """
        flight = self._flights[key]
        self._dispatcher.abandon(flight, note)
        return flight.trace

    def forget(self, key: K) -> None:
        """Let the trace of a run go, so that its key is unknown again; one in flight is kept."""
        with self._lock:
            if key in self._flights and self._flights[key].done.is_set():
                del self._flights[key]

    def cancel_queued(self) -> tuple[K, ...]:
        """Drop what has not started, so that its keys are unknown again, and return them.

        What waits to be made again ends as unavailable. Those who wait for a dropped run go on.
        """
        dropped = tuple(one.job.key for one in self._dispatcher.cancel_queued())
        for key in dropped:
            self.forget(key)
        return dropped

    def stop(self, grace: float = 0.3) -> None:
        """Start nothing more, cancel or abandon what is in flight, and end the threads.

        It takes no longer than `grace` seconds, which async agents have to clean up. What has
        ended is kept and may still be waited for; all others have no trace.
        """
        self._dispatcher.stop(grace)

    def lift_timeout(self) -> None:
        """Limit no run's time from now on: a debugger has stopped the clock of its user."""
        self._dispatcher.lift_timeout()

    def standing(self) -> EngineStatus[K]:
        """Tell what the engine is about at this moment."""
        return self._dispatcher.standing()

    def _ensure(self, key: K, job_of: Callable[[K], Job[K]]) -> None:
        if key not in self._flights:
            self.submit(job_of(key))
