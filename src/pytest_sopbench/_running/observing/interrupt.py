"""Tell a Ctrl-C of the user from a `KeyboardInterrupt` that an agent raised, or hold it back.

Both are the same exception. Only the signal differs, so while a run is in the main thread (the
only one that signals reach) the handler of SIGINT is asked to note that it was called. In other
threads a `KeyboardInterrupt` can only be the agent's own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from types import FrameType
from typing import Any, Final

# Taken at import: an agent may put another function into its place.
_current_thread, _main_thread = threading.current_thread, threading.main_thread
# As `signal.getsignal`, which looks besides for a member of an enumeration, that no function is:
# for a run in the main thread it took longer than judging its answer.
_handler_of: Final[Callable[[int], object]] = import_module("_signal").getsignal


class Interrupts:
    """Whether the user has interrupted since the watch began."""

    def __init__(self) -> None:
        self.seen = False
        self._handler: Callable[[int, FrameType | None], Any] | None = None

    @property
    def is_watching(self) -> bool:
        """Whether nobody has put a handler of his own into the place of this one."""
        return self._handler is not None and _handler_of(signal.SIGINT) is self._handler

    @contextmanager
    def watching(self) -> Generator[Interrupts, None, None]:
        """Note that SIGINT came, in the thread that it reaches."""
        before = signal.getsignal(signal.SIGINT)
        # Where no Python function handles the signal, it never becomes a KeyboardInterrupt.
        if _current_thread() is not _main_thread() or not callable(before):
            yield self
            return

        def note(number: int, frame: FrameType | None) -> None:
            __tracebackhide__ = True
            self.seen = True
            before(number, frame)

        self._handler = note
        signal.signal(signal.SIGINT, note)
        try:
            yield self
        finally:
            # An agent that has set a handler of its own keeps it.
            if self.is_watching:
                signal.signal(signal.SIGINT, before)


_standing: Interrupts | None = None
"""The watch that lasts longer than a run, if there is one."""


@contextmanager
def standing_watch() -> Generator[None, None, None]:
    """Watch once for all runs inside: exchanging the handler for each costs more than the run."""
    global _standing  # noqa: PLW0603 - a process has one handler of a signal
    before, interrupts = _standing, Interrupts()
    with interrupts.watching():
        _standing = interrupts
        try:
            yield
        finally:
            _standing = before


def watched_interrupts() -> AbstractContextManager[Interrupts]:
    """Note SIGINT while it is handled as before; the handler is put back at the end."""
    if _current_thread() is not _main_thread():
        return nullcontext(Interrupts())
    if _standing is not None and _standing.is_watching:
        _standing.seen = False
        return nullcontext(_standing)
    return Interrupts().watching()


class Deferral:
    """Can hold a Ctrl-C back until the end of what must not be left half done.

    The handler is exchanged once, since exchanging it costs more than what it guards.
    """

    def __init__(self) -> None:
        self._before: Callable[[int, FrameType | None], Any] | None = None
        self._holding = False
        self._held: list[FrameType | None] = []

    @contextmanager
    def installed(self) -> Generator[None, None, None]:
        """Take Ctrl-C over, where this is the thread that it reaches."""
        before = signal.getsignal(signal.SIGINT)
        if _current_thread() is not _main_thread() or not callable(before):
            yield
            return
        self._before = before
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) == self._handle:
                signal.signal(signal.SIGINT, before)

    def __enter__(self) -> None:
        """Let a Ctrl-C come when the block is over."""
        self._holding = True

    def __exit__(self, *_: object) -> None:
        self._holding = False
        if self._held:
            frame = self._held.pop()
            self._held.clear()
            self._handle(int(signal.SIGINT), frame)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # pytest says where the user has interrupted, which is not here.
        __tracebackhide__ = True
        if self._holding:
            self._held.append(frame)
        elif self._before is not None:
            self._before(number, frame)
