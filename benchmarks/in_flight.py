"""Sessions with many runs in flight, beside the ideal, from the first start to the last end.

    python benchmarks/in_flight.py [--small]

The agents note themselves when they start and end, so that the times are those of pytest as a
whole: items, fixtures, reports and the summary go on beside the runs. The ideal of equal latencies
is `ceil(tasks / N) * latency`; of unequal ones it is their list scheduled by hand. What no order
of them could beat, all places busy or the longest run alone, stands on a line of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from ideals import bound, heavy_tail, ideal
from projects import parcels
from sessions import SOPBENCH, XDIST, run, took
from tables import Table, is_small

TASKS, SMALL_TASKS = 200, 192
LATENCY_S = 0.5
LIMIT, AT = 1.1, 64
TWO_WORKERS = 1.3
LONG_S, LONG = 6.0, 1.4
KINDS = ("sync", "async")


def seconds(latencies: Sequence[float], in_flight: int, kind: str, *args: str) -> float:
    """Return the time from the first start to the last end, of a session with these runs."""
    with parcels(latencies).written() as folder:
        run(
            folder,
            *SOPBENCH,
            *args,
            "--sop-domain=parcels",
            f"--sop-agent=agents:{kind}_agent",
            f"--sop-concurrency={in_flight}",
        )
        return took(folder)


def main() -> int:
    """Print a line per case; the status is 1 where a ratio is too high."""
    small = is_small(__doc__)
    tasks = SMALL_TASKS if small else TASKS
    table = Table("", "first to last", "ideal")
    for in_flight in (64,) if small else (8, 64, 256):
        for kind in KINDS:
            best = math.ceil(tasks / in_flight) * LATENCY_S
            needed = seconds([LATENCY_S] * tasks, in_flight, kind)
            table.row(
                f"{tasks} x {LATENCY_S} s at {in_flight}, {kind}",
                f"{needed:.2f} s",
                f"{best:.2f} s",
                value=needed / best,
                most=LIMIT if in_flight <= AT else None,
            )
    best = math.ceil(tasks / AT) * LATENCY_S
    for kind in KINDS:
        needed = seconds([LATENCY_S] * tasks, AT, kind, *XDIST, "-n2")
        name = f"the same at {AT}, -n 2, {kind}"
        ratio = needed / best
        table.row(name, f"{needed:.2f} s", f"{best:.2f} s", value=ratio, most=TWO_WORKERS)
    # The first five may fail for the set-up's sake, so the others begin up to two seconds later.
    needed = seconds([LONG_S] * AT, AT, "sync")
    ratio = needed / LONG_S
    table.row(
        f"{AT} x {LONG_S} s at {AT}", f"{needed:.2f} s", f"{LONG_S:.2f} s", value=ratio, most=LONG
    )
    tail = heavy_tail(tasks)
    for in_flight in (8, 64):
        best, least = ideal(tail, in_flight), bound(tail, in_flight)
        for kind in KINDS:
            needed = seconds(tail, in_flight, kind)
            name = f"heavy tail at {in_flight}, {kind}"
            ratio = needed / best
            table.row(name, f"{needed:.2f} s", f"{best:.2f} s", value=ratio, most=LIMIT)
            over = needed / least
            table.row("  beside what no order could beat", "", f"{least:.2f} s", value=over)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
