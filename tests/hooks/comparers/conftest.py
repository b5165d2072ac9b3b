"""The domain `claims`: sixty answers with a number, a label, a list, a reason and a letter.

Every third reason is wrong, every fourth letter too short and every fifth refund. Task `C_07` is
the seventh row. A test may ask for more fields: a day, a route and a plan, of which the plan is
wrong with the reason, the route with the letter and the day with the refund.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIELDS = ("refund", "decision", "items", "reason", "letter")
OUTPUTS: dict[str, dict[str, Any]] = {
    "refund": {"type": "number", "tolerance": 0.01},
    "decision": {"type": "enum", "values": ["pay", "refuse", "ask"]},
    "items": {"type": "list"},
    "reason": {"compare": "call", "comparer": "own.compare:same_reason"},
    "letter": {"compare": "call", "comparer": "own.compare:good_letter", "at_least": 0.8},
}

COMPARERS = '''
"""Comparers of a project."""

import asyncio

from pytest_sopbench import Match


def same_reason(expected, actual, *, field, task, answer):
    if field.name != "reason" or answer["reason"] != actual:
        raise AssertionError(field)
    missing = [word for word in expected.split() if word not in actual.split()]
    return Match(not missing, "lacks " + ", ".join(missing), 1 - len(missing) / 4)


async def good_letter(expected, actual, *, field, task, answer):
    await asyncio.sleep(0)
    return min(len(actual) / len(expected), 1.0)


def refuses(expected, actual, *, field, task, answer):
    raise RuntimeError("no dictionary")


def hangs(expected, actual, *, field, task, answer):
    import threading

    threading.Event().wait()


def text(expected, actual, *, field, task, answer):
    return "yes"


def mutates(expected, actual, *, field, task, answer):
    answer.values["reason"] = task.expected["reason"] = "the same"
    return True
'''

AGENTS = '''
"""Answers a claim from its own number."""


def answer(number):
    wrong_reason, short, off = number % 3 == 0, number % 4 == 0, number % 5 == 0
    return {
        "refund": 10 * number + (1 if off else 0),
        "decision": ("pay", "refuse", "ask")[number % 3],
        "items": [f"item {number}", "postage"],
        "reason": "late" if wrong_reason else f"parcel number {number} late",
        "letter": "Dear client, we are" if short else "Dear client, we are sorry.",
        "day": f"{number % 28 + 1}.{6 if off else 5}.2026",
        "route": "by air" if short else f"By sea, berth {number}",
        "plan": {
            "note": f"written at {number}",
            "stops": [{"no": 2, "to": "VELA"}, {"no": number if not wrong_reason else 0}],
        },
    }


def clerk(inputs):
    return answer(int(inputs["claim"].rpartition("_")[2]))


def counted(inputs):
    with open("calls.txt", "a") as file:
        file.write(inputs["claim"] + "\\n")
    return clerk(inputs)
'''

MakeClaims = Callable[..., Path]
ReadSaved = Callable[..., Any]


@pytest.fixture
def make_claims(pytester: pytest.Pytester) -> MakeClaims:
    """Write the domain `claims`, with other words for some of its outputs."""

    def make(*, tasks: int = 60, under: str = "domains", **outputs: dict[str, Any]) -> Path:
        folder = pytester.path / under / "claims"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sop.md").write_text("Read the claim, decide, and write a letter.\n")
        fields = [*FIELDS, *(name for name in outputs if name not in FIELDS)]
        metadata = {
            "name": "claims",
            "output_columns": fields,
            "id_column": "claim",
            "input_columns": ["claim"],
            "outputs": {**OUTPUTS, **outputs},
        }
        (folder / "metadata.json").write_text(json.dumps(metadata))
        with (folder / "data.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["claim", *fields])
            for number in range(1, tasks + 1):
                expected = right_cells(number)
                table.writerow([f"C_{number:02}", *(expected[name] for name in fields)])
        return folder

    return make


def right_cells(number: int) -> dict[str, Any]:
    """Write the right answer to a claim as a data file has it."""
    return {
        "refund": 10 * number,
        "decision": ("pay", "refuse", "ask")[number % 3],
        "items": json.dumps(["postage", f"item {number}"]),
        "reason": f"parcel number {number} late",
        "letter": "Dear client, we are sorry.",
        "day": f"2026-05-{number % 28 + 1:02}",
        "route": rf'["(?i)by sea, berth {number}", "by rail"]',
        "plan": json.dumps({"stops": [{"no": number}, {"to": "Vela", "no": 2}]}),
    }


@pytest.fixture
def claims(make_claims: MakeClaims, pytester: pytest.Pytester) -> Path:
    """The domain `claims` with six tasks, agents in `clerks.py`, comparers in `own/compare.py`."""
    write_code(pytester)
    return make_claims(tasks=6)


@pytest.fixture
def sixty_claims(make_claims: MakeClaims, pytester: pytest.Pytester) -> Path:
    """The same with sixty tasks."""
    write_code(pytester)
    return make_claims()


def write_code(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(clerks=AGENTS)
    package = pytester.mkpydir("own")
    (package / "compare.py").write_text(COMPARERS)


def right_outcomes(tasks: int = 60) -> dict[str, str]:
    """What the agents of `clerks.py` come to, by the arithmetic of their habits."""
    return {
        f"C_{number:02}": "wrong" if any(number % n == 0 for n in (3, 4, 5)) else "correct"
        for number in range(1, tasks + 1)
    }
