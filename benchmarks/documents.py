"""What judging documents costs: 120 tasks of 19 fields, read from text, validated and compared.

    python benchmarks/documents.py [--small]

It exits with 1 where a run costs more than a millisecond.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from typing import Any

from tables import is_small

from pytest_sopbench._core.documents.schema import DocumentRules, Role
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind, Trace

TASKS, ROUNDS = 120, 50
LIMIT_US = 1_000.0

TEXTS = [f"field_{number}" for number in range(8)]
NUMBERS = [f"amount_{number}" for number in range(6)]
SCHEMA: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "step": {"enum": [f"{a}.{b}" for a in range(1, 9) for b in range(1, 9)]},
        **{name: {"type": "string", "maxLength": 200} for name in TEXTS},
        **{name: {"type": "number"} for name in NUMBERS},
        "stay": {"type": "object", "properties": {"room": {"type": "string"}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "reason": {"type": "string"},
        "guests": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                "required": ["name"],
            },
        },
    },
    "required": ["step", *TEXTS, *NUMBERS],
    "additionalProperties": False,
}


def document(number: int) -> dict[str, Any]:
    """Return the expected document of one task: 19 fields, two of them lists."""
    return {
        "step": f"{1 + number % 8}.{1 + number % 7}",
        **{name: f"Words of {name}, as task {number} has them" for name in TEXTS},
        **dict.fromkeys(NUMBERS, number * 1.5),
        "stay": {"room": f"{number}"},
        "tags": ["late", "paid", f"t{number % 5}"],
        "reason": "any",
        "guests": [{"name": f"Guest {n}", "age": 30 + n} for n in range(4)],
    }


def slipped(number: int) -> dict[str, Any]:
    """Return what an agent says: every second answer has two slips, and lists turned round."""
    said = copy.deepcopy(document(number))
    said["tags"].reverse()
    said["guests"].reverse()
    if number % 2:
        said["amount_3"] += 1
        said["guests"][1]["age"] += 1
    return said


def main() -> int:
    """Print what a run costs; 1 where that is too much."""
    rules = JudgingRules(
        fields=(),
        document=DocumentRules(
            schema=SCHEMA, ignored=("reason",), roles={"step": Role.ROUTE, "stay.room": Role.TEXT}
        ),
    )
    made: list[tuple[Task, Trace]] = []
    for number in range(TASKS):
        task = Task(
            domain="d", id=f"{number}", line=1, inputs={}, expected=document(number), results={},
            hash="",
        )  # fmt: skip
        text = f"```json\n{json.dumps(slipped(number), indent=2)}\n```"
        returned = Returned(kind=ReturnedKind.TEXT, text=text)
        made.append((task, Trace(ending=Ending.RETURNED, returned=returned)))
    rounds = 3 if is_small(__doc__) else ROUNDS
    wrong = sum(not judge(rules, task, trace).correct for task, trace in made)
    started = time.process_time()
    for _ in range(rounds):
        for task, trace in made:
            judge(rules, task, trace)
    cost = (time.process_time() - started) / (rounds * TASKS) * 1e6
    fields = len(document(0))
    print(f"{TASKS} tasks x {fields} fields: {cost:.0f} us per run, limit {LIMIT_US:.0f}")
    print(f"  {wrong} of them with two slips; read from a fence, validated, compared")
    return int(cost > LIMIT_US)


if __name__ == "__main__":
    sys.exit(main())
