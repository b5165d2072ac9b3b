"""How long an audit takes: of a bundled domain, and of ten thousand rows.

The numbers are seconds of this machine; the two aims are those of the reference page.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._loading.finding import BUNDLED

MANY = 10_000
AIM_FEW, AIM_MANY = 3.0, 60.0


def made(folder: Path, rows: int) -> Path:
    """Write the bundled domain with its rows again and again, under other ids."""
    source = BUNDLED / "dangerous_goods"
    for name in ("sop.md", "toolspecs.json", "policy.py"):
        (folder / name).write_bytes((source / name).read_bytes())
    metadata = json.loads((source / "metadata.json").read_text("utf-8"))
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    header, *lines = (source / "data.csv").read_text("utf-8").splitlines()
    content = [line.partition(",")[2] for line in lines]
    every = (f"P_{number:05},{content[number % len(content)]}" for number in range(rows))
    (folder / "data.csv").write_text("\n".join([header, *every]) + "\n", "utf-8")
    return folder


def seconds(folder: Path) -> float:
    """The time of one audit."""
    began = time.perf_counter()
    audit(folder)
    return time.perf_counter() - began


def main() -> int:
    """Print both times; 1 where one is over its aim."""
    small = "--small" in sys.argv[1:]
    few = seconds(BUNDLED / "dangerous_goods")
    print(f"327 rows x 5 tools     {few:6.2f} s   aim {AIM_FEW:.0f} s")
    with tempfile.TemporaryDirectory() as name:
        rows = MANY // 10 if small else MANY
        many = seconds(made(Path(name), rows))
    print(f"{rows:,} rows x 5 tools  {many:6.2f} s   aim {AIM_MANY:.0f} s")
    return int(few > AIM_FEW or many > AIM_MANY)


if __name__ == "__main__":
    sys.exit(main())
