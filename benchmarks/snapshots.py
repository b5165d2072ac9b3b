"""What a snapshot costs: 2,000 tasks, beside the same session without snapshots.

    python benchmarks/snapshots.py [--small]

To compare and to write must each cost at most 1.2 ms.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from projects import Project
from sessions import SOPBENCH, run
from tables import Table, is_small

TASKS, SMALL_TASKS = 2_000, 200
ROUNDS = 3
LIMIT_MS = 1.2
TOOLS = ("find_parcel", "weigh_parcel", "read_label", "choose_shelf", "store_parcel")

AGENT = f"""
def agent(inputs, tools):
    parcel = inputs["parcel_id"]
    for name in {TOOLS!r}:
        result = tools.call(name, parcel_id=parcel, reason="parcels are stored as they come")
    return {{"shelf": "A"}}
"""
TESTS = """
def test_without(sop_run):
    assert len(sop_run.trajectory) == 5


def test_with(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""


def project(tasks: int) -> Project:
    """A domain, an agent and the two tests."""
    return Project(
        domain="parcels",
        columns=("parcel_id", "shelf"),
        rows=[(f"PX{number}", "A") for number in range(tasks)],
        tools={name: {"result": {"status": "done"}} for name in TOOLS},
        files={"clerk.py": AGENT, "test_parcels.py": TESTS},
    )


def seconds(folder: Path, test: str, *options: str) -> float:
    """Run one of the tests for every task, and return what the session costs."""
    plugins = (*SOPBENCH, "-p", "syrupy")
    agent = ("--sop-domain=parcels", "--sop-agent=clerk:agent")
    return run(folder, *plugins, *agent, *options, f"test_parcels.py::{test}").cpu


def round_of(folder: Path) -> tuple[float, float, float]:
    """Return the seconds without snapshots, writing them all, and comparing with them all."""
    shutil.rmtree(folder / "sop_snapshots", ignore_errors=True)
    return (
        seconds(folder, "test_without"),
        seconds(folder, "test_with", "--snapshot-update"),
        seconds(folder, "test_with"),
    )


def main() -> int:
    """Print milliseconds per snapshot; the status is 1 where one costs too much."""
    tasks = SMALL_TASKS if is_small(__doc__) else TASKS
    with project(tasks).written() as folder:
        # In turn, and the best of each: what else the machine does would fall on one of them.
        rounds = [round_of(folder) for _ in range(ROUNDS)]
    without, written, compared = (min(one) for one in zip(*rounds, strict=True))
    table = Table(f"{tasks:,} tasks with 5 calls", "with", "without")
    for name, took in [("compared", compared), ("written", written)]:
        cost = (took - without) / tasks * 1e3
        table.row(f"snapshots {name}", f"{took:.2f} s", f"{without:.2f} s", value=took / without)
        table.row("  each in milliseconds", f"{cost:.2f} ms", value=cost, most=LIMIT_MS)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
