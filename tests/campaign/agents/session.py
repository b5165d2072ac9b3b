"""A session in which some tasks make the agent misbehave, and others do not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from campaign.agents.kind import Harm, Kind
from campaign.agents.modes import Mode
from campaign.forked import fork_sopbench
from campaign.kit import (
    RIGHT,
    Ended,
    excerpt,
    lines,
    run_pytest,
    sessions,
    traceback_of_ours,
    write_lab,
)

HEAD = f'''
"""Agents that misbehave on some tasks."""

import os

WRONG = {{"grade": "unknown"}}
KEPT = []
EXIT = os._exit


def broken(*args, **named):
    raise RuntimeError("broken")

{RIGHT}
'''

TAIL = """

def agent(inputs, tools):
    culprit = CULPRITS.get(inputs["sample_id"])
    return right(inputs, tools) if culprit is None else culprit(inputs, tools)
"""

GATE = "--sop-gate=tsr=1"

REASON = re.compile(
    r"^gate   |^sop: |^not saved: |^ERROR: | was closed at |^Fatal Python error: "
    r"|^MemoryError|^worker 'gw\d' crashed|^E  ",
    re.MULTILINE,
)
"""How a line begins that says why a session failed, of us or of who met the fault first."""

SHOWN = 5
"""Failures of one session that are told."""


def survives(kinds: Sequence[Kind], mode: Mode, seed: int, folder: Path) -> str | None:
    """Run a session with these culprits; return what failed, or None."""
    culprits = _write(kinds, seed, folder)
    options = mode.options(kinds[0].harm)
    ended = run_pytest(
        folder, "--sop-domain=lab", "--agent=rogues:agent", GATE, *options, xdist=mode.workers
    )
    strict = kinds[0].harm in (Harm.NONE, Harm.HANGS) or (
        kinds[0].harm is Harm.KILLS and mode.workers
    )
    failures = list(islice(_failures(ended, culprits, folder, strict=strict), SHOWN))
    return "\n".join([*failures, "--- the session", excerpt(ended)]) if failures else None


def _write(kinds: Sequence[Kind], seed: int, folder: Path) -> Mapping[str, Kind]:
    """Write a domain with innocent tasks around the culprits; return these by their tasks."""
    innocent = 4 + len(kinds) // 3
    names = [f"T_{number:02}" for number in range(1, len(kinds) + innocent + 1)]
    # The first and the last are innocent: what comes after a culprit counts as much.
    places = Random(f"{seed}/{kinds[0].name}").sample(names[1:-1], len(kinds))  # noqa: S311
    write_lab(folder, tasks=len(names))
    functions = [kind.function(f"misbehave_{place}") for place, kind in enumerate(kinds)]
    table = ", ".join(f"{name!r}: misbehave_{place}" for place, name in enumerate(places))
    source = "\n\n".join([HEAD, *functions, f"CULPRITS = {{{table}}}\n", TAIL])
    (folder / "rogues.py").write_text(source, encoding="utf-8")
    return dict(zip(places, kinds, strict=True))


def _failures(
    ended: Ended, culprits: Mapping[str, Kind], folder: Path, *, strict: bool
) -> Iterator[str]:
    harms = {kind.harm for kind in culprits.values()}
    if ended.status == 0:
        yield "the session ends with 0"
    if Harm.SABOTAGES in harms:
        if gate_holds(folder):
            yield "`sopbench gate last` holds"
        return
    if ended.status is None:
        yield "a hang"
    yield from _of_text(ended.text, harms)
    saved = sessions(folder)
    entries = lines(saved[-1]) if saved and saved[-1].is_file() else []
    runs = {one["task"]: one["outcome"] for one in entries if one.get("type") == "run"}
    yield from _of_outcomes(runs, culprits, strict=strict)
    if strict:
        yield from _of_accounts(entries, runs)
        if ended.status != 1:
            yield f"the gate that does not hold ends the session with {ended.status}, not 1"
        return
    if gate_holds(folder):
        yield "`sopbench gate last` holds"
    untried = [kind.name for task, kind in culprits.items() if task not in runs]
    if untried and len(culprits) > 1:
        yield f"it ended before these were tried: {untried}"


def _of_text(text: str, harms: Collection[Harm]) -> Iterator[str]:
    """Say what the session lacks, or shows too much of, whatever became of its runs."""
    if Harm.BREAKS in harms and REASON.search(text) is None:
        yield "no line says why the session failed"
    found = traceback_of_ours(text)
    if found is not None and Harm.ANYWHERE not in harms:
        yield found


def _of_outcomes(
    runs: Mapping[str, str], culprits: Mapping[str, Kind], *, strict: bool
) -> Iterator[str]:
    for task, outcome in runs.items():
        if task in culprits and outcome == "correct":
            yield f"{task} ({culprits[task].name}) is correct"
    if strict:
        wronged = {task: one for task, one in runs.items() if task not in culprits}
        for task, outcome in wronged.items():
            if outcome != "correct":
                yield f"{task} is innocent, and counts as {outcome}"
    elif any(one == "wrong" for task, one in runs.items() if task not in culprits):
        # What is broken may keep a run from being made; it never makes a right answer wrong.
        yield f"an innocent task counts as wrong: {runs}"


def _of_accounts(entries: Sequence[Mapping[str, Any]], runs: Mapping[str, str]) -> Iterator[str]:
    if not entries or entries[-1].get("type") != "summary":
        yield "the saved session has no end"
        return
    planned = entries[0]["domains"]["lab"]["planned"]
    if sorted(planned) != sorted(runs):
        yield f"of {planned} only {sorted(runs)} are in the saved session"
    counted = entries[-1]["domains"]["lab"]["runs"]
    if counted != len(planned):
        yield f"the summary counts {counted} runs of {len(planned)}"


def gate_holds(folder: Path) -> bool:
    """Whether a later command takes the session for one whose gate holds."""
    return fork_sopbench(folder, "gate", "last", "--gate", "tsr=1").status == 0
