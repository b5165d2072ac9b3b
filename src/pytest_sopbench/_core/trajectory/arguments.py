"""Compare the arguments of a call with expected ones, and say at which path they differ.

Values are compared as JSON: numbers by value (`1` is `1.0`), a boolean is never a number, text
is compared as written, and the order of keys means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeGuard

from pytest_sopbench._core.values.json import JsonValue, same_json

ArgumentMode: TypeAlias = Literal["exact", "contains", "ignore"]
"""How arguments are compared: all of them, at least the expected ones, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentDifference:
    """One place in which two sets of arguments differ.

    `path` is written as one would in code (`items[2].id`), and is empty for the arguments as a
    whole. For `missing` the actual value is null, for `unexpected` the expected one.
    """

    path: str
    expected: JsonValue
    actual: JsonValue
    why: str


def argument_differences(
    expected: JsonValue, actual: JsonValue, mode: ArgumentMode
) -> tuple[ArgumentDifference, ...]:
    """Return every difference; none means that the arguments match.

    With `contains` a mapping may have further keys, at every depth; a list is compared whole.
    """
    if mode == "ignore":
        return ()
    return tuple(_differences(expected, actual, mode, ""))


def arguments_match(expected: JsonValue, actual: JsonValue, mode: ArgumentMode) -> bool:
    if mode == "exact":
        return same_json(expected, actual)
    return not argument_differences(expected, actual, mode)


def _differences(
    expected: JsonValue, actual: JsonValue, mode: ArgumentMode, path: str
) -> Iterator[ArgumentDifference]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _key_differences(expected, actual, mode, path)
    elif _is_list(expected) and _is_list(actual) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, "exact", f"{path}[{index}]")
    elif not same_json(expected, actual):
        why = _why(expected, actual)
        yield ArgumentDifference(path=path, expected=expected, actual=actual, why=why)


def _key_differences(
    expected: Mapping[str, JsonValue],
    actual: Mapping[str, JsonValue],
    mode: ArgumentMode,
    path: str,
) -> Iterator[ArgumentDifference]:
    for name, value in expected.items():
        place = _inside(path, name)
        if name in actual:
            yield from _differences(value, actual[name], mode, place)
        else:
            yield ArgumentDifference(path=place, expected=value, actual=None, why="missing")
    if mode == "exact":
        for name, value in actual.items():
            if name not in expected:
                yield ArgumentDifference(
                    path=_inside(path, name), expected=None, actual=value, why="unexpected"
                )


def _why(expected: JsonValue, actual: JsonValue) -> str:
    wanted, given = _kind(expected), _kind(actual)
    if wanted != given:
        return f"{given} instead of {wanted}"
    if _is_list(expected) and _is_list(actual):
        return f"{len(actual)} elements instead of {len(expected)}"
    return "different"


def _kind(value: JsonValue) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "an object" if isinstance(value, Mapping) else "a list"


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _inside(path: str, name: str) -> str:
    if not name.isidentifier():
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name
