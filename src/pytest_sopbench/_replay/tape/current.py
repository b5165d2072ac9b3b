"""The tape of the run in progress, found by its context; and the one for what is outside any run.

Threads see the tape where they were given the context of the run: `asyncio.to_thread`, tasks of an
event loop, `contextvars.copy_context().run`. A thread that starts with an empty context belongs to
no run that anybody could know. It meets the tape of the outside, never that of another run.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from .exchange import Tape

CURRENT: ContextVar[Tape | None] = ContextVar("sop_tape", default=None)
_OUTSIDE: list[Tape] = []
"""The last one holds. A global, as threads that lost their context are reached in no other way."""


def active() -> bool:
    """Tell whether traffic in this process is recorded or replayed."""
    return bool(_OUTSIDE)


def current_tape() -> Tape | None:
    """Return the tape to ask, `None` where nothing is recorded or replayed in this process."""
    tape = CURRENT.get()
    if tape is None and _OUTSIDE:
        return _OUTSIDE[-1]
    return tape


@contextmanager
def switched_on(outside: Tape) -> Generator[None]:
    """Record or replay in this process; `outside` answers what belongs to no run."""
    _OUTSIDE.append(outside)
    try:
        yield
    finally:
        _OUTSIDE.remove(outside)


@contextmanager
def on_tape(tape: Tape) -> Generator[None]:
    """Have what is sent in this context recorded to, or served from, a tape."""
    token = CURRENT.set(tape)
    try:
        yield
    finally:
        CURRENT.reset(token)
