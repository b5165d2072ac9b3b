"""What tasks with tool calls cost, beside bare tests that look the same values up in a dict.

    python benchmarks/tools.py [--small]

274 tasks with four look-up calls each are one public domain. SOP-Bench's own evaluator, on two
shared cores, needed 1.39 s of processor time for as many; a session must come in under half of it,
start-up left out. Then the rows grow: a task must not cost more among many than among few.
"""

from __future__ import annotations

import statistics
import sys

from projects import Project
from sessions import SOPBENCH, run
from tables import Table, is_small

TASKS = 274
TOOLS = ("find_parcel", "weigh_parcel", "read_label", "choose_shelf")
EVALUATOR_S = 1.39
SHARE = 0.5
GROWTH = 1.2
FACTORS, SMALL_FACTORS = (1, 10, 100), (1, 10)
ROUNDS, FEW_ROUNDS = 5, 3
MANY = 10_000

AGENTS = f"""
TOOLS = {TOOLS!r}


def agent(inputs, tools):
    found = [tools.call(name, parcel_id=inputs["parcel_id"]) for name in TOOLS]
    return {{"shelf": found[-1]["shelf_found"]}}
"""
BARE = f"""
import csv

import pytest

TOOLS = {TOOLS!r}
ROWS = {{row["parcel_id"]: row for row in csv.DictReader(open("domains/parcels/data.csv"))}}
COLUMNS = dict(zip(TOOLS, ("place", "weight", "label", "shelf_found")))


def call(name, parcel_id):
    return {{COLUMNS[name]: ROWS[parcel_id][COLUMNS[name]]}}


@pytest.mark.parametrize("parcel", ROWS)
def test_parcel(parcel):
    found = [call(name, parcel) for name in TOOLS]
    assert {{"shelf": ROWS[parcel]["shelf"]}} == {{"shelf": found[-1]["shelf_found"]}}
"""
OURS = (*SOPBENCH, "--sop-domain=parcels", "--sop-agent=agents:agent")


def project(rows: int) -> Project:
    """A domain with a look-up tool for each of four columns."""
    columns = ("place", "weight", "label", "shelf_found")
    return Project(
        domain="parcels",
        columns=("parcel_id", *columns, "shelf"),
        rows=[
            (f"PX{n}", f"hall {n % 7}", n % 31, "fragile", "AB"[n % 2], "AB"[n % 2])
            for n in range(rows)
        ],
        tools={
            tool: {"key": ["parcel_id"], "returns": [column]}
            for tool, column in zip(TOOLS, columns, strict=True)
        },
        parameters=("parcel_id",),
        files={"agents.py": AGENTS, "test_bare.py": BARE},
    )


def seconds(rows: int, rounds: int) -> tuple[float, float]:
    """Return the median seconds of the processor, ours and the bare ones."""
    with project(rows).written() as folder:
        pairs = [(run(folder, *OURS).cpu, run(folder, "test_bare.py").cpu) for _ in range(rounds)]
    ours, bare = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(bare)


def main() -> int:
    """Print a line per size; the status is 1 where a limit is missed."""
    factors = SMALL_FACTORS if is_small(__doc__) else FACTORS
    start, start_bare = seconds(1, ROUNDS)
    table = Table(f"4 calls each; start-up {start:.2f} s", "ours", "reference")
    costs: dict[int, float] = {}
    for factor in factors:
        rows = TASKS * factor
        ours, bare = seconds(rows, ROUNDS if rows < MANY else FEW_ROUNDS)
        needed = ours - start
        if factor == 1:
            ratio = needed / EVALUATOR_S
            title = f"{rows} tasks, SOP-Bench's evaluator"
            table.row(title, f"{needed:.2f} s", f"{EVALUATOR_S} s", value=ratio, most=SHARE)
        costs[factor], cost_bare = needed / rows * 1e3, (bare - start_bare) / rows * 1e3
        title, ours_ms = f"{rows:,} tasks, bare pytest", f"{costs[factor]:.2f} ms"
        table.row(title, ours_ms, f"{cost_bare:.2f} ms", value=costs[factor] / cost_bare)
    few, many = costs[10], costs[factors[-1]]
    if many is not few:
        title = f"a task of {TASKS * factors[-1]:,}, of {TASKS * 10:,}"
        table.row(title, f"{many:.2f} ms", f"{few:.2f} ms", value=many / few, most=GROWTH)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
