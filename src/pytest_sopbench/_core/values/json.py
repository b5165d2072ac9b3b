"""JSON values: what they are, and when two of them are equal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What JSON can say; the only kind of value that leaves an agent or a tool."""


def key_of(value: JsonValue) -> Hashable:
    """Return what is equal for equal JSON values, and can be counted."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        # In Python `True == 1`; in JSON it is not.
        return ("boolean", value)
    if isinstance(value, int | float):
        return ("number", value)
    if isinstance(value, Mapping):
        return ("object", frozenset((name, key_of(one)) for name, one in value.items()))
    return ("list", tuple(key_of(one) for one in value))


def same_json(one: JsonValue, other: JsonValue) -> bool:
    return key_of(one) == key_of(other)
