"""A process of a domain's code, ended with all that it has started.

Every audit ends, whatever a domain's code has started (`tests/audit/test_tools.py`). Ending a
process group does not end a grandchild that leads a session of its own. So the child gets a mark
in its environment, which its descendants inherit. Where the system tells of environments (Linux),
everything that has the mark is ended; elsewhere the process group is.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "SOPBENCH_CHILD"
_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 50
"""How often it is looked for what was started meanwhile."""


def marked(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment by which the descendants of one child are known."""
    return {**environment, MARK: secrets.token_hex(8)}


def end_with_descendants(process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    """End a process that leads its own group, and what it has started, and wait for it."""
    with suppress(OSError):
        process.kill()
    end_group(process.pid, environment)
    process.wait()


def end_group(group: int, environment: Mapping[str, str]) -> None:
    """End what is left of a process group, and all that has the mark of its environment."""
    with suppress(OSError, AttributeError):
        os.killpg(group, signal.SIGKILL)
    end_marked(environment[MARK])


def end_marked(mark: str) -> None:
    """End every process that has this mark."""
    for _ in range(_ROUNDS):
        found = [*_having(f"{MARK}={mark}".encode())]
        for one in found:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        if not found:
            return


class Reaper:
    """A process that ends what has its mark when it is closed, or when this process is gone.

    Without it a program that ignores the end of its stdin outlives a worker that is killed.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        self._process = subprocess.Popen(  # noqa: S603 - this file, by this interpreter
            [sys.executable, "-I", "-S", __file__, self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A Ctrl-C at the terminal is not for it.
            start_new_session=True,
        )

    def marked(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment by which it knows what it is to end."""
        return {**environment, MARK: self._mark}

    def close(self) -> None:
        """End what has the mark, and wait for that."""
        self._process.communicate()


def _having(mark: bytes) -> Iterator[int]:
    with suppress(OSError):
        for folder in _PROCESSES.iterdir():
            # Of a process that has ended nothing can be read, and others' are not ours.
            with suppress(OSError):
                if folder.name.isdecimal() and mark in (folder / "environ").read_bytes().split(
                    b"\0"
                ):
                    yield int(folder.name)


if __name__ == "__main__":
    sys.stdin.buffer.read()
    end_marked(sys.argv[1])
