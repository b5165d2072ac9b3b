"""Kill a session at a moment drawn by lot."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.aftermath import Aftermath
from campaign.kit import HANG_GUARD_SECONDS, Ended, collect, kill_group
from campaign.victims import KILLED, TASKS, Undisturbed, arguments, undisturbed, write_project

SHOWN_FROM = 0.9
"""Of kills this late, one in ten, the session is also shown by a process of its own."""
PATIENCE = 60
"""Seconds in which workers notice that nobody is left to report to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """Who is killed, by what and when.

    `moment` is `"step"`, where `at` is a share of the steps on disk and in the agent that the
    process takes; `"line"`, where it is a share of the lines of the session and its journals, as
    another process sees them; or `"time"`, where it is a share of what a session takes.
    """

    mode: str
    agent: str
    whom: str
    signal: signal.Signals
    moment: str
    at: float


def run_killed(kill: Kill, folder: Path) -> str | None:
    """Kill a session, and tell what is not as promised; None where all is."""
    usual = undisturbed(kill.mode, kill.agent, folder.parent)
    share = kill.at
    for attempt in range(4):
        home = folder / f"attempt-{attempt}"
        home.mkdir()
        write_project(home)
        shutil.copytree(usual.folder, home / ".sop", symlinks=True)
        older = bytes_of(home)
        killed, was_hit = _killed(kill, home, usual, share)
        if was_hit:
            is_worker = kill.whom == "worker"
            aftermath = Aftermath(home, kill.mode, kill.agent, older, is_worker=is_worker)
            by_hand = kill.signal is signal.SIGINT
            return aftermath.fault(killed, by_hand=by_hand, shows=kill.at > SHOWN_FROM)
        # It had ended before. The next one is killed earlier.
        share /= 2
    return "no session could be killed: each had ended before"


def bytes_of(folder: Path) -> dict[str, bytes]:
    """What the files of all sessions hold."""
    files = (folder / ".sop").rglob("*.jsonl")
    return {f"{one}": one.read_bytes() for one in files if one.is_file() and not one.is_symlink()}


def _killed(kill: Kill, home: Path, usual: Undisturbed, share: float) -> tuple[Ended, bool]:
    """Start a session, kill it, and tell whether it was still running then."""
    process_name = "gw0" if kill.whom == "worker" else ""
    told = {
        "process": process_name,
        "signal": int(kill.signal),
        "whole_group": kill.whom == "group",
        "at": max(1, round(share * usual.steps.get(process_name, 100))),
    }
    env = {"CAMPAIGN_KILL": json.dumps(told) if kill.moment == "step" else "{}"}
    process = _start(home, *arguments(kill.mode, kill.agent), env=env)
    is_hit = kill.moment != "step" and _kill_from_outside(kill, process, home, usual, share)
    ended = _gone(process)
    if kill.moment == "step":
        is_hit = KILLED.encode() in _bytes(home / "ended.txt")
    return ended, is_hit


def _start(home: Path, *args: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    kept = {one: value for one, value in os.environ.items() if not one.startswith(("PYTEST", "CI"))}
    command = (sys.executable, "-m", "pytest", "-psopbench", "-pxdist", *args)
    return subprocess.Popen(
        command,
        cwd=home,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _kill_from_outside(
    kill: Kill, process: subprocess.Popen[bytes], home: Path, usual: Undisturbed, share: float
) -> bool:
    # Each run has a line as it begins and one as it ends, in the session or a journal.
    wanted = max(1, round(share * TASKS * 2))
    until = time.monotonic() + usual.seconds * share
    while process.poll() is None:
        arrived = _lines(home) >= wanted if kill.moment == "line" else time.monotonic() >= until
        # A worker that is not there yet is waited for.
        if arrived and (kill.whom != "worker" or _children(process.pid)):
            return _send(kill, process.pid, home)
        time.sleep(0.002)
    return False


def _lines(home: Path) -> int:
    known = {one.name for one in sorted((home / ".sop/sessions").glob("2*.jsonl"))[:1]}
    files = [one for one in (home / ".sop/sessions").rglob("*.jsonl") if one.name not in known]
    found = 0
    for one in files:
        if not one.is_symlink() and ".traces" not in f"{one}":
            try:
                found += one.read_bytes().count(b"\n")
            except OSError:
                # It went just now.
                continue
    return found


def _send(kill: Kill, leader: int, home: Path) -> bool:
    # What stands above this line in the list had ended before.
    with (home / "ended.txt").open("a") as file:
        file.write(f"{KILLED}\n")
    targets = _children(leader)[:1] if kill.whom == "worker" else [leader]
    try:
        for one in targets:
            (os.killpg if kill.whom == "group" else os.kill)(one, kill.signal)
    except ProcessLookupError:
        return False
    return bool(targets)


def _children(leader: int) -> list[int]:
    path = Path(f"/proc/{leader}/task/{leader}/children")
    try:
        return [int(word) for word in path.read_text("ascii").split()]
    except OSError:
        return []


def _gone(process: subprocess.Popen[bytes]) -> Ended:
    """Wait until the session is dead, and its workers have noticed."""
    try:
        process.wait(HANG_GUARD_SECONDS)
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
    else:
        until = time.monotonic() + PATIENCE
        while _has_members(process.pid) and time.monotonic() < until:
            time.sleep(0.01)
    return collect(process, guard=PATIENCE)


def _has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
