"""Start a thread, or say that it cannot be started; wait for no thread that never begins.

An agent shares our process. What it puts in the place of `Thread.start` is for its own threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, Final

PATIENCE: Final = 5.0
"""Seconds after which a thread counts as one that will never begin."""

_START: Final[Callable[[Thread], None]] = Thread.start
_HOOKS: Final = ("_trace_hook", "_profile_hook")
"""What `threading.settrace` and `threading.setprofile` set, for all threads that begin after it."""

_working: Final[dict[str, object]] = {"_trace_hook": None, "_profile_hook": None}
"""Those under which a thread is known to come to its work."""


class _Begun(Event):
    """What `Thread.start` waits for, without an end of its own."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(PATIENCE if timeout is None else timeout)


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        RuntimeError, MemoryError: the system gives no more threads, or no memory for one.
    """
    _put_back_hooks()
    if not _begin(thread):
        msg = "the new thread did not begin"
        raise RuntimeError(msg)


def _begin(thread: Thread) -> bool:
    # A thread that the system has given may die for want of memory before it says that it has
    # begun. Python would wait for it for ever, and the one who starts it holds locks.
    begun = vars(thread)["_started"] = _Begun()
    _START(thread)
    return begun.is_set()


def _put_back_hooks() -> None:
    """Put back hooks of threads under which none would come to its work; others are left alone.

    A debugger, or what measures coverage, has hooks that work.
    """
    there = {name: getattr(threading, name, None) for name in _HOOKS}
    if all(there[name] is _working[name] for name in _HOOKS):
        return
    if _reaches_its_work():
        _working.update(there)
        return
    for name in _HOOKS:
        setattr(threading, name, _working[name])


def _reaches_its_work() -> bool:
    reached = Event()
    thread: Any = Thread(target=reached.set, daemon=True, name="sopbench-probe")
    # What the hook raises there is nobody's business.
    thread._invoke_excepthook = _say_nothing  # noqa: SLF001 - Python has no other way
    if _begin(thread):
        thread.join(PATIENCE)
    return reached.is_set()


def _say_nothing(_: object) -> None:
    return None
