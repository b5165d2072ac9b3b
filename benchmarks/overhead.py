"""What a task costs inside pytest, beside a bare parametrized test of the same rows.

    python benchmarks/overhead.py [--small]

The agent does nothing but look up the right answer in a list. It is called in a thread, which its
time limit needs, so that pytest waits once for each run. What such a wait costs is the machine's
affair, and on a virtual one more than all else: a bare test that waits for a thread stands beside
it, and so does the built-in test without a time limit, whose agent is called in the main thread.

Each session is a process of its
own; the kinds alternate, and the medians of their processor times are compared, less those of a
session of one row, which is what start-up costs. Memory is what a process has gained between its
first test and its end, as a slope between two sizes; pytest's own reports are most of it, so what
is limited is that which ours leaves behind beyond them.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from pathlib import Path

from projects import Project, lab
from sessions import SOPBENCH, XDIST, run
from tables import Table, is_small

SIZES, SMALL_SIZES = (2_411, 27_400), (300, 2_411)
ROUNDS = 3
RATIOS = {"built-in test": 2.0, "built-in test, no time limit": 2.0, "test with sop_run": 2.5}
BUILT_IN_MS = 0.6
WAITING = "bare test that waits for a thread"
KILOBYTES = 3.0

AGENT = """
def agent(inputs):
    return {"grade": ("pass", "retest", "fail")[int(inputs["sample_id"][2:]) % 3]}
"""
BARE = """
import csv

import pytest

ROWS = list(csv.DictReader(open("domains/lab/data.csv", newline="")))


@pytest.mark.parametrize("row", ROWS, ids=[row["sample_id"] for row in ROWS])
def test_row(row):
    answer = ("pass", "retest", "fail")[int(row["sample_id"][2:]) % 3]
    assert {"grade": row["grade"]} == {"grade": answer}
"""
BARE_WAITING = """
import queue
import threading

import pytest

from test_bare import ROWS

GIVEN, DONE = queue.SimpleQueue(), queue.SimpleQueue()


def work():
    while True:
        DONE.put(("pass", "retest", "fail")[int(GIVEN.get()["sample_id"][2:]) % 3])


threading.Thread(target=work, daemon=True).start()


@pytest.mark.parametrize("row", ROWS, ids=[row["sample_id"] for row in ROWS])
def test_row(row):
    GIVEN.put(row)
    assert {"grade": row["grade"]} == {"grade": DONE.get(timeout=600)}
"""
OWN = """
def test_row(sop_run):
    sop_run.assert_correct()
"""
MEMORY = """
import gc
import os
from pathlib import Path

import pytest


def resident():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session):
    before = resident()
    try:
        return (yield)
    finally:
        if not hasattr(session.config, "workerinput"):
            Path("grown.txt").write_text(str(resident() - before))
"""

SOP = (*SOPBENCH, "--sop-domain=lab", "--sop-agent=agents:agent")
KINDS: Mapping[str, tuple[str, ...]] = {
    "bare": ("test_bare.py",),
    WAITING: ("test_waiting.py",),
    "built-in test": SOP,
    "built-in test, no time limit": (*SOP, "--sop-concurrency=1", "--sop-timeout=0"),
    "test with sop_run": (*SOP, "test_own.py"),
}


def project(rows: int) -> Project:
    """A domain of that many rows, an agent, bare tests of the same rows, and one of a user."""
    tests = {"test_bare": BARE, "test_waiting": BARE_WAITING, "test_own": OWN}
    return lab(rows, agents=AGENT, memory=MEMORY, **tests)


def seconds(rows: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of the processor for each kind of session."""
    with project(rows).written() as folder:
        taken = [
            {name: run(folder, *args).cpu for name, args in KINDS.items()} for _ in range(rounds)
        ]
    return {name: statistics.median(one[name] for one in taken) for name in KINDS}


def grown(folder: Path, *args: str) -> float:
    """Return the kB that the process which prints the summary gains while tests run."""
    run(folder, "-p", "memory", *args)
    return float((folder / "grown.txt").read_text("utf-8"))


def kilobytes(sizes: tuple[int, int], *args: str) -> float:
    """Return the kB that each finished task leaves behind."""
    gained: list[float] = []
    for rows in sizes:
        with project(rows).written() as folder:
            gained.append(grown(folder, *args))
    return (gained[1] - gained[0]) / (sizes[1] - sizes[0])


def main() -> int:
    """Print start-up, the cost of a task, and its memory, ours beside the bare ones."""
    small = is_small(__doc__)
    sizes = SMALL_SIZES if small else SIZES
    table = Table("", "ours", "bare pytest")
    start = seconds(1, 5)
    for name in RATIOS:
        table.row(f"start-up, {name}", f"{start[name]:.2f} s", f"{start['bare']:.2f} s")
    for rows in sizes:
        all_of = seconds(rows, ROUNDS)
        cost = {name: (all_of[name] - start[name]) / rows * 1e3 for name in KINDS}
        bare = cost["bare"]
        for name, most in RATIOS.items():
            title = f"{rows:,} tasks, {name}"
            ours, reference = f"{cost[name]:.2f} ms", f"{bare:.2f} ms"
            table.row(title, ours, reference, value=cost[name] / bare, most=most)
            if name.startswith("built-in"):
                table.row("  in milliseconds", ours, value=cost[name], most=BUILT_IN_MS)
        waiting = f"{cost[WAITING]:.2f} ms"
        table.row(f"{rows:,} tasks, {WAITING}", waiting, reference, value=cost[WAITING] / bare)
        beside = cost["built-in test"]
        title = "  the built-in test beside it"
        table.row(title, f"{beside:.2f} ms", waiting, value=beside / cost[WAITING])
    for name, workers in [("one process", ()), ("controller of -n 2", (*XDIST, "-n2"))]:
        ours = kilobytes(sizes, *SOP, *workers)
        bare = kilobytes(sizes, "test_bare.py", *workers)
        title = f"memory of a task, {name}"
        table.row(title, f"{ours:.2f} kB", f"{bare:.2f} kB", value=ours / bare)
        more = ours - bare
        table.row("  beyond bare pytest, in kB", f"{more:.2f} kB", value=more, most=KILOBYTES)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
