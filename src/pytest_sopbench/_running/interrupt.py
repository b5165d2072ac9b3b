"""Tell a Ctrl-C of the user from a `KeyboardInterrupt` that an agent raised, or hold it back.

Both are the same exception. Only the signal differs, so while a run is in the main thread (the
only one that signals reach) the handler of SIGINT is asked to note that it was called. In other
threads a `KeyboardInterrupt` can only be the agent's own.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Whether the user has interrupted since the watch began."""

    def __init__(self) -> None:
        self.seen = False


@contextmanager
def watched_interrupts() -> Generator[Interrupts, None, None]:
    """Note SIGINT while it is handled as before; the handler is put back at the end."""
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    # Where no Python function handles the signal, it never becomes a KeyboardInterrupt.
    if threading.current_thread() is not threading.main_thread() or not callable(before):
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


@contextmanager
def deferred_interrupts() -> Generator[None, None, None]:
    """Hold a Ctrl-C back until the end of what must not be left half done."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    held: list[FrameType | None] = []
    signal.signal(signal.SIGINT, lambda _, frame: held.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            before(signal.SIGINT, held[0])
