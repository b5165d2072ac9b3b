"""Tell a Ctrl-C of the user from a `KeyboardInterrupt` that an agent raised, or hold it back.

Both are the same exception. Only the signal differs, so while a run is in the main thread (the
only one that signals reach) the handler of SIGINT is asked to note that it was called. In other
threads a `KeyboardInterrupt` can only be the agent's own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupts:
    """Whether the user has interrupted since the watch began."""

    def __init__(self) -> None:
        self.seen = False


@contextmanager
def watched_interrupts() -> Generator[Interrupts, None, None]:
    """Note SIGINT while it is handled as before; the handler is put back at the end."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = signal.getsignal(signal.SIGINT)
    # Where no Python function handles the signal, it never becomes a KeyboardInterrupt.
    if not callable(before):
        yield interrupts
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.seen = True
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        # An agent that has set a handler of its own keeps it.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


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
        if threading.current_thread() is not threading.main_thread() or not callable(before):
            yield
            return
        self._before = before
        signal.signal(signal.SIGINT, self._handle)
        try:
            yield
        finally:
            if signal.getsignal(signal.SIGINT) == self._handle:
                signal.signal(signal.SIGINT, before)

    @contextmanager
    def holding(self) -> Generator[None, None, None]:
        """Let a Ctrl-C come when the block is over."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
            if self._held:
                frame = self._held.pop()
                self._held.clear()
                self._handle(int(signal.SIGINT), frame)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._holding:
            self._held.append(frame)
        elif self._before is not None:
            self._before(number, frame)
