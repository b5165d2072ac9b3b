"""What the plugin adds to the start of pytest in a project that has nothing to do with it.

    python benchmarks/start_up.py [--small]

Sessions of one test, with the plugin and without it, `sopbench list` of the bundled domains, and a
session of a domain with two tasks, in turn. No other plugin is loaded; without ours an empty one
is, since pytest reads what is installed as soon as a plugin is named. What counts is the time of
the processor, user and system, which is the time on the clock of an idle machine. Bytecode is kept
as in any installation, in a folder of its own.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tables import Table, is_small

STARTS, SMALL_STARTS = 40, 8
LIMIT_MS = 8.0
LIST_LIMIT_MS = 500.0
PLUGIN = ("-p", "pytest_sopbench.plugin")
BARE = ("-p", "empty_plugin")
LIST = ("list", "bundled")
TASKS = (*PLUGIN, "--sop-domain=lab", "--sop-agent=desk:agent")
TASKS_LIMIT = 3.5
METADATA = {"name": "lab", "input_columns": ["sample_id"], "output_columns": ["grade"]}


def processor_ms() -> float:
    """Return what all children so far have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def milliseconds(folder: Path, environment: Mapping[str, str], *args: str) -> float:
    """Return what one session takes of the processor."""
    pytest_ = ("pytest", "-q", "-p", "no:cacheprovider")
    sopbench = ("-c", "from pytest_sopbench.cli import main; main()")
    program = sopbench if args == LIST else ("-m", *pytest_)
    command = [sys.executable, *program, *args]
    before = processor_ms()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return processor_ms() - before


def as_installed(folder: Path) -> dict[str, str]:
    """Return an environment without other plugins, where bytecode is kept in this folder."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def write_project(folder: Path) -> None:
    """Write a test that has nothing to do with us, and a domain with two tasks and its agent."""
    (folder / "empty_plugin.py").touch()
    (folder / "test_it.py").write_text("def test_it():\n    assert True\n", "utf-8")
    domain = folder / "domains" / "lab"
    domain.mkdir(parents=True)
    (domain / "sop.md").write_text("Grade the sample.\n", "utf-8")
    (domain / "metadata.json").write_text(json.dumps(METADATA), "utf-8")
    (domain / "data.csv").write_text("sample_id,grade\nT_1,pass\nT_2,pass\n", "utf-8")
    agent = "def agent(inputs):\n    return {'grade': 'pass'}\n"
    (folder / "desk.py").write_text(agent, "utf-8")


def main() -> int:
    """Print the medians; the status is 1 where they are too far apart."""
    starts = SMALL_STARTS if is_small(__doc__) else STARTS
    kinds = (PLUGIN, BARE, LIST, TASKS)
    with TemporaryDirectory() as name, TemporaryDirectory() as compiled:
        folder, environment = Path(name), as_installed(Path(compiled))
        write_project(folder)
        for args in kinds:
            milliseconds(folder, environment, *args)
        rounds = [
            [milliseconds(folder, environment, *args) for args in kinds] for _ in range(starts)
        ]
    ours, bare, listing, tasks = map(statistics.median, zip(*rounds, strict=True))
    table = Table(f"medians of {starts} starts, processor", "with it", "without")
    table.row("an unrelated project", f"{ours:.1f} ms", f"{bare:.1f} ms", value=ours / bare)
    more = statistics.median(one[0] - one[1] for one in rounds)
    table.row("  difference in milliseconds", f"{more:.1f} ms", value=more, most=LIMIT_MS)
    table.row(
        "sopbench list, bundled domains",
        f"{listing:.0f} ms",
        f"{bare:.0f} ms",
        value=listing / bare,
    )
    table.row("  in milliseconds", f"{listing:.0f} ms", value=listing, most=LIST_LIMIT_MS)
    both = tasks / bare
    table.row(
        "a session of two tasks", f"{tasks:.0f} ms", f"{bare:.0f} ms", value=both, most=TASKS_LIMIT
    )
    return table.status


if __name__ == "__main__":
    sys.exit(main())
