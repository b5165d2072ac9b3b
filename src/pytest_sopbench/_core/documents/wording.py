"""What is said of a document's symptoms."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import (
    OFF_BY,
    as_words,
    distance,
    is_empty,
    read_moment,
    read_number,
)

from .schema import Role, text_key

# How one step of a procedure stands to another: the symptoms of a wrong route.

SIBLING: Final = "sibling"
STOPPED_EARLY: Final = "stopped early"
TOO_FAR: Final = "went on too far"
SKIPPED: Final = "skipped ahead"
LAGGED: Final = "lagged behind"
MISSED: Final = "rule missed"
INVENTED: Final = "rule invented"

_PART: Final = re.compile(r"\d{1,18}|[^\W\d_]+")


def route_symptom(expected: JsonValue, actual: JsonValue) -> str:
    """Name how an actual step stands to the expected one; nothing if they do not compare.

    A rule is told from a step by the letters before its number: `R3` is no step of `4.1`.
    """
    if is_empty(expected) or is_empty(actual):
        return INVENTED if is_empty(expected) else MISSED
    if not (isinstance(expected, str | int) and isinstance(actual, str | int)):
        return ""
    wanted, given = _parts(str(expected)), _parts(str(actual))
    kinds = _kind(wanted), _kind(given)
    if kinds[0] != kinds[1]:
        # A rule overrides the steps, so the one that has letters is the rule.
        return MISSED if kinds[0] and not kinds[1] else INVENTED if kinds[1] else ""
    return _related(wanted, given)


def _related(wanted: tuple[str | int, ...], given: tuple[str | int, ...]) -> str:
    pairs = zip(wanted, given, strict=False)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    if common == len(given) < len(wanted):
        return STOPPED_EARLY
    if common == len(wanted) < len(given):
        return TOO_FAR
    # The letters before a number are no step above it.
    above = common - (1 if _kind(wanted) else 0)
    if above > 0 and len(wanted) == len(given) == common + 1:
        return SIBLING
    if common == len(wanted):
        return ""
    one, other = wanted[common], given[common]
    if isinstance(one, int) and isinstance(other, int):
        return SKIPPED if other > one else LAGGED
    return ""


def _parts(text: str) -> tuple[str | int, ...]:
    found = _PART.findall(text_key(text))
    return tuple(int(part) if part.isdecimal() else part for part in found)


def _kind(parts: tuple[str | int, ...]) -> str:
    """Return the letters before the first number, where there is a number right after them."""
    first, second = (*parts, "", "")[:2]
    return first if isinstance(first, str) and isinstance(second, int) else ""


# How far two moments, times of day or durations are apart.

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def apart(expected: JsonValue, actual: JsonValue) -> str:
    """Say how far two times are apart, such as `1 h 30 min`; nothing if one is no time."""
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


# Say how a value differs from the expected one: what is seen, and never a cause.

DIFFERENT: Final = "different"
MISSING: Final = "missing"
NOT_ASKED: Final = "should be absent"
ANOTHER_ORDER: Final = "in another order"

_ITEMS: Final = 3
_ITEM_LIMIT: Final = 60


def symptom(role: Role | None, expected: JsonValue, actual: JsonValue) -> str:
    """Return the reason of one mismatch of two values, by the role of their path."""
    wanted, given = kind_of(expected), kind_of(actual)
    if role is None:
        role = Role.NUMBER if wanted == given == "a number" else Role.TEXT
    found = _BY_ROLE[role](expected, actual)
    if not found and wanted != given:
        return f"{given} instead of {wanted}"
    return found or DIFFERENT


def lost_or_extra(role: Role | None, *, missing: bool) -> str:
    """Return the reason where a whole value is missing, or should be absent."""
    if role is Role.ROUTE:
        return MISSED if missing else INVENTED
    return MISSING if missing else NOT_ASKED


def list_symptom(
    role: Role | None, missing: Sequence[JsonValue], unexpected: Sequence[JsonValue]
) -> str:
    """Return the reason of a list that lacks items, or has others; in another order if neither."""
    words = _WORDS_OF_RULES if role is Role.ROUTE else _WORDS_OF_ITEMS
    told = [
        f"{word} {_listed(items)}"
        for word, items in zip(words, (missing, unexpected), strict=True)
        if items
    ]
    return "; ".join(told) or ANOTHER_ORDER


def kind_of(value: JsonValue) -> str:
    """Return what a value is, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _listed(items: Sequence[JsonValue]) -> str:
    shown = ", ".join(_written(item) for item in items[:_ITEMS])
    return f"{shown} and {len(items) - _ITEMS} more" if len(items) > _ITEMS else shown


def _written(item: JsonValue) -> str:
    text = ready_to_cut(json.dumps(item, ensure_ascii=False))
    return text if len(text) <= _ITEM_LIMIT else f"{text[: _ITEM_LIMIT - 3]}..."


def _number(expected: JsonValue, actual: JsonValue) -> str:
    one, other = read_number(expected), read_number(actual)
    if one is None or other is None:
        return ""
    return f"{OFF_BY}{as_words(distance(one, other))}"


def _time(expected: JsonValue, actual: JsonValue) -> str:
    far = apart(expected, actual)
    return f"time off by {far}" if far else ""


def _dialogue(expected: JsonValue, actual: JsonValue) -> str:
    if is_empty(expected) == is_empty(actual):
        return ""
    return "speaks instead of silence" if is_empty(expected) else "silence instead of words"


def _text(expected: JsonValue, actual: JsonValue) -> str:
    del expected, actual
    return ""


_BY_ROLE: Final[Mapping[Role, Callable[[JsonValue, JsonValue], str]]] = {
    Role.ROUTE: route_symptom,
    Role.NUMBER: _number,
    Role.TIME: _time,
    Role.DIALOGUE: _dialogue,
    Role.TEXT: _text,
}
_WORDS_OF_ITEMS: Final = ("missing", "unexpected")
_WORDS_OF_RULES: Final = (MISSED, INVENTED)
