"""Runs pytest in a process of its own, and tells what the session cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

SOPBENCH = ("-p", "pytest_sopbench.plugin")
XDIST = ("-p", "xdist.plugin")


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a session cost: seconds on the wall and of the processor, and its peak in kB.

    A busy machine is not seen in `cpu`, which has the session's workers in it. `peak` is that of
    the largest of its processes.
    """

    status: int
    wall: float
    cpu: float
    peak: int
    output: str


def start(
    folder: Path, *args: str, output: Any = subprocess.DEVNULL, group: bool = False
) -> subprocess.Popen[bytes]:
    """Start pytest in a project; no plugin is loaded but those that `args` name.

    With `group` it leads a group of processes, as a shell has it that starts it at a terminal.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0 if group else None,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def run(folder: Path, *args: str, expected: tuple[int, ...] = (0,)) -> Session:
    """Run a session to its end; another exit status than the expected ends the benchmark."""
    with TemporaryFile() as output:
        began = time.perf_counter()
        process = start(folder, *args, output=output)
        # The usage of this child alone, unlike that of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode not in expected:
        sys.exit(f"pytest {' '.join(args)} ended with {process.returncode}\n{text[-3_000:]}")
    return Session(
        status=process.returncode,
        wall=wall,
        cpu=usage.ru_utime + usage.ru_stime,
        peak=usage.ru_maxrss,
        output=text,
    )


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of an agent, in seconds of the machine's clock; without `end` it has not ended."""

    task: str
    start: float
    end: float | None


def attempts(folder: Path) -> list[Attempt]:
    """Read what the agents of `projects.LATE` have noted, in the order in which they started."""
    starts: dict[str, list[float]] = defaultdict(list)
    ends: dict[str, list[float]] = defaultdict(list)
    for line in (folder / "times.log").read_text("utf-8").splitlines():
        what, task, when = line.split()
        (starts if what == "start" else ends)[task].append(float(when))
    found = [
        Attempt(task, began, _end(began, began_next, ends[task]))
        for task, times in starts.items()
        for began, began_next in zip(times, [*times[1:], float("inf")], strict=True)
    ]
    return sorted(found, key=lambda one: one.start)


def _end(began: float, began_next: float, ends: list[float]) -> float | None:
    return next((end for end in ends if began <= end < began_next), None)


def took(folder: Path) -> float:
    """Return the seconds from the first start to the last end of the agents' calls."""
    made = attempts(folder)
    return max(one.end for one in made if one.end is not None) - made[0].start


def run_lines(folder: Path) -> list[Mapping[str, Any]]:
    """Return the lines of the runs in the saved session, in its order."""
    text = (folder / ".sop" / "sessions" / "last.jsonl").read_text("utf-8")
    return [line for line in map(json.loads, text.splitlines()) if line["type"] == "run"]
