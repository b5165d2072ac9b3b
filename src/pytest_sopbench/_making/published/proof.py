"""Have the code of a published folder called in a process of its own, within a time limit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._running.observing.descendants import end_with_descendants, marked

from .calls import RowCall, row_call

_PROGRAM: Final = (
    "import sys; sys.path.extend({paths!r}); sys.dont_write_bytecode = True;"
    " from pytest_sopbench._making.published.child import main; main(*{arguments!r})"
)
_KEPT: Final = ("SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_LEFT_OUT: Final = shutil.ignore_patterns("__pycache__", ".*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """What each tool answered, row by row; `problem` says why that is not all of it."""

    rows: Mapping[str, Sequence[RowCall]] = field(default_factory=dict[str, Sequence[RowCall]])
    problem: str = ""


def call_every_row(
    domain: Domain, cells: Sequence[Mapping[str, str]], *, time_limit: float
) -> Called:
    """Call each tool with the arguments of every row; the code has no environment.

    Args:
        domain: the published folder, loaded.
        cells: its rows as they are written.
        time_limit: seconds for all of it.
    """
    with TemporaryDirectory(prefix="sopbench-import-", ignore_cleanup_errors=True) as name:
        room = Path(name)
        own = room / domain.folder.resolve().name
        shutil.copytree(domain.folder, own, ignore=_LEFT_OUT)
        lines = room / "lines"
        (room / "cells").write_text(json.dumps(cells), encoding="utf-8")
        problem = _run((str(own), str(lines), str(room / "cells")), own, time_limit)
        return _read(lines, problem)


def _run(arguments: Sequence[str], folder: Path, time_limit: float) -> str:
    """Run the child, and say how it ended if not as it should."""
    home = str(Path(__file__).parents[3])
    program = _PROGRAM.format(paths=[home, *sys.path], arguments=tuple(arguments))
    environment = marked({name: os.environ[name] for name in _KEPT if name in os.environ})
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        status = process.wait(time_limit)
    except subprocess.TimeoutExpired:
        return f"was not done after {time_limit:g} seconds"
    finally:
        end_with_descendants(process, environment)
    return "" if status == 0 else f"ended its process with status {status}"


def _read(path: Path, problem: str) -> Called:
    rows: dict[str, list[RowCall]] = defaultdict(list)
    done, refused = False, ""
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    for line in text.splitlines():
        try:
            said: Mapping[str, Any] = json.loads(line)
        except ValueError:
            # The last one may have been cut off.
            break
        done = done or "done" in said
        refused = refused or said.get("refused", "")
        if "tool" in said:
            rows[said["tool"]].append(row_call(said))
    if not done and not problem:
        problem = "ended its process"
    return Called(rows=rows, problem=refused or problem)
