"""Keep many agent runs in flight inside one process, each with its own limits and its own end.

The road of a run:

- `submit` asks for it, and it is queued.
- `_start_queued` gives it a thread if the limit has room. The thread calls `_work`. With one run
  at a time and no time limit `_make_here` makes it in the thread that waits for it.
- `_attempt` calls its agent once. What an async agent returns is settled on one event loop for all
  runs, while its thread waits.
- `_conclude` decides by the attempt whether the run has ended or is made again. A run that has to
  wait for its provider waits without a thread, and `_queue_again` queues it then.
- `_beat` looks at all runs twice a second, and `_cut` ends those that are over their time. Somebody
  else's limit does so by `abandon`.
- `_end` tells of its end, and those who `wait` for it go on.

Whoever moves a run to `ENDED` under the lock tells of its end, and whoever comes later finds it
ended and leaves it alone.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from itertools import count
from math import inf
from threading import Lock
from typing import Final, Generic

from pytest_sopbench._core.model.trace import GOES_ON, Ending, Trace
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._running.event_loop import CancellableAwait, SharedLoop, run_blocking
from pytest_sopbench._running.limits import (
    EngineStatus,
    Job,
    K,
    Limit,
    Limits,
    State,
    TimeUsed,
)
from pytest_sopbench._running.observing import Capture, problem_of, retry_after
from pytest_sopbench._running.runner import interrupted_trace, run_task
from pytest_sopbench._running.threads import Clock, Pulse, RunThread, Timers

BEGINS_WITHIN: Final = 30.0
"""Seconds after which a run that its thread has not begun counts as lost."""

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
        started: is called as a run starts, before its agent is called; once, however often it is
            made again.
        ended: is called as a run has ended, before anyone who waits for it goes on.

    Both are called in whichever thread that happens, and what they raise `wait` raises again.
    """

    def __init__(
        self,
        limit: Limit,
        limits: Limits,
        *,
        clock: Clock = time.perf_counter,
        pulse: Pulse | None = None,
        started: Callable[[K], None] | None = None,
        ended: Callable[[K, Trace], None] | None = None,
    ) -> None:
        self._limit = limit
        self._limits = limits
        self._timeout = limits.timeout
        self.direct: Final = self._limit.highest == 1 and self._timeout is None
        self._clock = clock
        self._tell_start = started
        self._tell_end = ended
        self._context = copy_context()
        # Guards all that follows.
        self._lock = Lock()
        self._runs: dict[K, Job[K]] = {}
        # Those that are to start, in their order, and those that have started and not ended.
        self._queue: deque[Job[K]] = deque()
        self._in_flight: dict[K, Job[K]] = {}
        self._started = self._ended = self._retried = self._peak = 0
        self._resumes_at = -inf
        self._stopped = False
        self._pulse = pulse or Pulse()
        self._loop = SharedLoop()
        self._time: TimeUsed[K] = TimeUsed(
            self._loop, clock=clock, pulse=self._pulse, most=limits.retries + 1
        )
        # Threads that make runs: those that wait for the next one, and how they are numbered.
        self._idle: list[RunThread[Job[K]]] = []
        self._numbers = count(1)
        self._timers = Timers(clock, self._beat)

    # Asked for.

    def submit(self, job: Job[K]) -> None:
        """Queue a run; a key that is known changes nothing. A stopped engine starts nothing.

        A job is made once. To have a run made that was dropped, submit its job anew.
        """
        with self._lock:
            if job.key in self._runs:
                return
            self._runs[job.key] = job
            if self._stopped:
                job.drop()
                return
            self._queue.append(job)
        if not self.direct:
            self._start_queued()

    def ensure(self, current: Job[K], upcoming: Iterable[Job[K]]) -> None:
        """Have the current run be the next to start, and after it the upcoming ones.

        If runs are made in the waiting thread, upcoming ones are left for later.
        """
        self.submit(current)
        with self._lock:
            run = self._runs[current.key]
            if run.state is State.QUEUED:
                self._queue.remove(run)
                self._queue.appendleft(run)
        for job in () if self.direct else upcoming:
            self.submit(job)

    def wait(self, key: K, look: Callable[[], None] | None = None) -> Trace | None:
        """Wait until a run has ended; Ctrl-C gets through. `look` is called now and then.

        Returns:
            Its trace, or `None` if it was dropped or stopped before it came to an end.

        Raises:
            KeyError: nobody has submitted it.
            SopbenchError: its toolbox cannot be opened. What `ended` raised is raised too.
        """
        run = self._runs[key]
        if self.direct:
            self._make_here(run)
        while not run.done.wait(_POLL):
            if look is not None:
                look()
        if run.fault is not None:
            raise run.fault
        return run.trace

    # Waits for room, then starts.

    def _start_queued(self) -> None:
        """Start what there is room for; end what the system does not let start."""
        refused: list[Job[K]] = []
        with self._lock:
            while self._queue and self._may_start(self._queue[0]):
                run = self._queue.popleft()
                run.settling = CancellableAwait(self._loop, f"{run.task.domain}/{run.task.id}")
                self._admit(run)
                try:
                    self._timers.start()
                    # An agent that raises in all threads may have ended one that waits.
                    while self._idle and not self._idle[-1].is_alive:
                        self._idle.pop()
                    if not self._idle:
                        name = f"sopbench-agent-{next(self._numbers)}"
                        self._idle.append(RunThread(self._work, name))
                    self._idle.pop().take(run)
                except Exception as error:  # noqa: BLE001 - whatever it is, the run must end
                    # There are no more threads: those that there are have to do.
                    self._leave(run)
                    if self._in_flight:
                        run.state = State.QUEUED
                        self._queue.appendleft(run)
                        break
                    run.trace, run.state = _not_started(error), State.ENDED
                    refused.append(run)
            resumes_at = self._limit.paused_until
            if self._queue and self._clock() < resumes_at > self._resumes_at:
                self._resumes_at = resumes_at
                self._timers.at(resumes_at, self._start_queued)
        for run in refused:
            self._end(run)

    def _may_start(self, run: Job[K]) -> bool:
        if not self._limit.room(len(self._in_flight), self._clock()):
            return False
        # One that is to be alone has let no other in beside it.
        others = next(iter(self._in_flight.values()), None)
        return others is None or not (run.alone or others.alone)

    def _admit(self, run: Job[K]) -> None:
        """Count a run as in flight."""
        run.state = State.RUNNING
        self._time.begin(run)
        self._in_flight[run.key] = run
        self._peak = max(self._peak, len(self._in_flight))

    def _leave(self, run: Job[K]) -> None:
        """Count a run as in flight no more, and forget what only one in flight needs."""
        self._in_flight.pop(run.key, None)
        run.toolbox = run.settling = None

    # Runs, in a thread of its own or in the one that waits for it.

    def _work(self, worker: RunThread[Job[K]], run: Job[K]) -> None:
        """Make one attempt, in the thread of a worker."""
        settle = run.settling or run_blocking
        faults: list[BaseException] = []

        def attempt() -> Trace | None:
            try:
                return self._attempt(run, settle, "keep")
            except (KeyboardInterrupt, SystemExit, MemoryError) as error:
                # Of the agent's own values, as they were read: no Ctrl-C reaches this thread.
                return Trace(ending=Ending.RAISED, problem=problem_of(error))
            except BaseException as error:  # noqa: BLE001 - it is told to whoever waits for the run
                faults.append(error)
                return None

        delay: float | None = None
        try:
            trace = self._context.copy().run(attempt)
            delay = self._conclude(run, trace, fault=faults.pop() if faults else None)
        except BaseException as error:  # noqa: BLE001 - else its test would wait for ever
            run.fault = error
            self._end(run)
        with self._lock:
            if self._stopped:
                worker.dismiss()
            else:
                self._idle.append(worker)
        if delay:
            self._timers.at(self._clock() + delay, partial(self._queue_again, run))
        elif delay is not None:
            self._queue_again(run)
        self._start_queued()

    def _make_here(self, run: Job[K]) -> None:
        """Make a queued run in this thread; what the agent writes is shown as well as kept.

        Raises:
            KeyboardInterrupt: the user has interrupted.
            SopbenchError: its toolbox cannot be opened.
        """
        with self._lock:
            if run.state is not State.QUEUED:
                return
            self._queue.remove(run)
        delay: float | None = 0.0
        try:
            while delay is not None:
                with self._lock:
                    self._admit(run)
                delay = self._conclude(run, self._attempt(run, run_blocking, "tee"))
                if delay is not None:
                    self._limits.backoff.sleep(delay)
        except BaseException as error:
            # Else whoever asks for it again would wait for ever.
            run.fault = error
            self._end(run)
            raise

    def _attempt(
        self, run: Job[K], settle: Callable[[object], object], capture: Capture
    ) -> Trace | None:
        """Call the agent once, unless the run was ended before; then there is no trace."""
        with self._lock:
            if run.state is not State.RUNNING:
                return None
            run.attempts += 1
            run.retry_after = None
            number = run.attempts
            self._started += number == 1
            self._time.begin(run)
        if number == 1 and self._tell_start is not None:
            self._tell_start(run.key)
        toolbox = run.open_toolbox()
        with self._lock:
            has_ended = run.state is not State.RUNNING
            run.toolbox = None if has_ended else toolbox
        if has_ended:
            toolbox.close()
            return None

        def unavailable(error: BaseException) -> bool:
            found = run.unavailable(error)
            if found:
                run.retry_after = retry_after(error)
            return found

        return run_task(
            run.caller,
            run.domain,
            run.task,
            toolbox,
            clock=self._clock,
            unavailable=unavailable,
            timed_out=run.timed_out,
            capture=capture,
            settle=settle,
            wrap=partial(run.wrap, number) if run.wrap is not None else None,
        )

    # Ends, or is made again.

    def _conclude(
        self, run: Job[K], trace: Trace | None, *, fault: BaseException | None = None
    ) -> float | None:
        """End a run, unless somebody has; return the seconds after which it is made again.

        Without a trace the attempt was not made, or something is wrong on our side: the `fault`.
        """
        with self._lock:
            if run.state is not State.RUNNING:
                return None
            run.fault = fault
            if trace is not None:
                run.trace = self._time.trace(
                    run, trace, timeout=self._timeout, limited=self._timeout is not None
                )
            ending = None if trace is None else trace.ending
            self._learn(run, ending)
            delay = self._delay(run, ending)
            if delay is None or self._stopped:
                delay, run.state = None, State.ENDED
            else:
                if trace is not None:
                    run.spent = add_usage(run.spent, trace.usage)
                self._leave(run)
                run.state = State.BETWEEN
                self._retried += 1
        if delay is None:
            if run.compare is not None and run.trace is not None and run.fault is None:
                run.trace = run.compare(run.trace)
            self._end(run)
        return delay

    def _learn(self, run: Job[K], ending: Ending | None) -> None:
        """Adapt the limit to how an attempt ended, its run among those in flight."""
        in_flight = len(self._in_flight)
        if ending is Ending.UNAVAILABLE:
            self._limit = self._limit.throttled(
                in_flight, began=run.began, now=self._clock(), retry_after=run.retry_after
            )
        elif ending in {Ending.RETURNED, Ending.OVER_LIMIT}:
            # The provider has shown that it can bear as many runs as there were.
            self._limit = self._limit.ended_well(in_flight)

    def _delay(self, run: Job[K], ending: Ending | None) -> float | None:
        """Return the seconds after which a run is made again; `None` if it has ended."""
        failed = run.attempts - len(run.blockers)
        if run.settling is not None and run.settling.is_lost:
            # What came of it was the end of its waiting, and nothing that its agent did.
            run.trace = None
            run.blockers.append(run.held_up_by)
            return 0.0
        if ending is Ending.UNAVAILABLE and failed <= self._limits.retries:
            return self._limits.backoff.delay(failed, run.retry_after)
        return None

    def _queue_again(self, run: Job[K]) -> None:
        """Queue a run before all others, unless it was ended since."""
        with self._lock:
            if run.state is not State.BETWEEN:
                return
            run.state = State.QUEUED
            # Somebody has waited for it the longest.
            self._queue.appendleft(run)
        self._start_queued()

    def _end(self, run: Job[K]) -> None:
        """Tell of a run whose end is ours to tell, and let those who wait for it go on."""
        try:
            if self._tell_end is not None and run.trace is not None and run.fault is None:
                self._tell_end(run.key, run.trace)
        except BaseException as error:  # noqa: BLE001 - it is raised where the run is waited for
            run.fault = error
        try:
            with self._lock:
                self._ended += run.attempts > 0
                self._leave(run)
        finally:
            run.drop()

    # Ends from outside: timed out, abandoned, dropped, stopped.

    def _beat(self) -> None:
        """End the runs that are over their time, and leave loops that are blocked."""
        with self._lock:
            self._pulse.beat()
            self._time.excuse(self._at_work())
            limit = self._timeout
            late = [
                one
                for one in self._at_work()
                if limit is not None and self._time.of(one, limit) >= limit
            ]
            lost = [one for one in self._in_flight.values() if self._is_lost(one)]
            for one in (*late, *lost):
                one.state = State.ENDED
        for run in lost:
            run.trace = _not_started(RuntimeError("its thread did not begin it"))
            self._end(run)
        for run in late:
            try:
                self._cut(run, limit or 0.0, "")
            except BaseException as error:  # noqa: BLE001 - raised where the run is waited for
                run.fault = error
                run.drop()
        with self._lock:
            # One that blocks its loop cannot be cancelled, and the others need not wait for it.
            self._time.leave_blocked(self._at_work(), self._timeout)
        self._start_queued()

    def _at_work(self) -> list[Job[K]]:
        """Return the runs that have begun, and have not ended."""
        every = self._in_flight.values()
        return [one for one in every if one.state is State.RUNNING and one.attempts > 0]

    def _is_lost(self, run: Job[K]) -> bool:
        """Tell whether something was raised in a thread before it began its run."""
        waits = run.state is State.RUNNING and run.attempts == 0
        return waits and self._time.of(run, BEGINS_WITHIN) >= BEGINS_WITHIN

    def _cut(self, run: Job[K], duration: float, note: str) -> None:
        """End a run that is under way; its state is already `ENDED`, so that nobody else does."""
        goes_on = "" if run.cancel() else GOES_ON
        notes = [*filter(None, (note, goes_on))]
        trace = interrupted_trace(run.toolbox, duration=duration, notes=notes)
        with self._lock:
            is_limited = self._timeout is not None
            run.trace = self._time.trace(run, trace, timeout=None, limited=is_limited)
        self._end(run)
        self._start_queued()

    def abandon(self, key: K, note: str = "") -> Trace | None:
        """End a run as timed out, for someone else's limit; one that has ended stays as it is.

        Returns:
            Its trace, or `None` if it has not started.
        """
        run = self._runs[key]
        with self._lock:
            state, elapsed = run.state, self._clock() - run.began
            if state is State.QUEUED:
                self._queue.remove(run)
            run.state = State.ENDED
        if state is State.RUNNING:
            self._cut(run, elapsed, note)
        elif state is not State.ENDED:
            self._end(run)
        return run.trace

    def cancel_queued(self) -> tuple[K, ...]:
        """Drop what has not started, so that its keys are unknown again, and return them.

        What waits to be made again ends as unavailable. Those who wait for a dropped run go on.
        """
        dropped = tuple(one.key for one in self._end_waiting() if not one.attempts)
        for key in dropped:
            self.forget(key)
        return dropped

    def _end_waiting(self) -> list[Job[K]]:
        """End what is queued or is to be made again, and return it."""
        with self._lock:
            between = [one for one in self._runs.values() if one.state is State.BETWEEN]
            waiting = [*self._queue, *between]
            self._queue.clear()
            for one in waiting:
                one.state = State.ENDED
        for one in waiting:
            self._end(one)
        return waiting

    def forget(self, key: K) -> None:
        """Let the trace of a run go, so that its key is unknown again; one in flight is kept."""
        with self._lock:
            if key in self._runs and self._runs[key].done.is_set():
                del self._runs[key]

    def stop(self, grace: float = 0.3) -> None:
        """Start nothing more, cancel or abandon what is in flight, and end the threads.

        It takes no longer than twice `grace` seconds: async agents have as long to clean up, and
        runs that are being told of, such as several that time out at once, to be told of. What
        has ended is kept and may still be waited for; all others have no trace.
        """
        with self._lock:
            self._stopped = True
        self._end_waiting()
        with self._lock:
            # What somebody else is ending is left to them.
            ending = [one for one in self._runs.values() if one.state is State.ENDED]
            running = [one for one in self._in_flight.values() if one.state is State.RUNNING]
            for one in running:
                one.state = State.ENDED
                del self._in_flight[one.key]
            # Those at work end when they are given back.
            for worker in self._idle:
                worker.dismiss()
            self._idle.clear()
        for one in running:
            one.cancel()
            one.drop()
        end = self._clock() + grace
        for one in ending:
            one.done.wait(max(0.0, end - self._clock()))
        self._timers.stop()
        self._loop.stop(grace)

    def lift_timeout(self) -> None:
        """Limit no run's time from now on: a debugger has stopped the clock of its user."""
        with self._lock:
            self._timeout = None

    def standing(self) -> EngineStatus[K]:
        """Tell what the engine is about at this moment."""
        with self._lock:
            now = self._clock()
            running = [(key, now - one.began) for key, one in self._in_flight.items()]
            return EngineStatus(
                started=self._started,
                ended=self._ended,
                queued=len(self._queue),
                peak=self._peak,
                limit=self._limit.count,
                retried=self._retried,
                running=tuple(sorted(running, key=lambda one: -one[1])),
            )


def _not_started(error: BaseException) -> Trace:
    """Tell of a run for which the system gave no thread, or no memory."""
    problem = problem_of(error)
    message = f"the run could not be started: {problem.message or problem.type}"
    return Trace(ending=Ending.RAISED, problem=replace(problem, message=message, traceback=""))
