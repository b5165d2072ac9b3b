"""The one loop in the house: start an agent on a task, and write down how it ended.

One call of `run_task` is one run. It knows no main thread and keeps no state, so an engine may
make many at a time, each in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import copy_context
from os import getpid
from typing import Final

from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Problem, Returned, ReturnedKind, Trace
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.observing import (
    Capture,
    captured,
    end_child_of,
    is_of,
    problem_of,
    watched_interrupts,
)
from pytest_sopbench._running.tools.toolbox import Toolbox
from pytest_sopbench._running.wire.request import AgentDiedError
from pytest_sopbench.errors import TurnLimitError

from .event_loop import close_coroutine, run_blocking
from .threads import Clock

LAST_CALLS: Final = 5.0
"""Seconds for which the calls are waited for that are at work when an agent answers.

What they write may decide how the run is judged. A tool that never ends cannot be stopped.
"""


def run_task(  # noqa: PLR0913 - the parts of a run, each given by whoever knows it
    caller: AgentCaller,
    domain: Domain,
    task: Task,
    toolbox: Toolbox,
    *,
    clock: Clock,
    unavailable: Callable[[BaseException], bool],
    timed_out: Callable[[BaseException], bool] = lambda _: False,
    capture: Capture = "tee",
    settle: Callable[[object], object] = run_blocking,
    wrap: Callable[[], AbstractContextManager[object]] | None = None,
) -> Trace:
    """Run one agent on one task; whatever the agent does becomes part of the trace.

    Args:
        caller: the agent.
        domain: the domain of the task.
        task: what the agent is run on; it is given neither the expected answer nor the row.
        toolbox: a fresh one for this task; it is closed at the end.
        clock: seconds from any fixed point.
        unavailable: tells whether what the agent raised says that its provider was not there.
        timed_out: tells whether it was raised from outside, by whoever limits the time of a run.
        capture: whether what the agent writes is only kept, or passed on to the terminal too.
        settle: returns what an awaitable comes to, and any other value as it is.
        wrap: gives what is entered around the agent, in the context of the run; what it raises
            counts as raised by the agent.

    Raises:
        KeyboardInterrupt: the user has interrupted, also if the agent swallowed it. One that
            the agent itself raised is an error of the agent.
    """
    started, process = clock(), getpid()

    def call() -> object:
        toolbox.log.enter()
        return settle(caller.call(domain, task, toolbox.tools))

    def attempt() -> object:
        with captured(toolbox.output, capture):
            return call() if wrap is None else _wrapped(wrap, call)

    notes: list[str] = []
    value: object = None
    problem: Problem | None = None
    ending = Ending.RETURNED
    interrupt = KeyboardInterrupt()
    raised: list[BaseException] = []
    with watched_interrupts() as interrupts:
        try:
            # What an agent sets in its context is gone with the run.
            value = copy_context().run(attempt)
            end_child_of(process)
            toolbox.log.await_last(LAST_CALLS)
        except BaseException as error:  # noqa: BLE001 - an agent's SystemExit ends no session
            # Described when it is handled no more: a destructor that raises meanwhile would have
            # this one as its context, and Python would print it with all our frames.
            raised.append(error)
        finally:
            end_child_of(process)
            duration = clock() - started
            toolbox.close()
        if raised:
            # Taken out: its traceback has this frame, which would hold it until a collection.
            interrupt = raised[0] if is_of(raised[0], KeyboardInterrupt) else interrupt
            problem = problem_of(raised[0], notes)
            ending = _ending(raised.pop(), unavailable, timed_out)
    if interrupts.seen:
        # As it was raised, so that pytest can say where the agent was.
        raise interrupt
    returned = None if problem else read_returned(value)
    close_coroutine(value)
    if toolbox.log.over_limit:
        ending = Ending.OVER_LIMIT
    return _trace(toolbox, ending, returned, problem, notes=notes, duration=duration)


def _wrapped(
    wrap: Callable[[], AbstractContextManager[object]], call: Callable[[], object]
) -> object:
    raised: BaseException | None = None
    value: object = None
    with wrap():
        try:
            value = call()
        except BaseException as error:
            raised = error
            raise
    if raised is not None:
        # A wrapper that swallows what the agent raised would make a failure look like silence.
        raise raised
    return value


def interrupted_trace(
    toolbox: Toolbox | None, *, duration: float, notes: Sequence[str] = ()
) -> Trace:
    """Close the toolbox of a run that is ended from outside, and tell what was seen until then.

    It is for whoever limits the time of runs; what the agent does afterwards is not recorded. A
    toolbox that is not there was not opened yet.
    """
    if toolbox is None:
        return Trace(ending=Ending.TIMED_OUT, duration=duration, notes=tuple(notes))
    toolbox.close()
    ending = Ending.OVER_LIMIT if toolbox.log.over_limit else Ending.TIMED_OUT
    return _trace(toolbox, ending, None, None, notes=notes, duration=duration)


def _trace(
    toolbox: Toolbox,
    ending: Ending,
    returned: Returned | None,
    problem: Problem | None,
    *,
    notes: Sequence[str],
    duration: float,
) -> Trace:
    told = returned or Returned(kind=ReturnedKind.NOTHING)
    if toolbox.away is not None:
        ending, problem = Ending.UNAVAILABLE, toolbox.away
    return Trace(
        ending=ending,
        returned=returned if ending is Ending.RETURNED else None,
        problem=problem,
        calls=toolbox.log.calls,
        approvals=toolbox.told.approvals,
        usage=toolbox.told.consumed(told.usage),
        messages=toolbox.told.messages or told.messages,
        output=toolbox.output.text,
        duration=duration,
        notes=tuple(dict.fromkeys((*toolbox.notes, *told.notes, *notes))),
        state=toolbox.state,
    )


def _ending(
    error: BaseException,
    unavailable: Callable[[BaseException], bool],
    timed_out: Callable[[BaseException], bool],
) -> Ending:
    if timed_out(error):
        return Ending.TIMED_OUT
    if is_of(error, AgentDiedError):
        return Ending.PROCESS_DIED
    if is_of(error, TurnLimitError):
        return Ending.OVER_LIMIT
    return Ending.UNAVAILABLE if unavailable(error) else Ending.RAISED
