"""A process of a domain's code, ended with all that it has started.

Every audit ends, whatever a domain's code has started (`tests/audit/test_tools.py`). Ending a
process group does not end a grandchild that leads a session of its own. So the child gets a mark
in its environment, which its descendants inherit. If the system tells of environments (Linux),
everything that has the mark is ended; elsewhere the process group is.

The number of a process may be given to another one as soon as it has been waited for. So whoever
waits for such a child does it by `wait_unreaped`, which leaves it to `end_with_descendants`.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK: Final = "SOPBENCH_CHILD"
_PROCESSES: Final = Path("/proc")
_ROUNDS: Final = 50
"""How often it is looked for what was started meanwhile."""

_TICK: Final = 0.02


def marked(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment by which the descendants of one child are known."""
    return {**environment, MARK: secrets.token_hex(8)}


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a process has ended; if the system can tell (not Windows), it stays unreaped."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        how = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, process.pid, how) is not None
    except ChildProcessError:
        # Somebody else has waited for it.
        return process.poll() is not None


def wait_unreaped(process: subprocess.Popen[bytes], seconds: float | None = None) -> bool:
    """Wait until a process has ended, and tell whether it has in so many seconds."""
    if seconds is None and hasattr(os, "waitid"):
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return True
    until = None if seconds is None else time.monotonic() + seconds
    while not has_ended(process):
        if until is not None and time.monotonic() > until:
            return False
        time.sleep(_TICK)
    return True


def end_with_descendants(process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
    """End a process that leads its own group, and what it has started, and wait for it.

    One that has been waited for already has no number any more, and its group may be a stranger's:
    then only what has the mark is ended. A process is ended by one thread at a time.
    """
    if hasattr(os, "killpg"):
        # Not `kill` of the process, which waits for it first.
        if _has_its_number(process):
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
    else:
        with suppress(OSError):
            process.kill()
    end_marked(environment[MARK])
    process.wait()


def _has_its_number(process: subprocess.Popen[bytes]) -> bool:
    if process.returncode is not None:
        return False
    if hasattr(os, "waitid"):
        try:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        except ChildProcessError:
            return False
    return True


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
