"""Read numbers with their unit and with marks between thousands, where a field declares them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import INVISIBLE, normal_form, plain_dashes
from pytest_sopbench._core.values.quantities import LONGEST_NUMBER, read_number

_APOSTROPHES: Final = str.maketrans({"\u2019": "'"})


def read_spelled_number(
    value: JsonValue, units: Sequence[str], grouping: str, decimal: str
) -> Decimal | None:
    """Read a number by value: `1.234,50 EUR` is 1234.5 where these are its unit and marks.

    Args:
        value: what was written; a JSON number is what it is.
        units: the spellings of the one unit that may stand before or behind it, or be left out.
        grouping: what may stand between each three digits; empty where nothing may.
        decimal: what stands before the fraction.
    """
    if not isinstance(value, str):
        return read_number(value)
    if len(value) > LONGEST_NUMBER:
        return None
    text = plain_dashes(normal_form(INVISIBLE.sub("", value))).translate(_APOSTROPHES).strip()
    sign = text[:1] if text[:1] in {"+", "-"} else ""
    bare = _without_unit(text.removeprefix(sign).strip(), tuple(units))
    if sign and bare[:1] in {"+", "-"}:
        return None
    digits = f"{sign}{bare}"
    if _number(grouping, decimal).fullmatch(digits) is None:
        return None
    plain = digits.replace(grouping, "") if grouping else digits
    return read_number(plain.replace(decimal, "."))


def _without_unit(text: str, units: tuple[str, ...]) -> str:
    folded = text.casefold()
    for unit in _longest_first(units):
        if folded.startswith(unit):
            return text[len(unit) :].strip()
        if folded.endswith(unit):
            return text[: -len(unit)].strip()
    return text


@lru_cache(maxsize=64)
def _longest_first(units: tuple[str, ...]) -> tuple[str, ...]:
    folded = {normal_form(unit).casefold().strip() for unit in units}
    return tuple(sorted(folded - {""}, key=lambda unit: (-len(unit), unit)))


@lru_cache(maxsize=16)
def _number(grouping: str, decimal: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    grouped = rf"\d{{1,3}}(?:{re.escape(grouping)}\d{{3}})+|" if grouping else ""
    return re.compile(
        rf"[+-]?(?:(?:{grouped}\d+)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d{{1,4}})?", re.ASCII
    )
