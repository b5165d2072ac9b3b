"""What it costs to look at a large saved session: `sopbench show`, `gate` and `compare`.

    python benchmarks/saved_sessions.py [--small]

Two kinds of session have the same size: few runs that said and called much, and many that said
little. They are written line by line and hold invented runs of a domain that is not at hand. Each
command is a process of its own; its time on the wall and its peak of memory are printed, the
smallest of three, beside what it takes to import Python's `json` and read the bytes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tables import Table, is_small

from pytest_sopbench._core.model.trace import Mismatch, Usage
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.header import DomainHeader, SessionHeader
from pytest_sopbench._sessions.saved import summarized
from pytest_sopbench._sessions.writer import store_session

LONG, MANY = 3_000, 100_000
SMALL = 20
"""How many times smaller a quick look is."""

ROUNDS = 3
SECONDS = {"show": 2, "gate": 2, "compare": 4}
MEGABYTES = 150
LABELS = tuple(f"Class {letter}" for letter in "ABCD")


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a process took: seconds on the wall, and its peak of memory in megabytes."""

    wall: float
    peak: float


def long_run(number: int, right: bool) -> RunRecord:
    """Return a run of about 20 kB: 14 calls, and a text as long as one that is kept."""
    calls = tuple(
        CallRecord(
            name=f"tool_{step % 5}",
            arguments={"product_id": f"P_{number}", "text": "given " * 40},
            result={"score": step, "text": "what the tool found " * 45},
        )
        for step in range(14)
    )
    text = 'It says "this", and that.\n' * 150
    return run_of(number, right, calls=calls, text=text, usage=Usage(input_tokens=number))


def short_run(number: int, right: bool) -> RunRecord:
    """Return a run that called one tool and said nothing."""
    return run_of(number, right, calls=(CallRecord(name="tool", arguments={}),))


def run_of(number: int, right: bool, **more: object) -> RunRecord:
    """Return a run of one of four labels."""
    expected, wrong = LABELS[number % 4], LABELS[(number + 1) % 4]
    actual = expected if right else wrong
    mismatch = Mismatch(field="label", expected=expected, actual=actual, why="other known label")
    return RunRecord(
        domain="lab",
        task=f"T{number}",
        agent="agents:agent",
        task_hash=f"{number:016x}",
        outcome=Outcome.CORRECT if right else Outcome.WRONG,
        reason="" if right else "label: other known label",
        answer={"label": actual},
        answer_form="mapping",
        expected={"label": expected},
        mismatches=() if right else (mismatch,),
        duration_s=number / 1000,
        **more,  # type: ignore[arg-type]
    )


def write(path: Path, runs: int, kind: str, seed: int) -> None:
    """Write a session whose runs are right in nine of ten cases."""
    drawn = random.Random(seed)  # noqa: S311 - nothing to hide
    make = long_run if kind == "long" else short_run
    right = [drawn.random() < 0.9 for _ in range(runs)]

    def records() -> Iterator[RunRecord]:
        return (make(number, one) for number, one in enumerate(right))

    header = SessionHeader(
        plugin="1.0",
        agent="agents:agent",
        started="2026-01-01T00:00:00+00:00",
        judging="j",
        identity=f"{seed:016x}",
        domains={
            "lab": DomainHeader(judging="j", planned=tuple(f"T{number}" for number in range(runs)))
        },
    )
    store_session(path, header, records(), summarized(records()))


def cost(folder: Path, *command: str) -> Cost:
    """Run a command three times; its smallest time, and its smallest peak."""
    found: list[Cost] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, stdout=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in {0, 1}:
            sys.exit(f"{' '.join(command)} ended with {process.returncode}")
        found.append(Cost(wall=wall, peak=usage.ru_maxrss / 1024))
    return Cost(wall=min(one.wall for one in found), peak=min(one.peak for one in found))


COMMANDS = {
    "show": ("show", "./now.jsonl"),
    "gate": ("gate", "./now.jsonl", "--fail-under", "0.8"),
    "compare": ("compare", "./base.jsonl", "./now.jsonl", "--gate", "lost=0"),
}
READING = "import json; print(len(open('now.jsonl', 'rb').read()))"
SOPBENCH = ("-c", "import sys; from pytest_sopbench.cli import main; sys.exit(main())")


def measure(folder: Path, table: Table, kind: str, runs: int) -> None:
    """Write two sessions of a kind, and print what each command costs."""
    for name, seed in (("base", 1), ("now", 2)):
        (folder / f"{name}.jsonl").unlink(missing_ok=True)
        write(folder / f"{name}.jsonl", runs, kind, seed)
    size = (folder / "now.jsonl").stat().st_size / 1e6
    reading = cost(folder, "-c", READING)
    for name, command in COMMANDS.items():
        ours = cost(folder, *SOPBENCH, *command)
        what = f"{name}, {runs} runs, {size:.0f} MB"
        table.row(
            f"{what}: seconds",
            f"{ours.wall:.2f} s",
            f"{reading.wall:.2f} s",
            value=ours.wall,
            most=SECONDS[name],
        )
        table.row(
            f"{what}: memory",
            f"{ours.peak:.0f} MB",
            f"{reading.peak:.0f} MB",
            value=ours.peak,
            most=MEGABYTES,
        )


def main() -> int:
    """Print what three commands cost on two kinds of session."""
    shrink = SMALL if is_small(__doc__) else 1
    table = Table("", "sopbench", "reading the bytes")
    with TemporaryDirectory() as name:
        for kind, runs in (("long", LONG), ("short", MANY)):
            measure(Path(name), table, kind, runs // shrink)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
