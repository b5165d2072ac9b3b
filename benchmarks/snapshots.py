"""What a snapshot costs: 2,000 tasks, beside the same session without snapshots.

Run: `python benchmarks/snapshots.py`. To compare and to write must each cost at most 1.2 ms.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TASKS = 2_000
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


def write_project(folder: Path) -> None:
    """Write a domain, an agent and the two tests."""
    domain = folder / "domains" / "parcels"
    domain.mkdir(parents=True)
    specs = [
        {"name": name, "description": name, "parameters": {"type": "object", "properties": {}}}
        for name in TOOLS
    ]
    metadata = {
        "name": "parcels",
        "input_columns": ["parcel_id"],
        "output_columns": ["shelf"],
        "tools": {name: {"result": {"status": "done"}} for name in TOOLS},
    }
    rows = "".join(f"PX{number},A\n" for number in range(TASKS))
    (domain / "sop.md").write_text("Store the parcel.\n", "utf-8")
    (domain / "toolspecs.json").write_text(json.dumps(specs), "utf-8")
    (domain / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    (domain / "data.csv").write_text(f"parcel_id,shelf\n{rows}", "utf-8")
    (folder / "clerk.py").write_text(AGENT, "utf-8")
    (folder / "test_parcels.py").write_text(TESTS, "utf-8")


def seconds(folder: Path, test: str, *options: str) -> float:
    """Run one of the tests for every task, and return what the session costs."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider"]
    command += ["--sop-domain=parcels", "--sop-agent=clerk:agent", *options]
    began = _children()
    done = subprocess.run(
        [*command, f"test_parcels.py::{test}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-2_000:] + done.stderr)
    return _children() - began


def _children() -> float:
    """Seconds of the processor, in which a busy machine is not seen."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_project(folder)
        # In turn, and the best of each: what else the machine does would fall on one of them.
        rounds = [round_of(folder) for _ in range(ROUNDS)]
    without, written, compared = (min(one) for one in zip(*rounds, strict=True))
    written, compared = ((took - without) / TASKS * 1e3 for took in (written, compared))
    print(f"{TASKS:,} runs without snapshots {without:5.2f} s")
    for name, cost in [("compared", compared), ("written", written)]:
        ratio = 1 + cost * TASKS / 1e3 / without
        print(f"  each snapshot {name:8}    {cost:5.2f} ms   ratio {ratio:.2f}, at most {LIMIT_MS}")
    return int(max(compared, written) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
