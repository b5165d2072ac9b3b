"""How one step of a procedure stands to another: the symptoms of a wrong route."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Final

from pytest_sopbench._core.documents.text_key import text_key
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import is_empty

SIBLING: Final = "sibling"
STOPPED_EARLY: Final = "stopped early"
TOO_FAR: Final = "went on too far"
SKIPPED: Final = "skipped ahead"
LAGGED: Final = "lagged behind"
MISSED: Final = "rule missed"
INVENTED: Final = "rule invented"

_PART: Final = re.compile(r"\d{1,18}|[^\W\d_]+")


def route_symptom(expected: JsonValue, actual: JsonValue) -> str:
    """Name how an actual step stands to the expected one; nothing where they do not compare.

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
