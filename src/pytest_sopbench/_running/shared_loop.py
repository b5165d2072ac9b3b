"""One event loop for the async agents of all runs, in a thread of its own.

The clients of providers belong to the loop on which they were first used, so runs that share a
client must share the loop. Where an agent blocks the loop for good, the next runs get a new one.
"""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Lock, Thread
from typing import Any, TypeVar

from .awaiting import in_thread

T = TypeVar("T")


class LoopThread:
    """An event loop that is served by a daemon thread until it is stopped."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(_DaemonThreads())
        self._stopping = False
        self._thread = Thread(target=self._serve, daemon=True, name="sopbench-loop")
        self._thread.start()

    def call(self, action: Callable[[AbstractEventLoop], object]) -> None:
        """Do `action` on the loop.

        Raises:
            RuntimeError: the loop is closed.
        """
        self._loop.call_soon_threadsafe(action, self._loop)

    def stop(self, grace: float) -> None:
        """Cancel what is on the loop and end it; wait for that no longer than `grace` seconds."""
        self._stopping = True
        with suppress(RuntimeError):
            self.call(lambda loop: loop.stop())
        self._thread.join(grace)

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
            # One turn delivers the cancelling; who does not end with it, ends with the loop.
            loop.run_until_complete(_some_turns())
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class SharedLoop:
    """Gives the loop of all runs; it is made when the first awaitable comes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._current: LoopThread | None = None
        self._blocked: list[LoopThread] = []

    def current(self) -> LoopThread:
        with self._lock:
            if self._current is None:
                self._current = LoopThread()
            return self._current

    def replace(self, blocked: LoopThread) -> None:
        """Give a new loop from now on, if this one is still the one that is given."""
        with self._lock:
            if self._current is blocked:
                self._current = None
                # Other runs on it may go on, once it is free again.
                self._blocked.append(blocked)

    def stop(self, grace: float) -> None:
        """End the loop; wait for that no longer than `grace` seconds."""
        with self._lock:
            current, self._current = self._current, None
        for blocked in self._blocked:
            blocked.stop(0.0)
        if current is not None:
            current.stop(grace)


async def _some_turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class _DaemonThreads(ThreadPoolExecutor):
    """Serves `asyncio.to_thread`; a pool only by name, as asyncio accepts nothing else.

    A real one would wait for a hanging thread when the interpreter ends, and its few threads
    would be shared by all runs in flight.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        return in_thread(lambda: fn(*args, **kwargs))
