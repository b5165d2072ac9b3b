"""A trajectory as a snapshot: what of it is kept, masked, compared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn, cast, get_args

from pytest_sopbench._core.trajectory.calls import canonical
from pytest_sopbench._core.values.json import STRICT, JsonValue
from pytest_sopbench._core.values.text import safe_name

from .calls import (
    ArgumentMode,
    Call,
    ExpectedCall,
    Trajectory,
    group_lines,
    is_sequence,
    read_groups,
    spans,
    stands_before,
)
from .match import TrajectoryMatch, answers, joined, match_trajectory

# What of a trajectory is the same in every good run, and what changes from run to run.
#
# Both sides of a comparison are normalised, so a rule that is added later holds for snapshots that
# were approved before. To normalise twice is to normalise once.

DIGITS: Final = 9
"""Significant digits of a float that count, unless a rule says otherwise."""

IGNORED: Final = "<any>"
"""What stands for the value of an argument that a rule ignores."""

UNNAMED: Final = "<arguments>"
"""The name under which arguments are kept that are no object."""

BUILT_IN: Final[Mapping[str, str]] = {
    "uuid": r"(?i)(?<![0-9a-f-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f-])",
    "time": r"(?<!\d)\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?"
    r"(?:Z|\s?[+-]\d\d:?\d\d)?(?!\d)",
}
"""Values made at run time that are known without a rule, by the name that replaces them."""

EVERY: Final = "*"

_FORMS: Final = (
    "arguments:TOOL=exact|contains|ignore, ignore:TOOL.ARGUMENT, replace:NAME=REGEX, "
    "keep:uuid, keep:time or digits=N"
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRules:
    """How trajectories are compared with approved ones.

    `modes` by tool, `*` for all that are not named; `ignored` are pairs of tool (or `*`) and
    argument; `patterns` by the name that replaces what they match, in the order of application.
    """

    modes: Mapping[str, ArgumentMode] = field(default_factory=dict[str, ArgumentMode])
    ignored: frozenset[tuple[str, str]] = frozenset()
    patterns: Mapping[str, re.Pattern[str]] = field(
        default_factory=lambda: {name: re.compile(one) for name, one in BUILT_IN.items()}
    )
    digits: int = DIGITS

    def mode(self, tool: str) -> ArgumentMode:
        """Return how the arguments of a tool are compared."""
        return self.modes.get(tool, self.modes.get(EVERY, "exact"))

    def normalised(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory without what changes from run to run.

        Of calls that overlap, it changes which began first.
        """
        calls = tuple(self._call(call) for call in trajectory)
        if is_sequence(calls):
            return Trajectory(calls=calls)
        keys = [json.dumps([call.name, call.arguments], sort_keys=True) for call in calls]
        return Trajectory(
            calls=tuple(
                replace(calls[at], overlaps=overlaps) for at, overlaps in canonical(calls, keys)
            )
        )

    def _call(self, call: Call) -> Call:
        if self.mode(call.name) == "ignore":
            return replace(call, arguments={})
        arguments = call.arguments
        if not isinstance(arguments, Mapping):
            arguments = {UNNAMED: arguments}
        return replace(
            call,
            arguments={
                name: self._value(arguments[name])
                if self.ignored.isdisjoint({(call.name, name), (EVERY, name)})
                else IGNORED
                for name in sorted(arguments)
            },
        )

    def _value(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float):
            # Adding zero turns a negative zero into the other one.
            return float(f"{value:.{self.digits}g}") + 0.0
        if isinstance(value, Mapping):
            return {name: self._value(value[name]) for name in sorted(value)}
        if isinstance(value, Sequence):
            return [self._value(one) for one in value]
        return value

    def _text(self, text: str) -> str:
        for name, pattern in self.patterns.items():
            if pattern.search(text):
                text = self._replaced(text, name, pattern)
        return text

    def _replaced(self, text: str, name: str, pattern: re.Pattern[str]) -> str:
        # A match inside of what was put there before is no value of a run.
        names = "|".join(map(re.escape, self.patterns))
        placed = re.finditer(f"<(?:{names})>", text) if "<" in text else ()
        taken = [found.span() for found in placed]

        def put(found: re.Match[str]) -> str:
            start, end = found.span()
            inside = any(begin < end and start < stop for begin, stop in taken)
            return found[0] if inside or start == end else f"<{name}>"

        return pattern.sub(put, text)


DEFAULT_RULES = SnapshotRules()
"""What holds if a project sets no rule."""


def read_rules(values: Sequence[str]) -> SnapshotRules:
    """Read the rules of a project, each in one of the forms of the ini value.

    Raises:
        ValueError: a value has none of the forms; the message says which one and why.
    """
    modes: dict[str, ArgumentMode] = {}
    ignored: set[tuple[str, str]] = set()
    patterns = dict(DEFAULT_RULES.patterns)
    digits = DIGITS
    for value in values:
        kind, _, rest = value.partition(":")
        name, sign, given = rest.partition("=")
        tool, dot, argument = rest.rpartition(".")
        if kind == "arguments" and name and given in get_args(ArgumentMode):
            modes[name] = cast("ArgumentMode", given)
        elif kind == "ignore" and tool and dot and argument:
            ignored.add((tool, argument))
        elif kind == "replace" and sign and _NAME.fullmatch(name):
            patterns[name] = _pattern(value, given)
        elif kind == "keep" and rest in BUILT_IN:
            patterns.pop(rest, None)
        elif re.fullmatch(r"digits=([1-9]|1[0-7])", value):
            digits = int(value.removeprefix("digits="))
        else:
            msg = f"{value!r} is no rule; write {_FORMS}"
            raise ValueError(msg)
    return SnapshotRules(modes=modes, ignored=frozenset(ignored), patterns=patterns, digits=digits)


def _pattern(value: str, given: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(given)
    except re.error as fault:
        msg = f"{value!r}: not a regular expression: {fault}"
        raise ValueError(msg) from None
    if pattern.fullmatch(""):
        msg = f"{value!r}: it matches nothing at all, and so everywhere"
        raise ValueError(msg)
    return pattern


# A snapshot: the trajectories that were approved for one task, and how they are written.
#
# The text is JSON. With one trajectory it is a line of `expected_calls.jsonl`, spread over one
# line for each call, so that a review shows steps; further ones follow under `or`. How calls that
# overlap are written, `call_groups` tells.

SUFFIX: Final = ".json"
LONGEST: Final = 150
"""Characters of a file's name before its suffix; a longer one ends in a hash."""

_SAFE: Final = "+=,@"
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


def snapshot_file(domain: str, task: str, *, folder: str = "") -> str:
    """Return where the snapshot of a task lies in the folder of snapshots, with `/`.

    `folder` is one in the domain's. Both parts are percent-encoded, so that no id leads out of it.
    """
    name = safe_name(task, longest=LONGEST, safe=_SAFE)
    place = safe_name(domain, longest=LONGEST, safe=_SAFE), folder, f"{name}{SUFFIX}"
    return "/".join(part for part in place if part)


def snapshot_text(snapshot: Snapshot) -> str:
    """Write a snapshot: one call on each line."""
    first, *others = snapshot.approved
    lines = ["{", f' "task": {_ENCODER.encode(snapshot.task)},', *_listed(' "calls": ', first, " ")]
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
        data: Any = STRICT.decode(text)
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
    """Hold a run against what was approved; if nothing fits, against what is nearest."""
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


def _listed(label: str, trajectory: Trajectory, indent: str) -> list[str]:
    lines = [f"{indent} {line}" for line in group_lines(trajectory.calls)]
    return [f"{label}[", *lines, f"{indent}]"] if lines else [f"{label}[]"]


def _read_calls(calls: object) -> tuple[Call, ...]:
    if not isinstance(calls, list):
        _refuse("the calls of a trajectory must be a list")
    return read_groups(cast("list[object]", calls), Call)


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


# A document as a snapshot keeps it: the arguments of one call that no tool takes.

ANSWER: Final = "answer"
"""The name of the call; a domain whose answer is a document has no tools."""


def as_trajectory(document: Mapping[str, JsonValue]) -> Trajectory:
    """Return a document in the form in which snapshots are written."""
    return Trajectory(calls=(Call(name=ANSWER, arguments=document),))


def approved_documents(snapshot: Snapshot) -> tuple[Mapping[str, JsonValue], ...]:
    """Return the documents that were approved, and nothing of trajectories of another kind."""
    single = [one.calls[0] for one in snapshot.approved if len(one.calls) == 1]
    return tuple(
        call.arguments
        for call in single
        if call.name == ANSWER and isinstance(call.arguments, Mapping)
    )
