"""Files of expected calls that cannot be used."""

from __future__ import annotations

import json
from typing import Any

from campaign.folders.breakage import Breakage, replaced, sound, write

FILE = "expected_calls.jsonl"


def _line(calls: Any, task: Any = "T_01", **more: Any) -> str:
    return json.dumps({"task": task, "calls": calls} | more) + "\n"


def call(name: Any = "measure", arguments: Any = None, **more: Any) -> dict[str, Any]:
    """A call, as a line has it."""
    return {
        "name": name,
        "arguments": {"sample_id": "T_01"} if arguments is None else arguments,
    } | more


GOOD = _line([call()])

LINES: dict[str, str] = {
    "are no JSON": "measure\n",
    "are a list": "[]\n",
    "are a number": "5\n",
    "are null": "null\n",
    "lack the task": json.dumps({"calls": []}) + "\n",
    "lack the calls": json.dumps({"task": "T_01"}) + "\n",
    "have a key more": _line([], why="x"),
    "have a number for a task": _line([], task=1),
    "have a task that is not there": _line([call()], task="T_99"),
    "have a text for calls": _line("measure"),
    "have an object for calls": _line({}),
    "have a call that is a text": _line(["measure"]),
    "have a call that is null": _line([None]),
    "have a call without a name": _line([{"arguments": {}}]),
    "have a call without arguments": _line([{"name": "measure"}]),
    "have a number for a name": _line([call(name=5)]),
    "have a list for arguments": _line([call(arguments=[1])]),
    "have a text for arguments": _line([call(arguments="{}")]),
    "have a call with a key more": _line([call(result=1)]),
    "have a tool that is not there": _line([call(name="weigh")]),
    "have a group of nothing": _line([[]]),
    "have a group in a group": _line([[[call()]]]),
    "have a group with a text": _line([[call(), "x"]]),
    "have NaN": '{"task": "T_01", "calls": [NaN]}\n',
    "are nested 50,000 times": "[" * 50_000 + "]" * 50_000 + "\n",
    "are nested 500 times": _line([call(arguments={"a": json.loads("[" * 500 + "]" * 500)})]),
    "have a number of 5,000 digits": '{"task": "T_01", "calls": [' + "9" * 5_000 + "]}\n",
    "have half a surrogate pair": '{"task": "T_01", "calls": ["\\ud800"]}\n',
    "have marks of a merge": "<<<<<<< HEAD\n",
    "are cut off": GOOD[:-10],
}
"""The second line, after a good one for another task."""

BREAKAGES: list[Breakage] = [
    *(
        replaced(f"expected calls {name}", FILE, _line([call()], task="T_02") + line, "row 2")
        for name, line in LINES.items()
    ),
    replaced("expected calls name a task twice", FILE, GOOD + GOOD, "row 2"),
    replaced("expected calls in UTF-16", FILE, GOOD.encode("utf-16")),
    replaced("expected calls with NUL", FILE, GOOD + "\0\n", "row 2"),
    sound("expected calls are empty", write(FILE, "")),
    sound("expected calls with a byte order mark", write(FILE, "\ufeff" + GOOD)),
    sound("expected calls of another way", write(FILE, _line([call(), call()]))),
]
