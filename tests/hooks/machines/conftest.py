"""Another machine for the sessions inside the tests of this folder.

It is this one: an execnet socket server on the loopback device, or a stand-in for `ssh` that
ignores the host and runs the command without the caller's environment. The controller has a
process of its own, because execnet leaves its sockets to the end of it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SSH = """#!/bin/sh
for command; do :; done
# A login shell has its own environment; the plugins have to be those of the controller.
exec env -i PATH="$PATH" PYTEST_ADDOPTS="$PYTEST_ADDOPTS" PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \\
  sh -c "$command"
"""

Machine = Callable[..., tuple[str, ...]]


@pytest.fixture
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the project on the other machine; `bring` fills it."""
    return tmp_path_factory.mktemp("there")


@pytest.fixture
def bring(pytester: pytest.Pytester, there: Path) -> Callable[[], None]:
    """Copy the project as it stands to the other machine."""

    def copy() -> None:
        shutil.copytree(pytester.path, there, dirs_exist_ok=True)

    return copy


@pytest.fixture
def server(there: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A socket server on a free port of the loopback device: its address and its process."""
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=there, text=True) as process:
        try:
            assert process.stdout is not None
            port = re.search(r"\('127.0.0.1', (\d+)\)", process.stdout.readline())
            assert port is not None
            yield f"127.0.0.1:{port[1]}", process
        finally:
            process.kill()


@pytest.fixture
def over_socket(server: tuple[str, Any], there: Path) -> Machine:
    """Give the options for workers behind the socket server."""

    def options() -> tuple[str, ...]:
        proxy = f"--px=id=there//socket={server[0]}"
        return ("-d", proxy, f"--tx=2*popen//via=there//chdir={there}")

    return options


@pytest.fixture
def over_ssh(
    pytester: pytest.Pytester,
    there: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Machine:
    """Give the options for workers over the stand-in for `ssh`."""
    script = tmp_path_factory.mktemp("bin") / "ssh"
    script.write_text(SSH)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=":")

    def options(workers: int = 2, more: str = "") -> tuple[str, ...]:
        spec = f"ssh=me@there//python={sys.executable}//chdir={there}{more}"
        return ("-d", f"--tx={workers}*{spec}")

    return options


@pytest.fixture
def here_and_over_ssh(over_ssh: Machine) -> Machine:
    """Give the options for one worker here and one over the stand-in for `ssh`."""
    return lambda: (*over_ssh(1), "--tx=popen")
