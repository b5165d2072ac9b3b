"""Say how a value differs from the expected one: what is seen, and never a cause."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.documents.rules import Role
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import is_empty
from pytest_sopbench._core.values.quantities import OFF_BY, as_words, distance, read_number

from .routes import INVENTED, MISSED, route_symptom
from .times import apart

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
