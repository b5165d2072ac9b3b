"""Start runs as the limit gives room, and end each of them once.

A run ends in its thread, by the watchdog, or by the one who stops everything: whoever moves it to
`ENDED` under the lock tells of it, and whoever comes later finds it ended and leaves it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from math import inf
from threading import Lock
from typing import Generic

from pytest_sopbench._core.run_notes import GOES_ON

from .adaptive import Limit
from .alarms import Alarms
from .attempt import Attempt, failed_attempt, make_attempt, told
from .awaiting import settled
from .capture import Capture
from .consumption import added
from .in_flight import Flight, Limits, State
from .job import K, Listener
from .register import Register, Standing
from .runner import cut_short
from .settling import GRACE, Settling
from .shared_loop import SharedLoop
from .time_limit import TimeLimit
from .toolbox import Clock, Toolbox
from .workers import Worker, Workers


class Dispatcher(Generic[K]):
    """Makes queued runs, in threads or in the thread of the caller.

    Args:
        limit: how many runs may be in flight at first.
        limits: what else bounds a run.
        clock: seconds; it is the one of all limits.
        listener: is told of starts and ends.
    """

    def __init__(
        self, limit: Limit, limits: Limits, *, clock: Clock, listener: Listener[K]
    ) -> None:
        self._limit = limit
        self._limits = limits
        self._clock = clock
        self._listener = listener
        self._context = copy_context()
        self._lock = Lock()
        self._register: Register[K] = Register()
        self._stopped = False
        self._resumes_at = -inf
        self._alarms = Alarms(clock)
        self._time = TimeLimit(
            limits.timeout,
            self._register,
            lock=self._lock,
            alarms=self._alarms,
            clock=clock,
            cut=self._cut,
        )
        self._loop = SharedLoop()
        self._workers: Workers[Flight[K]] = Workers(self._work)

    def queue(self, flight: Flight[K], *, start: bool = True) -> None:
        """Take a run, and start it when there is room; `start` is no where a caller makes it."""
        with self._lock:
            if self._stopped:
                flight.drop()
                return
            self._register.queue.append(flight)
            if start:
                self._pump()

    def first(self, flight: Flight[K]) -> None:
        """Let a queued run be the next to start."""
        with self._lock:
            if flight.state is State.QUEUED:
                self._register.queue.remove(flight)
                self._register.queue.appendleft(flight)

    def make_here(self, flight: Flight[K]) -> None:
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
                made = self._attempt(flight, settled, "tee")
                delay = self._conclude(flight, made)
                if delay is not None:
                    self._limits.backoff.sleep(delay)
        except BaseException as error:
            # Else whoever asks for it again would wait for ever.
            flight.fault = error
            self._end(flight)
            raise

    def abandon(self, flight: Flight[K], note: str) -> None:
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

    def cancel_queued(self) -> list[Flight[K]]:
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
        self._loop.stop(grace)

    def lift_timeout(self) -> None:
        """Limit the time of no run any more, also not of those in flight."""
        with self._lock:
            self._time.seconds = None

    def standing(self) -> Standing[K]:
        with self._lock:
            return self._register.standing(self._clock(), self._limit.count)

    def _pump(self) -> None:
        """Start what there is room for; the lock is held."""
        now, register = self._clock(), self._register
        while register.queue and self._limit.room(len(register.running), now):
            if not register.admits(register.queue[0]):
                return
            flight = register.queue.popleft()
            self._admit(flight)
            try:
                self._workers.start(flight)
            except RuntimeError as error:
                # The system gives no more threads: those that there are have to do.
                register.turn_back(flight)
                if not register.running:
                    register.queue.popleft()
                    flight.fault = error
                    flight.drop()
                return
        if register.queue and now < self._limit.paused_until > self._resumes_at:
            self._resumes_at = self._limit.paused_until
            self._alarms.at(self._resumes_at, self._resume)

    def _resume(self) -> None:
        with self._lock:
            self._pump()

    def _admit(self, flight: Flight[K]) -> None:
        flight.settling = Settling(self._loop)
        self._register.admit(flight, self._clock())

    def _work(self, worker: Worker[Flight[K]], flight: Flight[K]) -> None:
        """Make one attempt, in the thread of a worker."""
        settling = flight.settling or settled
        try:
            made = self._context.copy().run(self._attempt, flight, settling, "keep")
        except BaseException as error:  # noqa: BLE001 - it is told to whoever waits for the run
            made = failed_attempt(error)
        delay = self._conclude(flight, made)
        with self._lock:
            if delay is not None:
                when = self._clock() + delay
                flight.alarm = self._alarms.at(when, partial(self._queue_again, flight))
            self._workers.give_back(worker)
            self._pump()

    def _queue_again(self, flight: Flight[K]) -> None:
        with self._lock:
            if self._register.resume(flight):
                self._pump()

    def _attempt(
        self, flight: Flight[K], settle: Callable[[object], object], capture: Capture
    ) -> Attempt:
        with self._lock:
            if flight.state is not State.RUNNING:
                return Attempt()
            flight.attempts += 1
            flight.began = self._clock()
            number = flight.attempts
            self._register.started += number == 1
            self._time.watch(flight.began)
        if number == 1:
            self._listener.started(flight.job.key)
        toolbox = flight.job.open_toolbox()
        if not self._take(flight, toolbox):
            return Attempt()
        return make_attempt(flight.job, toolbox, clock=self._clock, settle=settle, capture=capture)

    def _take(self, flight: Flight[K], toolbox: Toolbox) -> bool:
        with self._lock:
            if flight.state is State.RUNNING:
                flight.toolbox = toolbox
                return True
        # The run was ended while its toolbox was opened.
        toolbox.close()
        return False

    def _conclude(self, flight: Flight[K], made: Attempt) -> float | None:
        """End a run, unless somebody has; return the seconds after which it is made again."""
        with self._lock:
            if flight.state is not State.RUNNING:
                return None
            most = self._limits.retries + 1
            if made.trace is not None:
                flight.trace = told(flight, made.trace, timeout=self._time.seconds, most=most)
                flight.spent = added(flight.spent, made.trace.usage)
            flight.fault = made.fault
            self._learn(flight, made)
            again = made.unavailable and flight.attempts < most and not self._stopped
            if again:
                self._register.pause(flight)
            else:
                flight.state = State.ENDED
        if again:
            return self._limits.backoff.delay(flight.attempts, made.retry_after)
        self._end(flight)
        return None

    def _learn(self, flight: Flight[K], made: Attempt) -> None:
        in_flight = len(self._register.running)
        if made.unavailable:
            self._limit = self._limit.throttled(
                in_flight,
                began=flight.began,
                now=self._clock(),
                retry_after=made.retry_after,
            )
        elif made.ended_well:
            self._limit = self._limit.ended_well(in_flight)

    def _cut(self, flight: Flight[K], duration: float, note: str) -> None:
        """End a run from outside; its state is already `ENDED`, so that nobody else does."""
        settling, key = flight.settling, flight.job.key
        cancelled = flight.cancel()
        notes = (note, "" if cancelled else GOES_ON)
        trace = cut_short(flight.toolbox, duration=duration, notes=[*filter(None, notes)])
        flight.trace = told(flight, trace, timeout=None, most=self._limits.retries + 1)
        if cancelled and settling is not None:
            check = partial(self._check_ended, key, settling)
            self._alarms.at(self._clock() + GRACE, check)
        else:
            # One step, so that no lock is needed.
            self._register.abandoned.append(key)
        self._end(flight)
        self._resume()

    def _check_ended(self, key: K, settling: Settling) -> None:
        if not settling.has_ended():
            self._register.abandoned.append(key)

    def _end(self, flight: Flight[K]) -> None:
        """Tell of a run whose end is ours to tell."""
        try:
            if flight.trace is not None and flight.fault is None:
                self._listener.ended(flight.job.key, flight.trace)
        except BaseException as error:  # noqa: BLE001 - it is raised where the run is waited for
            flight.fault = error
        with self._lock:
            self._register.ended += flight.attempts > 0
            self._register.leave(flight)
        flight.drop()
