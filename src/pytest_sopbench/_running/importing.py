"""Import somebody else's code within a time limit, and say so if it takes long.

It is imported in the main thread, as code may ask for that when it is imported. When its time is
over, a signal ends it, as the user's Ctrl-C would. The promise is that every session ends; without
this `tests/hooks/test_import_limit.py` hangs.
"""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Final

from pytest_sopbench._core.values.text import as_seconds
from pytest_sopbench._running.observing import is_installed, is_of, is_ours

PATIENCE: Final = 10.0
"""Seconds after which a line says what is being imported."""

_GOODBYE: Final = 1.0
"""Seconds for the thread that watches an import to end with it."""

Say = Callable[[str], None]


class SlowImportError(Exception):
    """An import was ended as its time was over; the text says where it was."""


@contextmanager
def limited_import(
    what: str, seconds: float | None, say: Say, patience: float = PATIENCE
) -> Generator[None]:
    """Bound the time of an import, which is made inside.

    Args:
        what: is imported.
        seconds: how long it may take; `None` is no limit.
        say: shows the user a line, from any thread.
        patience: seconds after which the user is told what takes so long.

    Raises:
        SlowImportError: it took too long. It is raised in the main thread only.
    """
    ended, expired = Event(), Event()

    def watch() -> None:
        tells = seconds is None or patience < seconds
        if tells and not ended.wait(patience):
            say(f"sop: still importing {what} after {as_seconds(patience)}")
        if seconds is not None and not ended.wait(seconds - (patience if tells else 0.0)):
            expired.set()
            _interrupt_main()

    watcher = Thread(target=watch, daemon=True)
    # Without a thread there is no limit, and the import may go well all the same.
    with suppress(RuntimeError, MemoryError):
        watcher.start()
    try:
        yield
    except KeyboardInterrupt as error:
        at = place_of(error)
        where = f" at {at}" if at else ""
        if not expired.is_set():
            say(f"sop: interrupted while importing {what}{where}")
            raise
        msg = f"took longer than {as_seconds(seconds or 0.0)}{where}"
        raise SlowImportError(msg) from None
    finally:
        ended.set()
        # A program that runs sessions has its threads back after each; one that was not started, or
        # whose line nobody takes, is not waited for.
        if watcher.ident is not None:
            watcher.join(_GOODBYE)


def place_of(error: BaseException) -> str:
    """Return file and line of the last frame that the user wrote."""
    if is_of(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not is_ours(f.filename)]
    own = [frame for frame in frames if not is_installed(frame.filename)]
    last = (own or frames)[-1:]
    return f"{last[0].filename}:{last[0].lineno}" if last else ""


def _interrupt_main() -> None:
    ident = threading.main_thread().ident
    kill = getattr(signal, "pthread_kill", None)
    if kill is None or ident is None:
        signal.raise_signal(signal.SIGINT)
    else:
        # Also a call of the system that it waits in comes back then.
        kill(ident, signal.SIGINT)
