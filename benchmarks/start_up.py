"""What the plugin adds to the start of pytest in a project that has nothing to do with it.

    python benchmarks/start_up.py [--small]

Sessions of one test, with the plugin installed and with `-p no:sopbench`, in turn. Other plugins
that are installed load in both.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tables import Table, is_small

STARTS, SMALL_STARTS = 40, 8
LIMIT_MS = 8.0
WITHOUT = ("-p", "no:sopbench")


def milliseconds(folder: Path, *args: str) -> float:
    """Return how long one session takes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args]
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1e3


def main() -> int:
    """Print the medians; the status is 1 where they are too far apart."""
    starts = SMALL_STARTS if is_small(__doc__) else STARTS
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_it.py").write_text("def test_it():\n    assert True\n", "utf-8")
        for args in [(), WITHOUT]:
            milliseconds(folder, *args)
        pairs = [(milliseconds(folder), milliseconds(folder, *WITHOUT)) for _ in range(starts)]
    ours, bare = (statistics.median(one) for one in zip(*pairs, strict=True))
    table = Table(f"medians of {starts} starts", "with it", "without")
    table.row("an unrelated project", f"{ours:.1f} ms", f"{bare:.1f} ms", value=ours / bare)
    more = ours - bare
    table.row("  difference in milliseconds", f"{more:.1f} ms", value=more, most=LIMIT_MS)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
