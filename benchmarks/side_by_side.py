"""Two sessions at once in one folder, again and again: a right agent passes, a wrong one fails.

    python benchmarks/side_by_side.py [--small]

Both decide by reading their finished session back, since each is compared with a baseline. A third
process asks `sopbench gate last` all the while: whatever it finds must be one of the two, whole.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from projects import lab
from sessions import SOPBENCH, start
from tables import Table, is_small

TASKS = 12
ROUNDS, SMALL_ROUNDS = 40, 4

AGENTS = """
GRADES = ("pass", "retest", "fail")


def right(inputs):
    return {"grade": GRADES[int(inputs["sample_id"][2:]) % 3]}


def wrong(inputs):
    return {"grade": "unknown"}
"""
RUN = (*SOPBENCH, "--sop-domain=lab", "-q", "-rN", "--tb=no", "-o", "sop_keep_sessions=2")
COMPARED = (*RUN, "--sop-compare=main", "--sop-gate=lost=0")
STATUS = {"right": 0, "wrong": 1}
GATE = (sys.executable, "-c", "from pytest_sopbench.cli import main; main()", "gate", "last")


def faults_of(folder: Path, number: int) -> list[str]:
    """Run both at once, and return what was not as it must be."""
    both = {name: start(folder, *COMPARED, f"--sop-agent=agents:{name}") for name in STATUS}
    found: list[str] = []
    while any(process.poll() is None for process in both.values()):
        status = subprocess.run(GATE, cwd=folder, capture_output=True, check=False).returncode
        # Before the first round has ended, `last` is the baseline, which was asked nothing.
        if status not in {0, 1} and number:
            found.append(f"round {number}: gate last ended with {status}")
    ends = {name: process.wait() for name, process in both.items()}
    if ends != STATUS:
        found.append(f"round {number}: {ends}")
    return found


def main() -> int:
    """Print how many rounds went wrong."""
    rounds = SMALL_ROUNDS if is_small(__doc__) else ROUNDS
    table = Table("", "rounds", "")
    with lab(TASKS, agents=AGENTS).written() as folder:
        start(folder, *RUN, "--sop-agent=agents:right", "--sop-save=main").wait()
        faults = [fault for number in range(rounds) for fault in faults_of(folder, number)]
    table.check("each session decides by its own runs", faults, f"{rounds}")
    return table.status


if __name__ == "__main__":
    sys.exit(main())
