"""Sessions in a fork of this process: as a child of its own, without the second of its start.

What was imported before is there already, so `warm` is called once in the process that forks.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

from campaign.kit import HANG_GUARD_SECONDS, Ended, environment, kill_group

# The plugin guards this in a session, and the fork has to end all the same.
_leave = os._exit


def warm() -> None:
    """Import what sessions and commands need."""
    import click.testing  # noqa: F401, PLC0415 - see above
    import pytest  # noqa: F401, PLC0415

    import pytest_sopbench._cli.found_domains  # noqa: PLC0415
    import pytest_sopbench._hooks.activation  # noqa: PLC0415
    import pytest_sopbench._hooks.items.fixtures  # noqa: PLC0415
    import pytest_sopbench._loading.finding  # noqa: F401, PLC0415


def fork_pytest(folder: Path, *args: str, unprivileged: bool = False) -> Ended:
    """Run a pytest session with nothing but our plugin, in a fork."""

    def session() -> int:
        import pytest  # noqa: PLC0415 - see `warm`

        return int(pytest.main(["-psopbench", *args]))

    return _forked(folder, session, unprivileged=unprivileged)


def fork_sopbench(folder: Path, *args: str, unprivileged: bool = False) -> Ended:
    """Run the `sopbench` command, in a fork."""

    def command() -> int:
        from pytest_sopbench.cli import main  # noqa: PLC0415 - see `warm`

        sys.argv = ["sopbench", *args]
        main()
        return 0

    return _forked(folder, command, unprivileged=unprivileged)


def _forked(folder: Path, work: Callable[[], int], *, unprivileged: bool) -> Ended:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            _be_a_child(folder, work, out.fileno(), err.fileno(), unprivileged=unprivileged)
        status = _status(child)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read()
    return Ended(status, said.decode("utf-8", "replace"), complained.decode("utf-8", "replace"))


def _be_a_child(
    folder: Path, work: Callable[[], int], out: int, err: int, *, unprivileged: bool
) -> None:
    status = 255
    try:
        os.setsid()
        signal.alarm(0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a stream
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        settings = environment({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        os.environ.clear()
        os.environ.update(settings)
        os.chdir(folder)
        if unprivileged:
            _obey_permissions()
        status = work()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:  # noqa: BLE001 - what would end a process with a traceback
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            _leave(status)


def _status(child: int) -> int | None:
    process = os.pidfd_open(child)
    try:
        ended, _, _ = select.select([process], [], [], HANG_GUARD_SECONDS)
    finally:
        os.close(process)
    kill_group(child)
    if not ended:
        # Before it leads a group of its own it may already hang.
        os.kill(child, signal.SIGKILL)
    _, code = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(code) if ended else None


_CAPABILITIES_VERSION_3 = 0x20080522
_DAC_OVERRIDE_AND_READ_SEARCH = 0b110


def _obey_permissions() -> None:
    """Let the system refuse root what it refuses everybody else."""
    if os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.capget(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    data[0] &= ~_DAC_OVERRIDE_AND_READ_SEARCH
    if libc.capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")
