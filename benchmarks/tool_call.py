"""What one recorded and checked look-up call costs, beside a bare look-up in a dict.

    python benchmarks/tool_call.py [--small]

The cost of a call must stay under 20 microseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from tables import Table, is_small

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import FieldType, LookupTool, OutputField, Task, ToolSpec
from pytest_sopbench._running.tools.toolbox import ToolboxFactory

CALLS, SMALL_CALLS = 20_000, 2_000
ROUNDS = 5
LIMIT_US = 20.0

SPEC = ToolSpec(
    name="get_score",
    description="Return the score of a parcel.",
    parameters={
        "type": "object",
        "properties": {
            "parcel_id": {"type": "string", "pattern": "^PX[0-9]+$"},
            "label": {"type": "string", "minLength": 1},
        },
        "required": ["parcel_id", "label"],
        "additionalProperties": False,
    },
)
TASK = Task(
    domain="parcels",
    id="PX1",
    line=2,
    inputs={"parcel_id": "PX1", "label": "Fragile glass, this side up"},
    expected={"shelf": "A"},
    results={"score": 4},
    hash="",
)
TOOL = LookupTool(name="get_score", key=("parcel_id",), check=("label",), returns=("score",))
DOMAIN = Domain(
    name="parcels",
    folder=Path(),
    data_file=Path("data.csv"),
    sop="",
    tool_specs=(SPEC,),
    fields=(OutputField(name="shelf", type=FieldType.TEXT),),
    tasks=(TASK,),
    task_ids=("PX1",),
    input_columns=("parcel_id", "label"),
    lookups={"get_score": TOOL},
)


def microseconds(call: Callable[[], object], calls: int) -> float:
    """The best of some rounds, per call: the others measure what else the machine did."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - began)
    return best / calls * 1e6


def main() -> int:
    """Print microseconds per call; the status is 1 where a call costs too much."""
    calls = SMALL_CALLS if is_small(__doc__) else CALLS
    factory = ToolboxFactory(DOMAIN)
    toolbox = factory.open(TASK, max_calls=calls * ROUNDS, clock=time.perf_counter)
    tools, arguments = toolbox.tools, dict(TASK.inputs)
    rows = {"PX1": {"score": 4}}

    bare = microseconds(lambda: rows["PX1"], calls)
    recorded = microseconds(lambda: tools.call("get_score", **arguments), calls)

    table = Table("", "recorded", "bare dict")
    table.row("one tool call", f"{recorded:.2f} us", f"{bare:.2f} us", value=recorded / bare)
    table.row("  in microseconds", f"{recorded:.2f} us", value=recorded, most=LIMIT_US)
    return table.status


if __name__ == "__main__":
    sys.exit(main())
