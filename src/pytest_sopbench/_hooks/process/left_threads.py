"""What agents leave behind holds the process, and so the session, no longer than a moment.

Python waits for every thread that is no daemon, for all that a pool still has to do, and for
whatever was registered with `atexit`, before it ends. An agent that was given no time limit, or
whose client has a thread of its own, would keep a session from ending that was saved long ago. The
promise is that every session ends; without this `tests/hooks/test_left_threads.py` hangs.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any, Final

import pytest

from pytest_sopbench._core.hiding import harmless

PATIENCE: Final = 10.0
"""Seconds that Python may wait for such threads, as for a client that sends its last words."""

LAST: float = 60.0
"""Seconds that the process may go on once Python has begun to end it, whatever holds it."""

_SHOWN: Final = 3

_register: Callable[..., object] | None = getattr(threading, "_register_atexit", None)
"""Has a function called when Python begins to wait for threads; it has no public name."""


class LeftThreads:
    """Ends the process in spite of threads that are left, with the status of its session."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        """Remember what takes out of the names of threads what must not be told."""
        self._mask = mask
        self._session: pytest.Session | None = None

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        early: Any = config.pluginmanager.get_plugin("sop-end-guard")
        is_own = early is not None and early.exit_calls is not None
        # A program that calls pytest lives on, and xdist ends its workers itself.
        if self._session is None or not is_own:
            return
        if _register is None:
            # Nothing would tell a process that ends from a program that goes on.
            return
        waits, goes_on = Event(), Event()
        _register(waits.set)
        # Called once Python has waited, and goes on to end.
        atexit.register(goes_on.set)
        act = partial(self.end, waits, goes_on, last=LAST)
        # Where no thread is left to be had, nobody ends a process that somebody holds.
        with suppress(RuntimeError):
            Thread(target=act, daemon=True, name="sopbench-end").start()

    def end(
        self, waits: Event, goes_on: Event, patience: float = PATIENCE, last: float = LAST
    ) -> None:
        """Wait until Python `waits` for threads, then as long as that may last; then leave.

        Args:
            waits: is set when Python begins to wait.
            goes_on: is set where the threads have ended, before what is registered with `atexit`.
            patience: seconds that Python may wait for threads.
            last: seconds after which the process is left, whatever holds it.
        """
        # Until then it may be a program that has called pytest and goes on, whatever its arguments.
        waits.wait()
        deadline = time.monotonic() + last
        if not goes_on.wait(min(patience, deadline - time.monotonic())):
            names = harmless(", ".join(repr(one.name) for one in left_threads()[:_SHOWN]))
            why = f"left without waiting for the threads that still run: {names}"
            self._leave(why, _last_calls, patience)
        else:
            # Nothing sets it: the process ends, or does not.
            Event().wait(max(0.0, deadline - time.monotonic()))
            why = "left without waiting for what was registered with atexit, which does not end"
            self._leave(why, _flush, patience)

    def _leave(self, why: str, last_calls: Callable[[], None], patience: float) -> None:
        os.write(2, self._mask(f"sop: {why}\n").encode(errors="replace"))
        last = Thread(target=last_calls, daemon=True, name="sopbench-end")
        last.start()
        last.join(patience)
        # Past the guard of the process, which lets through what the session has come to.
        os._exit(0 if self._session is None else int(self._session.exitstatus))


def left_threads() -> list[Thread]:
    """Return the threads for which Python waits before it ends."""
    main = threading.main_thread()
    return [one for one in threading.enumerate() if one is not main and not one.daemon]


def _last_calls() -> None:
    """Do what Python does before it ends, such as saving what coverage has measured."""
    run: Any = getattr(atexit, "_run_exitfuncs", None)
    if run is not None:
        run()
    _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
