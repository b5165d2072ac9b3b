"""A snapshot: the trajectories that were approved for one task, and how they are written.

The text is JSON. With one trajectory it is a line of `expected_calls.jsonl`, spread over one line
for each call, so that a review shows steps; further ones follow under `or`. How calls that overlap
are written, `call_groups` tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast
from urllib.parse import quote

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall, Trajectory
from pytest_sopbench._core.values.json import JsonValue

from .call_groups import group_lines, read_groups
from .joining import joined
from .match import TrajectoryMatch, match_trajectory
from .overlap import is_sequence, spans, stands_before
from .pairing import answers
from .snapshot_rules import SnapshotRules

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
class SnapshotMatch:
    """A run beside the approved trajectory that is nearest to it.

    `approved` and `made` are normalised; `place` counts from 1 among `of` approved ones. `lost`
    are pairs of steps, the first of which was approved as ending before the second began, and
    had not. A run that makes one after the other what was approved as overlapping departs in
    nothing.
    """

    match: TrajectoryMatch
    approved: tuple[ExpectedCall, ...]
    made: Trajectory
    place: int
    of: int
    lost: tuple[tuple[int, int], ...] = ()

    @property
    def held(self) -> bool:
        return self.match.held and not self.lost


def snapshot_file(domain: str, task: str) -> str:
    """Return where the snapshot of a task lies in the folder of snapshots, with `/`.

    Both parts are percent-encoded, so that no id leads out of the folder.
    """
    name = _encoded(task)
    if len(name) > LONGEST:
        digest = hashlib.sha256(task.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"{name[:LONGEST]}~{digest[:16]}"
    return f"{_encoded(domain)}/{name}{SUFFIX}"


def snapshot_text(snapshot: Snapshot) -> str:
    """Write a snapshot: one call on each line."""
    first, *others = snapshot.approved
    lines = ["{", f' "task": {_json(snapshot.task)},', *_listed(' "calls": ', first, " ")]
    if others:
        lines[-1] += ","
        lines.append(' "or": [')
        for place, one in enumerate(others):
            lines += _listed("  ", one, "  ")
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
        approved=tuple(Trajectory(calls=_read_calls(one)) for one in lists),
    )


def compare(made: Trajectory, snapshot: Snapshot, rules: SnapshotRules) -> SnapshotMatch:
    """Hold a run against what was approved; where nothing fits, against what is nearest."""
    made = rules.normalised(made)
    found: list[SnapshotMatch] = []
    for place, one in enumerate(snapshot.approved, start=1):
        approved = tuple(
            ExpectedCall(
                name=call.name,
                arguments=cast("Mapping[str, JsonValue]", call.arguments),
                overlaps=call.overlaps,
            )
            for call in rules.normalised(one)
        )
        match = match_trajectory(
            made, approved, per_tool={call.name: rules.mode(call.name) for call in approved}
        )
        comparison = SnapshotMatch(
            match=match,
            approved=approved,
            made=made,
            place=place,
            of=len(snapshot.approved),
            lost=_lost(match, approved, made, rules) if match.held else (),
        )
        found.append(comparison)
        if comparison.held:
            break
    return min(found, key=_distance)


def _distance(one: SnapshotMatch) -> tuple[bool, int]:
    match = one.match
    apart = (*match.out_of_order, *match.unlike, *match.missing, *match.extra)
    return not match.held, len(apart) + len(one.lost)


def _lost(
    match: TrajectoryMatch,
    approved: Sequence[ExpectedCall],
    made: Trajectory,
    rules: SnapshotRules,
) -> tuple[tuple[int, int], ...]:
    """Return what was approved as one call after the other and overlaps in the run."""
    if is_sequence(made):
        return ()
    same = [[answers(one, other, rules.mode) for other in made] for one in approved]
    if joined(same, spans(approved), spans(made.calls), law="kept", whole=True) is not None:
        return ()
    pairs = [(pair.place - 1, pair.step - 1) for pair in match.pairs]
    return tuple(
        (step + 1, other + 1)
        for place, step in pairs
        for later, other in pairs
        if place < later
        and stands_before(approved, place, later)
        and not (step < other and stands_before(made.calls, step, other))
    )


def _encoded(text: str) -> str:
    name = quote(text, safe=_SAFE, errors="surrogatepass")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _listed(label: str, trajectory: Trajectory, indent: str) -> list[str]:
    lines = [f"{indent} {line}" for line in group_lines(trajectory.calls)]
    return [f"{label}[", *lines, f"{indent}]"] if lines else [f"{label}[]"]


def _read_calls(calls: object) -> tuple[Call, ...]:
    if not isinstance(calls, list):
        _refuse("the calls of a trajectory must be a list")
    return read_groups(cast("list[object]", calls), Call)


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


def _json(value: JsonValue) -> str:
    return _ENCODER.encode(value)
