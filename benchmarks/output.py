"""Whether each run keeps its own output, with many in flight that write at the same time.

    python benchmarks/output.py [--small]

Every agent writes lines with the name of its task to stdout, to stderr, and from a thread of its
own; a test of each task asserts that it sees all of them, and no other line.
"""

from __future__ import annotations

import sys

from projects import parcels
from sessions import SOPBENCH, run
from tables import Table, is_small

RUNS, SMALL_RUNS = 500, 64
IN_FLIGHT = 64
LINES = 20
AGENTS = f"""
import asyncio
import contextvars
import sys
import threading
import time


def write(task, number):
    print(f"out {{task}} {{number}}")
    print(f"err {{task}} {{number}}", file=sys.stderr)


def sync_agent(inputs):
    task = inputs["parcel_id"]
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(print, f"thread {{task}} 0"))
    thread.start()
    for number in range({LINES}):
        write(task, number)
        time.sleep(0.001)
    thread.join()
    return {{"shelf": "A"}}


async def async_agent(inputs):
    task = inputs["parcel_id"]
    await asyncio.to_thread(print, f"thread {{task}} 0")
    for number in range({LINES}):
        write(task, number)
        await asyncio.sleep(0.001)
    return {{"shelf": "A"}}
"""
TESTS = f"""
def test_output(sop_run, sop_task):
    lines = [line.split() for line in sop_run.output.splitlines()]
    mine = [line for line in lines if sop_task.id in line]
    assert lines == mine, [line for line in lines if line not in mine]
    kinds = [line[0] for line in lines]
    found = [kinds.count(kind) for kind in ("out", "err", "thread")]
    assert [{LINES}, {LINES}, 1] == found
"""


def main() -> int:
    """Print a line per kind of agent; the status is 1 where a line went astray."""
    runs = SMALL_RUNS if is_small(__doc__) else RUNS
    table = Table(f"{runs} runs, {IN_FLIGHT} in flight", "session", "")
    with parcels([0.0] * runs, AGENTS, test_output=TESTS).written() as folder:
        for kind in ("sync", "async"):
            session = run(
                folder,
                *SOPBENCH,
                "--sop-domain=parcels",
                f"--sop-agent=agents:{kind}_agent",
                f"--sop-concurrency={IN_FLIGHT}",
                "test_output.py",
                expected=(0, 1),
            )
            lines = session.output.splitlines()
            faults = [line for line in lines if line.startswith("FAILED")]
            if f"{runs} passed" not in session.output:
                faults = faults or [session.output[-500:]]
            table.check(f"output that went astray, {kind}", faults, f"{session.wall:.2f} s")
    return table.status


if __name__ == "__main__":
    sys.exit(main())
