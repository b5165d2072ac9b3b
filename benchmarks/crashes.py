"""Agents that end their process, hang, or ask to exit, among hundreds that do not.

    python benchmarks/crashes.py [--small]

Each of them must be counted once, on the right task, and all others judged. Of the time, the
reference is the same session with the same hangs and exits, where those that end their process
are right instead. To it are added the runs that were made alone since they were suspects: of each
task for which the agent was called more than once, its last call, one after the other. The agents
note themselves when they start and end.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from projects import Project
from sessions import SOPBENCH, XDIST, Attempt, Session, attempts, run, run_lines
from tables import Table, is_small

RUNS, SMALL_RUNS = 500, 100
IN_FLIGHT = 64
WORKERS = 2
TIMEOUT_S = 2
LATENCY_S = 0.3
FATES = {"dies": "crash", "hangs": "timeout", "exits": "error", "works": "correct"}
MANY = {"dies": 10, "hangs": 5, "exits": 3}
FEW = {"dies": 2, "hangs": 1, "exits": 1}
LIMIT = 1.0

AGENTS = f"""
import os
import sys
import time

LOG = os.open("times.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def note(what, task):
    os.write(LOG, f"{{what}} {{task}} {{time.monotonic()}}\\n".encode())


def agent(inputs):
    task, fate = inputs["parcel_id"], inputs["fate"]
    note("start", task)
    time.sleep({LATENCY_S})
    if fate == "hangs":
        time.sleep(3_600)
    note("end", task)
    if fate == "dies":
        os._exit(1)
    if fate == "exits":
        sys.exit(3)
    return {{"shelf": "A"}}
"""


def fates(runs: int, wanted: dict[str, int]) -> list[str]:
    """Spread the unhappy ones evenly over all runs; the others work."""
    unhappy = [fate for fate, count in wanted.items() for _ in range(count)]
    found = ["works"] * runs
    # Each kind turns up all over the session, and not one after the other.
    step, place = runs / len(unhappy), 0
    for number in range(len(unhappy)):
        found[int(step * (number + 0.5))] = unhappy[place]
        place = (place + 7) % len(unhappy)
    return found


def project(planned: Sequence[str]) -> Project:
    """One task for each fate."""
    return Project(
        domain="parcels",
        columns=("parcel_id", "fate", "shelf"),
        rows=[(f"PX{number}", fate, "A") for number, fate in enumerate(planned)],
        inputs=("parcel_id", "fate"),
        files={"agents.py": AGENTS},
    )


def run_project(folder: Path, *args: str) -> Session:
    """Run the session, in which some of the tests fail."""
    return run(
        folder,
        *SOPBENCH,
        *args,
        "--sop-domain=parcels",
        "--sop-agent=agents:agent",
        f"--sop-concurrency={IN_FLIGHT}",
        f"--sop-timeout={TIMEOUT_S}",
        expected=(1,),
    )


def faults(folder: Path, planned: Sequence[str]) -> list[str]:
    """Say what the saved session has wrong: a run too many or too few, or a wrong outcome."""
    lines = run_lines(folder)
    counted = Counter(line["task"] for line in lines)
    found = [f"{task}: {count} lines" for task, count in counted.items() if count != 1]
    expected = {f"PX{number}": FATES[fate] for number, fate in enumerate(planned)}
    outcomes = {line["task"]: line["outcome"] for line in lines}
    found += [
        f"{task}: {outcomes.get(task)} instead of {outcome}"
        for task, outcome in expected.items()
        if outcomes.get(task) != outcome
    ]
    return found


def singled_out(made: Sequence[Attempt], planned: Sequence[str]) -> list[float]:
    """Return the seconds of the runs that were made again, alone: the last call of each."""
    calls = Counter(one.task for one in made)
    last = {one.task: one for one in made if calls[one.task] > 1}
    hung = {f"PX{number}" for number, fate in enumerate(planned) if fate == "hangs"}
    return [
        TIMEOUT_S if task in hung else (one.end or one.start) - one.start
        for task, one in last.items()
    ]


def main() -> int:
    """Print the counts and the times; the status is 1 where one of them is wrong."""
    small = is_small(__doc__)
    runs, wanted = (SMALL_RUNS, FEW) if small else (RUNS, MANY)
    planned = fates(runs, wanted)
    harmless = ["works" if fate == "dies" else fate for fate in planned]
    table = Table(f"{runs} runs, {IN_FLIGHT} in flight", "session", "reference")

    with project(harmless).written() as folder:
        without = run_project(folder, *XDIST, f"-n{WORKERS}")
        table.check("wrong without deaths, -n 2", faults(folder, harmless), f"{without.wall:.2f} s")
    with project(planned).written() as folder:
        session = run_project(folder, *XDIST, f"-n{WORKERS}")
        table.check("wrong with deaths, -n 2", faults(folder, planned), f"{session.wall:.2f} s")
        made = attempts(folder)
        alone = singled_out(made, planned)
    table.row("  agents called, and runs", f"{len(made)}", f"{runs}", value=len(made) / runs)
    table.row("  made alone, one after another", f"{len(alone)}", f"{sum(alone):.2f} s")
    for name, workers, limit in [
        ("time, all of those in one queue", 1, LIMIT),
        ("time, in a queue per worker", WORKERS, None),
    ]:
        most = without.wall + sum(alone) / workers
        ratio = session.wall / most
        table.row(name, f"{session.wall:.2f} s", f"{most:.2f} s", value=ratio, most=limit)

    with project(harmless).written() as folder:
        session = run_project(folder)
        table.check("wrong in one process", faults(folder, harmless), f"{session.wall:.2f} s")
    return table.status


if __name__ == "__main__":
    sys.exit(main())
