"""A snapshot: the trajectories that were approved for one task, and how they are written.

The text is JSON. With one trajectory it is a line of `expected_calls.jsonl`, spread over one line
for each call, so that a review shows steps; further ones follow under `or`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast
from urllib.parse import quote

from .models import JsonValue
from .snapshot_rules import SnapshotRules
from .trajectory import Call, ExpectedCall, Trajectory
from .trajectory_match import TrajectoryMatch, match_trajectory

SUFFIX: Final = ".json"
LONGEST: Final = 150
"""Characters of a file's name before its suffix; a longer one ends in a hash."""

_SAFE: Final = "-._~+=,@"
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_KEYS: Final = ({"task", "calls"}, {"task", "calls", "or"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was approved for a task: at least one trajectory, any of which is good."""

    task: str
    approved: tuple[Trajectory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A run beside the approved trajectory that is nearest to it.

    `approved` and `made` are normalised; `place` counts from 1 among `of` approved ones.
    """

    match: TrajectoryMatch
    approved: tuple[ExpectedCall, ...]
    made: Trajectory
    place: int
    of: int

    @property
    def held(self) -> bool:
        return self.match.held


def snapshot_file(domain: str, task: str) -> str:
    """Return where the snapshot of a task lies in the folder of snapshots, with `/`.

    Both parts are percent-encoded, so that no id leads out of the folder.
    """
    name = _encoded(task)
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}~{hashlib.sha256(task.encode()).hexdigest()[:16]}"
    return f"{_encoded(domain)}/{name}{SUFFIX}"


def snapshot_text(snapshot: Snapshot) -> str:
    """Write a snapshot: one call on each line."""
    first, *others = snapshot.approved
    lines = ["{", f' "task": {_json(snapshot.task)},', *_calls(' "calls": ', first, " ")]
    if others:
        lines[-1] += ","
        lines.append(' "or": [')
        for place, one in enumerate(others):
            lines += _calls("  ", one, "  ")
            lines[-1] += "," if place + 1 < len(others) else ""
        lines.append(" ]")
    return "\n".join([*lines, "}", ""])


def read_snapshot(text: str) -> Snapshot:
    """Read what `snapshot_text` wrote, or what a person made of it.

    Raises:
        ValueError: it is no snapshot; the message says why.
    """
    try:
        data: Any = json.loads(text)
    except ValueError as fault:
        _refuse(f"not JSON: {fault}")
    if not isinstance(data, dict) or set(cast("dict[str, Any]", data)) not in _KEYS:
        _refuse("not an object with 'task', 'calls' and, for further trajectories, 'or'")
    fields = cast("dict[str, Any]", data)
    others = fields.get("or", [])
    if not isinstance(fields["task"], str) or not isinstance(others, list):
        _refuse("'task' must be a text, and 'or' a list of lists of calls")
    lists = [fields["calls"], *cast("list[object]", others)]
    return Snapshot(
        task=fields["task"],
        approved=tuple(Trajectory(calls=tuple(_read_calls(one))) for one in lists),
    )


def compare(made: Trajectory, snapshot: Snapshot, rules: SnapshotRules) -> Comparison:
    """Hold a run against what was approved; where nothing fits, against what is nearest."""
    made = rules.normalised(made)
    found: list[Comparison] = []
    for place, one in enumerate(snapshot.approved, start=1):
        approved = tuple(
            ExpectedCall(name=call.name, arguments=cast("Mapping[str, JsonValue]", call.arguments))
            for call in rules.normalised(one)
        )
        match = match_trajectory(
            made, approved, per_tool={call.name: rules.mode(call.name) for call in approved}
        )
        found.append(
            Comparison(
                match=match, approved=approved, made=made, place=place, of=len(snapshot.approved)
            )
        )
        if match.held:
            break
    return min(found, key=_distance)


def _distance(one: Comparison) -> tuple[bool, int]:
    match = one.match
    apart = (*match.out_of_order, *match.unlike, *match.missing, *match.extra)
    return not match.held, len(apart)


def _encoded(text: str) -> str:
    name = quote(text, safe=_SAFE)
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _calls(label: str, trajectory: Trajectory, indent: str) -> Iterator[str]:
    if not len(trajectory):
        yield f"{label}[]"
        return
    yield f"{label}["
    last = len(trajectory) - 1
    for place, call in enumerate(trajectory):
        end = "" if place == last else ","
        parts = f'{{"name": {_json(call.name)}, "arguments": {_json(call.arguments)}}}'
        yield f"{indent} {parts}{end}"
    yield f"{indent}]"


def _read_calls(calls: object) -> Iterator[Call]:
    if not isinstance(calls, list):
        _refuse("the calls of a trajectory must be a list")
    for step, call in enumerate(cast("list[object]", calls), start=1):
        if not isinstance(call, dict) or set(cast("dict[str, Any]", call)) != {"name", "arguments"}:
            _refuse(f"call {step} is not an object with 'name' and 'arguments'")
        fields = cast("dict[str, Any]", call)
        if not isinstance(fields["name"], str) or not isinstance(fields["arguments"], dict):
            _refuse(f"call {step}: 'name' must be a text, and 'arguments' an object")
        yield Call(name=fields["name"], arguments=cast("JsonValue", fields["arguments"]))


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


def _json(value: JsonValue) -> str:
    return _ENCODER.encode(value)
