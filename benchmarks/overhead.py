"""What a task costs inside pytest, beside a bare parametrized test of the same rows.

    python benchmarks/overhead.py [ROWS]

The agent does nothing but look up the right answer in a list. Each session is a process of its
own; the two kinds alternate, and the medians of their processor times are compared. A session
of one row tells what start-up costs.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
GRADES = ("pass", "retest", "fail")
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
SOP = ("--sop-domain=lab", "--agent=agents:agent")


def make_project(folder: Path, rows: int) -> None:
    """Write a domain of that many rows, an agent, and a bare test of the same rows."""
    domain = folder / "domains" / "lab"
    domain.mkdir(parents=True)
    domain.joinpath("sop.md").write_text("Grade the sample.\n")
    domain.joinpath("toolspecs.json").write_text("[]")
    domain.joinpath("metadata.json").write_text(
        json.dumps({"name": "lab", "output_columns": ["grade"], "input_columns": ["sample_id"]})
    )
    lines = [f"T_{number},{GRADES[number % 3]}" for number in range(1, rows + 1)]
    domain.joinpath("data.csv").write_text("\n".join(["sample_id,grade", *lines, ""]))
    folder.joinpath("agents.py").write_text(AGENT)
    folder.joinpath("test_bare.py").write_text(BARE)


def seconds(folder: Path, *args: str) -> float:
    """Return the processor time of one session."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rows: int) -> tuple[float, float]:
    """Return the median seconds of a bare session and of ours, over as many rows."""
    plugin = ("-p", "pytest_sopbench.plugin")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_project(folder, rows)
        pairs = [
            (seconds(folder, "test_bare.py"), seconds(folder, *plugin, *SOP)) for _ in range(ROUNDS)
        ]
    bare, ours = zip(*pairs, strict=True)
    return statistics.median(bare), statistics.median(ours)


def main() -> None:
    """Print start-up and the cost of a task, ours beside the bare ones."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2411
    start_bare, start_ours = measure(1)
    all_bare, all_ours = measure(rows)
    bare, ours = ((all_bare - start_bare) / rows, (all_ours - start_ours) / rows)
    print(f"start-up      bare {start_bare:.2f} s   ours {start_ours:.2f} s")
    print(f"{rows} tasks   bare {all_bare:.2f} s   ours {all_ours:.2f} s")
    print(
        f"one task      bare {1e3 * bare:.2f} ms  ours {1e3 * ours:.2f} ms  ratio {ours / bare:.2f}"
    )


if __name__ == "__main__":
    main()
