"""One attempt at a run, as an engine sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pytest_sopbench._core.model.run_notes import ATTEMPT, LOOP_LOST
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._core.model.usage import add_usage
from pytest_sopbench._running.observing.capture import Capture
from pytest_sopbench._running.observing.problem import problem_of
from pytest_sopbench._running.observing.retry_after import retry_after
from pytest_sopbench._running.queue.job import K
from pytest_sopbench._running.queue.pending import Limits, PendingRun
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.threads.clock import Clock
from pytest_sopbench._running.tools.toolbox import Toolbox


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
