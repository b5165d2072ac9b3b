"""How soon a session is back after Ctrl-C, and whether what had finished is kept.

    python benchmarks/ctrl_c.py [--small]

Some runs end at once; the others would take minutes. The signal is sent when as many are in flight
as may be, to the workers too, as a terminal does.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from subprocess import Popen

from projects import parcels
from sessions import SOPBENCH, XDIST, Attempt, attempts, run_lines, start
from tables import Table, is_small

IN_FLIGHT, SMALL_IN_FLIGHT = 256, 32
FINISHED = 40
LONG_S = 300.0
LIMIT_S = 1.0
PATIENCE_S = 30.0
INTERRUPTED = 2


def wait_for(process: Popen[bytes], folder: Path, in_flight: int) -> None:
    """Wait until so many runs are in flight, and a little for what has ended to be reported."""
    until = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < until and process.poll() is None:
        if (folder / "times.log").exists() and len(running(attempts(folder))) >= in_flight:
            time.sleep(0.5)
            return
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    status, seen = process.wait(), len(running(attempts(folder)))
    sys.exit(f"{seen} of {in_flight} runs were in flight; the session ended with {status}")


def running(made: list[Attempt]) -> list[Attempt]:
    """Return the calls that have not ended."""
    return [one for one in made if one.end is None]


def interrupted(kind: str, in_flight: int, *args: str) -> tuple[float, list[str]]:
    """Return the seconds from the signal to the end, and what is wrong with what was left."""
    latencies = [0.05] * FINISHED + [LONG_S] * 2 * in_flight
    with parcels(latencies).written() as folder:
        (folder / "times.log").touch()
        process = start(
            folder,
            *SOPBENCH,
            *args,
            "--sop-domain=parcels",
            f"--sop-agent=agents:{kind}_agent",
            f"--sop-concurrency={in_flight}",
            group=True,
        )
        # A worker that waits for a long run begins nothing of what it is sent meanwhile.
        wait_for(process, folder, in_flight * 3 // 4 if args else in_flight)
        began = time.perf_counter()
        os.killpg(process.pid, signal.SIGINT)
        status = process.wait(PATIENCE_S)
        needed = time.perf_counter() - began
        faults = [] if status == INTERRUPTED else [f"exit status {status}"]
        correct = sum(line["outcome"] == "correct" for line in run_lines(folder))
        if correct != FINISHED:
            faults.append(f"{correct} of {FINISHED} finished runs were kept")
    return needed, faults


def main() -> int:
    """Print a line per case; the status is 1 where the session took too long, or lost a run."""
    in_flight = SMALL_IN_FLIGHT if is_small(__doc__) else IN_FLIGHT
    table = Table(f"Ctrl-C at {in_flight} in flight", "to the end", "")
    for name, args in [("one process", ()), ("-n 2", (*XDIST, "-n2"))]:
        for kind in ("sync", "async"):
            needed, faults = interrupted(kind, in_flight, *args)
            # The workers' own end is xdist's affair: it waits for them.
            most = None if args else LIMIT_S
            table.row(f"{name}, {kind}", f"{needed:.2f} s", value=needed, most=most)
            table.check("  status, and runs that were lost", faults, "")
    return table.status


if __name__ == "__main__":
    sys.exit(main())
