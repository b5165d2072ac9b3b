"""What it costs to write a session while it runs, beside one that writes nothing.

    python benchmarks/saving.py [--small]

The agent does nothing but look up the right answer in a list, so that nothing hides the cost. In
the session that writes nothing, a plugin of the project puts a function without a body in the
place of `Saving.add`, by which each line goes to the file. Each session is a process of its own,
with event logs switched off; the two kinds alternate, and the medians of their processor times and
of their durations are compared.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from overhead import AGENT
from projects import lab
from sessions import SOPBENCH, Session, run
from tables import Table, is_small

ROWS, SMALL_ROWS = 2_411, 600
ROUNDS, SMALL_ROUNDS = 15, 5
RATIO = 1.05

SILENT = """
from pytest_sopbench._hooks.results.saving import Saving

Saving.start = Saving.add = lambda *_: None
"""
SESSION = (*SOPBENCH, "--sop-domain=lab", "--sop-agent=agents:agent", "-o", "sop_traces=none")
KINDS = {"saving": SESSION, "writing nothing": ("-p", "silent", *SESSION)}


def sessions(folder: Path, rounds: int) -> dict[str, Sequence[Session]]:
    """Run both kinds in turn, the first one in changing order."""
    found: dict[str, list[Session]] = {name: [] for name in KINDS}
    for number in range(rounds):
        for name in sorted(KINDS, reverse=bool(number % 2)):
            found[name].append(run(folder, *KINDS[name]))
    return {**found}


def main() -> int:
    """Print the processor time and the duration of both kinds."""
    small = is_small(__doc__)
    rows, rounds = (SMALL_ROWS, SMALL_ROUNDS) if small else (ROWS, ROUNDS)
    table = Table("", "saving", "writing nothing")
    with lab(rows, agents=AGENT, silent=SILENT).written() as folder:
        found = sessions(folder, rounds)
        run(folder, *SESSION)
        size = (folder / ".sop" / "sessions" / "last.jsonl").stat().st_size
    for what in ("cpu", "wall"):
        ours, reference = (
            statistics.median(getattr(one, what) for one in found[name]) for name in KINDS
        )
        word = {"cpu": "seconds of the processor", "wall": "seconds on the wall"}[what]
        most = RATIO if what == "cpu" else None
        title = f"{rows:,} runs, {word}"
        table.row(title, f"{ours:.3f}", f"{reference:.3f}", value=ours / reference, most=most)
    table.row("the saved session, bytes a run", f"{size / rows:.0f}")
    return table.status


if __name__ == "__main__":
    sys.exit(main())
