"""What an HTML page costs: from the summary to the written file, and how large it is.

    python benchmarks/html_page.py [--small]

The session has three trials of each task, crashes, broken rules, hostile text and a baseline. No
run is made and nothing is read; what counts is processor time, the least of three.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from big_page import big_page
from tables import Table, is_small

from pytest_sopbench._reports.html.page import html_page

ROUNDS = 3
SECONDS = 1.0
MEGABYTES = 6.0
SIZES = (3_000, 30_000)
SMALL = (300, 3_000)


def measured(runs: int, path: Path) -> tuple[float, float]:
    """Return the seconds from the summary to the written page, and its megabytes."""
    page = big_page(runs)
    took: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        path.write_text(html_page(page), "utf-8", newline="\n")
        took.append(time.process_time() - start)
    return min(took), path.stat().st_size / 1_000_000


def main() -> int:
    """Measure both sizes; only the first has limits."""
    sizes = SMALL if is_small(__doc__) else SIZES
    table = Table("from summary to written page", "seconds", "megabytes")
    with TemporaryDirectory() as folder:
        for runs in sizes:
            seconds, size = measured(runs, Path(folder) / "page.html")
            first = runs == sizes[0]
            took, large = f"{seconds:.2f}", f"{size:.1f}"
            table.row(f"{runs:,} runs", took, value=seconds, most=SECONDS if first else None)
            table.row("  its file", "", large, value=size, most=MEGABYTES if first else None)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
