"""The event loop of all runs, at its end."""

from __future__ import annotations

import asyncio
import gc
from threading import Event

from pytest_sopbench._running.event_loop import LoopThread

HANG_GUARD = 120.0


def test_a_task_that_swallows_its_end_is_never_closed() -> None:
    """Whoever closes it would go on with it for good: at a session's end, the main thread."""
    raised: list[type[BaseException]] = []
    began = Event()

    async def stubborn() -> None:
        while True:
            began.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError as error:
                raised.append(type(error))
            except BaseException as error:
                raised.append(type(error))
                raise

    thread = LoopThread()
    thread.call(lambda loop: loop.create_task(stubborn()))
    assert began.wait(HANG_GUARD)

    thread.stop(HANG_GUARD)
    gc.collect()

    assert [asyncio.CancelledError] == raised


def test_a_task_that_ends_when_it_is_told_does_so() -> None:
    ended = Event()
    began = Event()

    async def obedient() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    thread = LoopThread()
    thread.call(lambda loop: loop.create_task(obedient()))
    assert began.wait(HANG_GUARD)

    thread.stop(HANG_GUARD)

    assert ended.is_set()
