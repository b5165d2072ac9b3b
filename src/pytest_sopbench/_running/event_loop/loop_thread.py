"""An event loop in a thread of its own, which tells whether it goes on, and who holds it."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, ContextVar
from threading import Event, Thread
from typing import Any, Final, TypeVar

from pytest_sopbench._running.threads.latch import OneShotEvent
from pytest_sopbench._running.threads.starting import start

from .blocking import in_thread

T = TypeVar("T")

OWNER: Final[ContextVar[object]] = ContextVar("sopbench_owner", default=None)
"""To whom the tasks belong that are made in this context."""


class LoopThread:
    """An event loop that is served by a daemon thread until it is stopped.

    Raises:
        RuntimeError, MemoryError: the system gives no more threads.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._loop.set_task_factory(_owned)
        self._stopping = False
        self._answered = True
        self._ended = OneShotEvent()
        self._thread = Thread(target=self._serve, daemon=True, name="sopbench-loop")
        try:
            start(self._thread)
        except BaseException:
            self._loop.close()
            raise

    def call(self, action: Callable[[AbstractEventLoop], object]) -> None:
        """Do `action` on the loop.

        Raises:
            RuntimeError: the loop is closed.
        """
        self._loop.call_soon_threadsafe(action, self._loop)

    def answers(self) -> bool:
        """Tell whether the loop has gone on since this was asked last, and ask it again."""
        if not self._answered:
            return False
        self._answered = False
        with suppress(RuntimeError):
            self.call(self._answer)
        return True

    def holder(self) -> object:
        """Return to whom the task belongs that the loop is at; `None` where that is unknown."""
        return getattr(asyncio.current_task(self._loop), "owner", None)

    def stop(self, grace: float) -> None:
        """Cancel what is on the loop and end it; wait for that no longer than `grace` seconds."""
        self._stopping = True
        with suppress(RuntimeError):
            self.call(lambda loop: loop.stop())
        self._ended.wait(grace)

    def _answer(self, _loop: AbstractEventLoop) -> None:
        self._answered = True

    def _serve(self) -> None:
        loop = self._loop
        asyncio.set_event_loop(loop)
        while not self._stopping:
            # A task that an agent has started, and that exits, would end the loop of all runs.
            with suppress(BaseException):
                loop.run_forever()
        loop.set_exception_handler(lambda _loop, _context: None)
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        with suppress(BaseException):
            # One turn delivers the cancelling.
            loop.run_until_complete(_some_turns())
            loop.run_until_complete(loop.shutdown_asyncgens())
        stuck = {task for task in tasks if not task.done()}
        if not stuck:
            loop.close()
        self._ended.set()
        if stuck:
            _keep_for_good(stuck)


class _OwnedTask(asyncio.Task[Any]):
    """A task that knows to whom it belongs, also where an agent's own task has made it."""

    owner: object = None


def _owned(loop: AbstractEventLoop, coroutine: Any, **given: Any) -> Any:
    task = _OwnedTask(coroutine, loop=loop, **given)
    context: Context | None = given.get("context")
    task.owner = OWNER.get() if context is None else context.get(OWNER)
    return task


async def _some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def _keep_for_good(stuck: set[asyncio.Task[Any]]) -> None:
    """Hold on to tasks that have swallowed their end, until the process is gone.

    A coroutine that is forgotten is closed by whichever thread forgets it. One that goes on
    whatever is raised in it would then go on in the main thread, at the end of the session.
    """
    while stuck:
        Event().wait()


class _DaemonThreads(ThreadPoolExecutor):
    """Serves `asyncio.to_thread`; a pool only by name, as asyncio accepts nothing else.

    A real one would wait for a hanging thread when the interpreter ends, and its few threads
    would be shared by all runs in flight.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return in_thread(lambda: fn(*args, **kwargs))
