"""How far two moments, times of day or durations are apart."""

from __future__ import annotations

import re
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.quantities import as_words, distance, read_moment, read_number

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def apart(expected: JsonValue, actual: JsonValue) -> str:
    """Say how far two times are apart, such as `1 h 30 min`; nothing where one is no time."""
    one, other = _seconds(expected), _seconds(actual)
    if one is not None and other is not None and one[0] == other[0]:
        return _in_words(abs(one[1] - other[1]))
    numbers = read_number(expected), read_number(actual)
    if numbers[0] is None or numbers[1] is None:
        return ""
    return as_words(distance(numbers[0], numbers[1]))


def _seconds(value: JsonValue) -> tuple[str, float] | None:
    if not isinstance(value, str):
        return None
    clock = _CLOCK.fullmatch(value.strip())
    if clock is not None:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return "clock", hours * 3_600 + minutes * 60 + seconds
    moment = read_moment(value)
    return None if moment is None else ("moment", moment)


def _in_words(seconds: float) -> str:
    left, words = round(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words[:2]) or "less than 1 s"
