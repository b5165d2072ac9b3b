"""What of a trajectory is the same in every good run, and what changes from run to run.

Both sides of a comparison are normalised, so a rule that is added later holds for snapshots that
were approved before. To normalise twice is to normalise once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, cast, get_args

from pytest_sopbench._core.model.trajectory import Call, Trajectory
from pytest_sopbench._core.values.json import JsonValue

from .arguments import ArgumentMode

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
        from .overlap import canonical, is_sequence  # noqa: PLC0415 - only where calls are compared

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
                name: IGNORED if self._is_ignored(call.name, name) else self._value(arguments[name])
                for name in sorted(arguments)
            },
        )

    def _is_ignored(self, tool: str, argument: str) -> bool:
        return bool(self.ignored) and not self.ignored.isdisjoint(
            {(tool, argument), (EVERY, argument)}
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
        taken = (
            [found.span() for found in _placeholders(self.patterns).finditer(text)]
            if "<" in text
            else []
        )

        def put(found: re.Match[str]) -> str:
            start, end = found.span()
            inside = any(begin < end and start < stop for begin, stop in taken)
            return found[0] if inside or start == end else f"<{name}>"

        return pattern.sub(put, text)


DEFAULT_RULES = SnapshotRules()
"""What holds where a project sets no rule."""


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


def _placeholders(names: Mapping[str, object]) -> re.Pattern[str]:
    return re.compile(f"<(?:{'|'.join(map(re.escape, names))})>")
