"""Settle what one run's agent returned on the loop of all runs, so that it can be cancelled."""

from __future__ import annotations

import inspect
from asyncio import AbstractEventLoop, CancelledError, Task
from collections.abc import Awaitable, Coroutine
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from contextvars import copy_context
from threading import Lock
from typing import Final, cast

from .shared_loop import LoopThread, SharedLoop

GRACE: Final = 1.0
"""Seconds that a cancelled async agent has to end, before it counts as abandoned."""


class Settling:
    """The `settle` of one run: called in the run's thread, cancelled from any other.

    The run's thread only waits meanwhile, and is free as soon as the run is cancelled, also where
    the agent does not let itself be cancelled.
    """

    def __init__(self, shared: SharedLoop) -> None:
        self._shared = shared
        self._lock = Lock()
        # Made when it is needed: most agents return a value.
        self._future: Future[object] | None = None
        self._home: LoopThread | None = None
        self._task: Task[None] | None = None
        self._cancelled = False
        self._heard = False

    def __call__(self, value: object) -> object:
        """Return `value`, or what it comes to where it is awaitable."""
        if not inspect.isawaitable(value):
            return value
        context = copy_context()

        def begin(loop: AbstractEventLoop) -> None:
            with self._lock:
                if not self._cancelled:
                    self._task = loop.create_task(self._wait(value, future), context=context)
                    return
            _close(value)

        future: Future[object] = Future()
        with self._lock:
            if not self._cancelled:
                self._future = future
                self._home = self._shared.current()
        if self._home is None:
            _close(value)
            raise CancelledError
        self._home.call(begin)
        return future.result()

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
        try:
            result = await value
        except BaseException as error:  # noqa: BLE001 - an agent's SystemExit ends no session
            with suppress(InvalidStateError):
                future.set_exception(error)
        else:
            with suppress(InvalidStateError):
                future.set_result(result)


def _close(value: object) -> None:
    """Close a coroutine that is not awaited any more, which Python would warn of."""
    if inspect.iscoroutine(value):
        cast("Coroutine[object, object, object]", value).close()
