"""Wait for async work from sync code, and for sync work from async code.

Threads are daemons and never of a pool: a pool waits for its threads when the interpreter ends,
so one tool that hangs would keep the whole session.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from types import CoroutineType
from typing import TypeVar, cast

from pytest_sopbench._running.threads.starting import start

T = TypeVar("T")


def run_blocking(value: object) -> object:
    """Return `value`, or what it comes to where it is awaitable.

    An event loop is made for it and closed after it, in this thread; where this thread already
    has a running one (an agent started from an async test), in a thread of its own.
    """
    if not inspect.isawaitable(value):
        return value
    import asyncio  # noqa: PLC0415 - only where something is awaited

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(value)
    return in_thread(lambda: _run(value)).result()


def in_thread(work: Callable[[], T]) -> Future[T]:
    """Start `work` in a daemon thread which carries a copy of this context."""
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        # Said to run, the future cannot be cancelled under a work that has begun.
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - it belongs to the one who waits
            future.set_exception(error)

    start(Thread(target=run, daemon=True, name="sopbench-thread"))
    return future


async def offloaded(work: Callable[[], T]) -> T:
    """Do `work` in a thread while the event loop goes on."""
    import asyncio  # noqa: PLC0415 - only where something is awaited

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        # Another async library's loop: correct, but its loop waits.
        return work()
    return await asyncio.wrap_future(in_thread(work))


async def others_first() -> None:
    """Let the event loop start what was made together with this, where there is one of asyncio."""
    import asyncio  # noqa: PLC0415 - only where something is awaited

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    await asyncio.sleep(0)


def _run(value: Awaitable[object]) -> object:
    import asyncio  # noqa: PLC0415 - only where something is awaited

    async def wait() -> object:
        return await value

    # `asyncio.run` would leave this thread without a current loop for whoever comes next.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        return runner.run(wait())


def close_coroutine(value: object) -> None:
    """Close a coroutine that is not awaited any more, which Python would warn of."""
    # Of its type, since a value may refuse to tell its class.
    if issubclass(type(value), CoroutineType):
        cast("Coroutine[object, object, object]", value).close()
