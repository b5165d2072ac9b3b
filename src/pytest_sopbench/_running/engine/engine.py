"""Keep many agent runs in flight inside one process, each with its own limits and its own end.

Runs are made in daemon threads; what an async agent returns is settled on one event loop while
its thread waits. A run that has to wait for its provider waits without a thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Final, Generic

from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._running.queue.job import Job, K, Listener, NullListener
from pytest_sopbench._running.queue.pending import Limits, PendingRun, State
from pytest_sopbench._running.queue.queues import EngineStatus
from pytest_sopbench._running.threads.clock import Clock
from pytest_sopbench._running.threads.pulse import Pulse

from .adaptive import Limit
from .dispatcher import Dispatcher

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
