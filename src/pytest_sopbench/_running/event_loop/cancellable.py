"""Settle what one run's agent returned on the loop of all runs, so that it can be cancelled."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from os import getpid
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_sopbench._running.observing.forked import end_child_of

from .blocking import close_coroutine
from .shared_loop import SharedLoop

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from .loop_thread import LoopThread

_End: TypeAlias = "SimpleQueue[tuple[object, BaseException | None]]"
"""What a run's agent came to; the first entry counts.

It is one step for whoever puts and for whoever gets. A `Future` is written in Python: where the
memory is used up, it may be left locked for good.
"""

GRACE: Final = 1.0
"""Seconds that a cancelled async agent has to end, before it counts as abandoned."""


class CancellableAwait:
    """The `settle` of one run: called in the run's thread, cancelled from any other.

    The run's thread only waits meanwhile, and is free as soon as the run is cancelled, also where
    the agent does not let itself be cancelled.

    Args:
        shared: gives the loop.
        name: what the run is called in what others are told of it.
    """

    def __init__(self, shared: SharedLoop, name: str = "") -> None:
        self.name: Final = name
        self._shared = shared
        self._lock = Lock()
        # Made when it is needed: most agents return a value.
        self._end: _End | None = None
        self._home: LoopThread | None = None
        self._begin: Callable[[LoopThread, AbstractEventLoop], None] | None = None
        self._task: Task[None] | None = None
        self._cancelled = False
        self._heard = False
        self.is_lost = False

    @property
    def home(self) -> LoopThread | None:
        """The loop on which the agent is, or on which it waits to begin."""
        return self._home

    @property
    def waits(self) -> bool:
        """Whether the loop has not come to the agent yet."""
        return self._home is not None and self._task is None

    def __call__(self, value: object) -> object:
        """Return `value`, or what it comes to where it is awaitable."""
        if not inspect.isawaitable(value):
            return value
        from asyncio import CancelledError  # noqa: PLC0415 - only where an agent is async

        from .loop_thread import OWNER  # noqa: PLC0415 - only where an agent is async

        context = copy_context()
        context.run(OWNER.set, self)
        end: _End = SimpleQueue()

        def begin(home: LoopThread, loop: AbstractEventLoop) -> None:
            with self._lock:
                if self._home is not home or self._task is not None:
                    # It was moved to another loop while this one was blocked.
                    return
                if not self._cancelled:
                    self._task = self._task_of(loop, value, end, context)
                if self._task is None:
                    close_coroutine(value)

        with self._lock:
            if not self._cancelled:
                self._end, self._begin = end, begin
                self._home = self._shared.current()
        if self._home is None:
            close_coroutine(value)
            raise CancelledError
        self._home.call(partial(begin, self._home))
        return _result(end)

    def move(self) -> bool:
        """Begin on the loop that is given now, where the old one has not come to it.

        Raises:
            RuntimeError, MemoryError: there is no other loop, and no thread for one.
        """
        with self._lock:
            if not self.waits or self._cancelled or self._begin is None:
                return False
            home = self._home = self._shared.current()
        home.call(partial(self._begin, home))
        return True

    def cancel(self) -> bool:
        """End the run's waiting; tell whether there was anything to be cancelled."""
        with self._lock:
            self._cancelled = True
        if self._home is None or self._end is None:
            return False
        from asyncio import CancelledError  # noqa: PLC0415 - what is awaited here has loaded it

        self._end.put((None, CancelledError()))
        with suppress(RuntimeError):
            self._home.call(self._cancel)
        return True

    def lose(self) -> None:
        """End the run's waiting, since its loop is blocked for good by somebody else."""
        self.is_lost = True
        self.cancel()

    def has_ended(self) -> bool:
        """Tell, some time after `cancel`, whether the agent has ended; mend a blocked loop."""
        if not self._heard and self._home is not None:
            self._shared.replace(self._home)
            return False
        return self._task is None or self._task.done()

    def _cancel(self, _loop: AbstractEventLoop) -> None:
        self._heard = True
        if self._task is not None:
            self._task.cancel()

    def _task_of(
        self, loop: AbstractEventLoop, value: Awaitable[object], end: _End, context: Context
    ) -> Task[None] | None:
        try:
            task = loop.create_task(self._wait(value, end), context=context)
            task.add_done_callback(partial(_at_last, end))
        except BaseException as error:  # noqa: BLE001 - else its run would never end
            end.put((None, error))
            return None
        return task

    async def _wait(self, value: Awaitable[object], end: _End) -> None:
        # Whatever it is, it belongs to the run: a task would pass an exit on to the loop.
        process = getpid()
        try:
            result = await value
        except BaseException as error:  # noqa: BLE001 - an agent's SystemExit ends no session
            end_child_of(process)
            end.put((None, error))
        else:
            end_child_of(process)
            end.put((result, None))


def _result(end: _End) -> object:
    """Wait for the first end that is told, and return or raise what it brings."""
    value, error = end.get()
    if error is None:
        return value
    try:
        raise error
    finally:
        # Else the error holds this frame, and the frame the error.
        del error


def _at_last(end: _End, _task: Task[None]) -> None:
    """Tell of a task that was ended before its first step, and so could not tell it itself."""
    from asyncio import CancelledError  # noqa: PLC0415 - what is awaited here has loaded it

    end.put((None, CancelledError()))
