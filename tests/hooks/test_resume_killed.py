"""Sessions that are killed and resumed, again and again, come to what an undisturbed one comes to.

The kill comes from inside: the process that records results counts what it does with the files of
its session, and what its agent does, and kills itself at a number drawn by lot. So it dies between
any two steps on the disk, and no test depends on how fast a machine is.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

TASKS = 16
LAST = Path(".sop/sessions/last.jsonl")
RUN = ("-q", "--sop-domain=lab", "--agent=fleeting:agent")

KILLER = """
import os
import signal
import sys
import threading

# Taken out of the environment, so that workers live.
at = int(os.environ.pop("KILL_AT", "0"))
counted = 0
counting = threading.Lock()
EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}


def tick():
    global counted
    with counting:
        counted += 1
        if counted == at:
            os.kill(os.getpid(), signal.SIGKILL)


def watch(event, args):
    if event in EVENTS and args and ".sop" in str(args[0]):
        tick()


def told(function):
    def wrapper(*args, **kwargs):
        tick()
        result = function(*args, **kwargs)
        tick()
        return result

    return wrapper


if at:
    from pytest_sopbench._sessions.journal import Journal
    from pytest_sopbench._sessions.writer import SessionWriter

    SessionWriter.append = told(SessionWriter.append)
    Journal._write = told(Journal._write)
    sys.addaudithook(watch)
"""

CONFTEST = """
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
import killer


def pytest_unconfigure(config):
    if not hasattr(config, "workerinput") and killer.at:
        with open("ticks.txt", "w") as file:
            file.write(str(killer.counted))
"""

AGENT = '''
import time


def agent(inputs, tools):
    """Wrong on every fifth task, raises on every seventh."""
    with open("calls.txt", "a") as file:
        file.write(inputs["sample_id"] + "\\n")
    number = int(inputs["sample_id"].rpartition("_")[2])
    if number % 7 == 0:
        raise ValueError("every seventh")
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    # Long enough for others to be in flight beside it.
    time.sleep(0.002)
    if number % 5 == 0:
        return {"grade": "unknown"}
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}
'''


@pytest.fixture
def project(pytester: pytest.Pytester, make_domain: Callable[..., Path]) -> Path:
    make_domain(tasks=TASKS)
    pytester.makepyfile(killer=KILLER, fleeting=AGENT)
    pytester.makeconftest(CONFTEST)
    return pytester.path


def timeless(value: Any) -> Any:
    """Leave out what differs from session to session even where nothing disturbs it."""
    if isinstance(value, Mapping):
        return {
            name: timeless(one)
            for name, one in value.items()
            if not any(
                part in name
                for part in ("duration", "latency", "started", "identity", "resumed", "crc")
            )
            and name != "at_s"
        }
    return [timeless(one) for one in value] if isinstance(value, list) else value


def everything(folder: Path) -> Mapping[str, Any]:
    """Return the lines of the last session by their place, and its event logs by their path."""
    session = (folder / LAST).resolve()
    logs = session.with_suffix(".traces").rglob("*.jsonl")
    return {
        f"{f'{path}'.removeprefix(f'{session.parent / session.stem}')}:{number}": timeless(
            json.loads(line)
        )
        for path in (session, *logs)
        for number, line in enumerate(path.read_text("ascii").splitlines(), start=1)
    }


def start(
    pytester: pytest.Pytester, options: tuple[str, ...], *, kill_at: int = 10**9
) -> pytest.RunResult:
    begun = [*(pytester.path / LAST).parent.glob("2*.jsonl")]
    resume = ("--sop-resume=last",) if begun else ()
    os.environ["KILL_AT"] = str(kill_at)
    try:
        return pytester.runpytest_subprocess(*RUN, *options, *resume)
    finally:
        del os.environ["KILL_AT"]


@pytest.mark.parametrize(
    ("options", "kills", "in_flight"),
    [
        pytest.param((), 6, 1, id="one at a time"),
        pytest.param(("-n2", "--sop-concurrency=8"), 2, 8, id="two workers, eight in flight"),
    ],
)
def test_a_session_killed_anywhere_and_resumed_comes_to_the_same_end(
    pytester: pytest.Pytester, project: Path, options: tuple[str, ...], kills: int, in_flight: int
) -> None:
    start(pytester, options)
    undisturbed = everything(project)
    ticks = int((project / "ticks.txt").read_text())
    lot = random.Random(f"{options}")  # noqa: S311 - the same points whenever this test is run
    killed = 0

    while killed < kills:
        shutil.rmtree(project / ".sop")
        (project / "calls.txt").unlink()
        times = 0
        while killed < kills:
            result = start(pytester, options, kill_at=lot.randint(1, ticks // 2))
            if result.ret != -signal.SIGKILL:
                break
            killed += 1
            times += 1
        else:
            start(pytester, options)

        assert undisturbed == everything(project)
        calls = (project / "calls.txt").read_text().splitlines()
        assert TASKS == len(set(calls))
        # Workers may go on for a while when their controller is dead.
        assert "-n2" in options or len(calls) <= TASKS + times * in_flight
    assert not (project / LAST).resolve().with_suffix(".journals").exists()
