"""The page on agents of any language: each agent of it is right, by the calls that were seen.

Those on frameworks are run by `make frameworks`.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.builders.pages import DOCS, write_late_returns
from tests.builders.saved import followed

pytest.importorskip("mcp")

PAGE = (DOCS / "how-to" / "connect-an-agent.md").read_text(encoding="utf-8")
FILES = {
    name: code
    for name, code in re.findall(r"```[a-z]+\n(?:#|//) file: (\S+)\n(.*?)```", PAGE, re.DOTALL)
    # The others are functions on a framework, which stand with theirs.
    if "def agent(" not in code
}
COMMANDS = re.findall(r"^pytest --sop-domain late_returns --agent (.*)$", PAGE, re.MULTILINE)


def command(file: str) -> str:
    """Return the `--agent` of the page that starts a file, with the Python of the tests."""
    (found,) = [one.strip("'") for one in COMMANDS if one.rstrip("'").endswith(f" {file}")]
    return found.replace("exec:python ", f"exec:{sys.executable} ")


def check_right(pytester: pytest.Pytester, agent: str, tasks: int = 5) -> None:
    """Run the agent on tasks, several at once, and hold it and its calls against the domain."""
    result = pytester.runpytest_subprocess(
        "--sop-domain=late_returns",
        f"--sop-agent={agent}",
        f"--sop-sample=first:{tasks}",
        "--sop-concurrency=3",
    )

    result.assert_outcomes(passed=tasks)
    lines = followed(pytester.path / ".sop/sessions/last.jsonl").read_text("ascii")
    orders = re.findall(r'"name":"get_order","arguments":\{"order_id":"(R-\d+)"\}', lines)
    assert [f"R-10{number}" for number in range(1, tasks + 1)] == sorted(orders)


def write(pytester: pytest.Pytester, name: str) -> Path:
    write_late_returns(pytester.path)
    path = pytester.path / name
    path.write_text(FILES[name], encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("file", "needed", "tasks"),
    [
        pytest.param("agent.mjs", ("node",), 5, id="Node"),
        pytest.param("agent.sh", ("sh", "curl", "jq"), 5, id="a shell script"),
        # Each of its processes imports the client for two seconds.
        pytest.param("mcp_agent.py", (), 2, id="the official MCP client"),
    ],
)
def test_a_program_of_the_page_is_right(
    pytester: pytest.Pytester, file: str, needed: tuple[str, ...], tasks: int
) -> None:
    for program in needed:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} on this machine")
    write(pytester, file)

    check_right(pytester, command(file), tasks)


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Serve the application of a folder as the page does, but on a port that is free."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port, number = listening.getsockname()[1], listening.fileno()
        # It is given a socket that listens already, so nobody has to wait for it.
        with subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "service:app", f"--fd={number}"],
            cwd=folder,
            pass_fds=(number,),
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                yield port
            finally:
                process.kill()


def test_the_service_of_the_page_is_right_on_every_task(pytester: pytest.Pytester) -> None:
    pytest.importorskip("fastapi")
    file = write(pytester, "service.py")

    with serving(file.parent) as port:
        check_right(pytester, f"http://127.0.0.1:{port}/run")


def test_the_page_tells_how_each_of_its_files_is_run() -> None:
    told = {file for file in FILES for one in COMMANDS if file in one} | {"service.py"}

    assert set(FILES) == told
