"""Which requests a seam is asked about: each once, and none that the project leaves out.

A library may send its requests by another one: requests and botocore by urllib3, some transports of
httpx by aiohttp. The upper one is what the agent speaks to, so the seam of the lower one looks away
while the upper one sends.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from pytest_sopbench._replay.tape.current import current_tape
from pytest_sopbench._replay.tape.exchange import Tape

from .left_out import Credentials, is_for_credentials, is_left_out

_BENEATH: ContextVar[bool] = ContextVar("sop_beneath_a_seam", default=False)


@contextmanager
def beneath() -> Generator[None]:
    """Send a request that a seam above has already seen."""
    token = _BENEATH.set(True)
    try:
        yield
    finally:
        _BENEATH.reset(token)


def tape_for(url: str) -> Tape | None:
    """Return the tape to ask about a request, `None` where a seam has no business with it."""
    if _BENEATH.get():
        return None
    tape = current_tape()
    if tape is None or is_left_out(url):
        return None
    return Credentials(tape) if is_for_credentials(url) else tape
