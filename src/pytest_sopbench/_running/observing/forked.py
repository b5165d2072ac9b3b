"""End a child of the process that comes back from an agent.

An agent that forks and lets its child return would have two processes go on with one session.
"""

from __future__ import annotations

# Taken at import: an agent may put others into their place.
from os import _exit as leave
from os import getpid, write
from typing import Final

FAILED: Final = 1
MESSAGE: Final = (
    b"\nsop: a child process that the agent forked came back from the agent, and was ended\n"
)


def end_child_of(process: int) -> None:
    """End this process, unless it is the one that called the agent."""
    if getpid() == process:
        return
    try:
        write(2, MESSAGE)
    finally:
        leave(FAILED)
