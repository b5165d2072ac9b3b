"""Start runs as the limit gives room, and end each of them once.

A run ends in its thread, by the watchdog, or by the one who stops everything: whoever moves it to
`ENDED` under the lock tells of it, and whoever comes later finds it ended and leaves it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Generic

from pytest_sopbench._core.model.run_notes import GOES_ON
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._running.event_loop.blocking import run_blocking
from pytest_sopbench._running.event_loop.cancellable import GRACE, CancellableAwait
from pytest_sopbench._running.event_loop.shared_loop import SharedLoop
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._running.queue.job import K, Listener
from pytest_sopbench._running.queue.pending import Limits, PendingRun, State
from pytest_sopbench._running.queue.queues import EngineStatus, RunQueues
from pytest_sopbench._running.runner import interrupted_trace
from pytest_sopbench._running.threads.clock import Clock
from pytest_sopbench._running.threads.pulse import Pulse
from pytest_sopbench._running.threads.run_threads import RunThread, ThreadPool
from pytest_sopbench._running.threads.timers import Timers

from .adaptive import Limit
from .attempt import Attempt, delay_of, failed_attempt, let_go, make_attempt, not_started
from .room import Room
from .time_limit import TimeLimit
from .time_used import TimeUsed


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
