"""Sessions that are going to be killed: what they run, and what comes of them where nobody does."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.kit import excerpt, run_pytest, write_lab
from pytest_sopbench import Outcome

TASKS = 12
MODES: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "in flight": ("--sop-concurrency=4",),
    "workers": ("-n2",),
    "workers in flight": ("-n2", "--sop-concurrency=4"),
}
AGENTS = ("steady", "fleeting")
KILLED = "KILLED"
"""The line in the list of runs that ended behind which they ended after the kill."""


# What the victim loads. Only the process that is meant counts, and a second worker is not it.
KILLER = """
import json
import os
import signal
import threading

told = json.loads(os.environ.get("CAMPAIGN_KILL", "{}"))
worker = os.environ.get("PYTEST_XDIST_WORKER", "")
meant = bool(told) and worker == told["process"]
counted = 0
counting = threading.Lock()
EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}
ended = os.open("ended.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
calls = os.open("calls.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def tick():
    global counted
    with counting:
        counted += 1
        if meant and counted == told["at"]:
            os.write(ended, b"KILLED\\n")
            kill = os.killpg if told["whole_group"] else os.kill
            kill(os.getpgid(0) if told["whole_group"] else os.getpid(), told["signal"])


def watch(event, args):
    if event in EVENTS and args and ".sop" in str(args[0]):
        tick()


def around(function, line_of):
    def wrapper(self, *args, **kwargs):
        tick()
        result = function(self, *args, **kwargs)
        line = line_of(args)
        if '"type":"run"' in line:
            data = json.loads(line)
            os.write(ended, f"{data['task']} {data['outcome']}\\n".encode())
        tick()
        return result

    return wrapper


def begin():
    import sys

    from pytest_sopbench._sessions.journal import Journal
    from pytest_sopbench._sessions.writer import SessionWriter

    SessionWriter.append = around(SessionWriter.append, lambda args: args[0])
    Journal.end = around(Journal.end, lambda args: args[1])
    Journal.start = around(Journal.start, lambda args: "")
    sys.addaudithook(watch)
"""

CONFTEST = """
import killer

killer.begin()


def pytest_unconfigure(config):
    with open(f"ticks-{killer.worker}.txt", "w") as file:
        file.write(str(killer.counted))
"""

AGENT = '''
import os
import time

import killer


def steady(inputs, tools):
    os.write(killer.calls, (inputs["sample_id"] + "\\n").encode())
    killer.tick()
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    # Long enough for others to be in flight beside it.
    time.sleep(0.004)
    killer.tick()
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


def fleeting(inputs, tools):
    """Wrong on every fifth task, raises on every seventh."""
    number = int(inputs["sample_id"].rpartition("_")[2])
    answer = steady(inputs, tools)
    if number % 7 == 0:
        raise ValueError("every seventh")
    return {"grade": "unknown"} if number % 5 == 0 else answer
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class Undisturbed:
    """What a session of a mode comes to that nobody kills: its folder `.sop`, steps, seconds."""

    folder: Path
    steps: Mapping[str, int]
    seconds: float


def truth(agent: str) -> dict[str, Outcome]:
    """What really becomes of each task."""
    found: dict[str, Outcome] = {}
    for number in range(1, TASKS + 1):
        outcome = Outcome.CORRECT
        if agent == "fleeting":
            outcome = Outcome.WRONG if number % 5 == 0 else outcome
            outcome = Outcome.ERROR if number % 7 == 0 else outcome
        found[f"T_{number:02}"] = outcome
    return found


def write_project(folder: Path) -> None:
    write_lab(folder, tasks=TASKS)
    (folder / "killer.py").write_text(KILLER, "utf-8")
    (folder / "conftest.py").write_text(CONFTEST, "utf-8")
    (folder / "victims.py").write_text(AGENT, "utf-8")


def arguments(mode: str, agent: str, *more: str) -> list[str]:
    return ["-q", "--sop-domain=lab", f"--sop-agent=victims:{agent}", *MODES[mode], *more]


def undisturbed(mode: str, agent: str, room: Path) -> Undisturbed:
    """Return what a session comes to that nobody kills, run once for all cases of a room."""
    folder = room / f"undisturbed, {mode}, {agent}"
    with (room / f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "seconds.txt").exists():
            _run_undisturbed(mode, agent, folder)
    steps = {
        path.stem.removeprefix("ticks-"): int(path.read_text()) for path in folder.glob("ticks-*")
    }
    seconds = float((folder / "seconds.txt").read_text())
    return Undisturbed(folder=folder / ".sop", steps=steps, seconds=seconds)


def _run_undisturbed(mode: str, agent: str, folder: Path) -> None:
    write_project(folder)
    began = time.monotonic()
    ended = run_pytest(folder, *arguments(mode, agent), xdist=True)
    if ended.status != (0 if agent == "steady" else 1):
        msg = f"an undisturbed session does not come to its end: {excerpt(ended)}"
        raise RuntimeError(msg)
    (folder / "seconds.txt").write_text(f"{time.monotonic() - began}")
