"""Settle what one run's agent returned on the loop of all runs, so that it can be cancelled."""

from __future__ import annotations

import inspect
from asyncio import AbstractEventLoop, CancelledError, Task
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from os import getpid
from threading import Lock
from typing import Final

from pytest_sopbench._running.observing.forked import end_child_of

from .blocking import close_coroutine
from .loop_thread import OWNER, LoopThread
from .shared_loop import SharedLoop

GRACE: Final = 1.0
"""Seconds that a cancelled async agent has to end, before it counts as abandoned."""


class Settling:
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
        self._future: Future[object] | None = None
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
        context = copy_context()
        context.run(OWNER.set, self)
        future: Future[object] = Future()

        def begin(home: LoopThread, loop: AbstractEventLoop) -> None:
            with self._lock:
                if self._home is not home or self._task is not None:
                    # It was moved to another loop while this one was blocked.
                    return
                if not self._cancelled:
                    self._task = loop.create_task(self._wait(value, future), context=context)
                    return
            close_coroutine(value)

        with self._lock:
            if not self._cancelled:
                self._future, self._begin = future, begin
                self._home = self._shared.current()
        if self._home is None:
            close_coroutine(value)
            raise CancelledError
        self._home.call(partial(begin, self._home))
        return future.result()

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
        if self._home is None or self._future is None:
            return False
        with suppress(InvalidStateError):
            self._future.set_exception(CancelledError())
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

    async def _wait(self, value: Awaitable[object], future: Future[object]) -> None:
        # Whatever it is, it belongs to the run: a task would pass an exit on to the loop.
        process = getpid()
        try:
            result = await value
        except BaseException as error:  # noqa: BLE001 - an agent's SystemExit ends no session
            end_child_of(process)
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            end_child_of(process)
            with suppress(InvalidStateError):
                future.set_result(result)
