"""A domain of 100,000 tasks, collected, and run to the summary.

    python benchmarks/scale.py [--small]

The reference is bare pytest with as many parametrized tests of the same rows.
"""

from __future__ import annotations

import sys

from overhead import SOP, project
from sessions import Session, run
from tables import Table, is_small

TASKS, SMALL_TASKS = 100_000, 5_000
LIMIT_MB = 1_000.0


def rows_of(table: Table, name: str, ours: Session, bare: Session) -> None:
    """Print what a session needs, in time and in memory."""
    ratio = ours.cpu / bare.cpu
    table.row(f"{name}, processor", f"{ours.cpu:.1f} s", f"{bare.cpu:.1f} s", value=ratio)
    mine, other = ours.peak / 1024, bare.peak / 1024
    table.row(f"{name}, peak in MB", f"{mine:.0f} MB", f"{other:.0f} MB", value=mine, most=LIMIT_MB)


def main() -> int:
    """Print a line per session; the status is 1 where one takes too much memory."""
    tasks = SMALL_TASKS if is_small(__doc__) else TASKS
    table = Table(f"{tasks:,} tasks", "ours", "bare pytest")
    with project(tasks).written() as folder:
        collect = (run(folder, *args, "--collect-only") for args in (SOP, ("test_bare.py",)))
        rows_of(table, "collect", *collect)
        whole = run(folder, *SOP)
        if f"{tasks} passed" not in whole.output:
            sys.exit(f"not all tasks passed\n{whole.output[-2_000:]}")
        rows_of(table, "run", whole, run(folder, "test_bare.py"))
    return table.status


if __name__ == "__main__":
    sys.exit(main())
