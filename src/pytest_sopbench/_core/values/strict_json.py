"""Read JSON as its standard has it: no key twice in an object, no NaN, no number without end."""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn

from .json import JsonValue

_SHOWN: Final = 60
"""Characters of a key or a number that a message shows."""


class RefusedError(ValueError):
    """Something that Python's reader takes, and JSON does not have; the message says what."""


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = f"key {_cut(_first_twice(pairs))!r} stands twice in one object"
        raise RefusedError(msg)
    return found


def _first_twice(pairs: list[tuple[str, JsonValue]]) -> str:
    """Return the key that is the first to come back; a text may have hundreds of thousands."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _constant(text: str) -> NoReturn:
    msg = f"{text} is not a JSON value"
    raise RefusedError(msg)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        msg = f"the number {_cut(text)} is too large"
        raise RefusedError(msg)
    return number


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
)
"""Made once, since `json.loads` makes another at each call, and an agent may replace what stands
in `json`. It raises `RefusedError`, and what any decoder raises: `JSONDecodeError`,
`RecursionError`, and `ValueError` for an integer of more digits than Python reads."""
