"""Numbers as people write them: with a currency, with their unit, with marks between thousands."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.text import (
    INVISIBLE,
    fold,
    normal_form,
    plain_dashes,
    read_number,
)

_CURRENCIES: Final = tuple(
    tuple(line.split())
    for line in (
        "eur \u20ac euro euros", "usd $ dollars", "gbp \u00a3 pounds", "jpy \u00a5", "cny \u00a5",
        "inr \u20b9", "chf", "aud $", "cad $", "sek", "nok", "dkk", "pln", "czk",
    )
)  # fmt: skip
"""The code that a name may state, and the other spellings beside a number."""

_UNITS: Final = tuple(
    tuple(frozenset(part.split()) for part in line.split("|"))
    for line in (
        "percent pct percentage | %", "seconds secs sec | second s", "minutes mins | minute min",
        "hours hrs | hour hr h", "days | day d", "weeks | week", "months | month",
        "years yrs | year", "kg kgs | kilogram kilograms", "mg |", "g | gram grams",
        "lbs lb |", "km |", "m | meters metres", "cm |", "mm |", "ml |", "kwh |", "ppm |",
        "celsius | \u00b0c",
    )
)  # fmt: skip
"""The words by which a name states a unit, and the other spellings behind a number."""

_SPELLINGS: Final = frozenset(word for names, others in _UNITS for word in (*names, *others))
_OTHERS: Final = (
    "cent", "cents", "pence", "k", "thousand", "thousands", "million", "millions", "bn",
    "aed", "ars", "bgn", "brl", "clp", "cop", "egp", "hkd", "huf", "idr", "ils", "krw", "mxn",
    "myr", "nzd", "php", "ron", "rub", "sar", "sgd", "thb", "try", "twd", "uah", "vnd", "yen",
    "yuan", "zar",
)  # fmt: skip
_MEASURES: Final = _SPELLINGS.union(_OTHERS).difference({"min"})
"""Words by which a name says that a sum in another currency, or a count, is none of its values."""

_COUNTED: Final = re.compile(r"[^\W\d_]{3,}[^\W\d_siu]s")
_MONEY: Final = "|".join(
    sorted({re.escape(word) for group in _CURRENCIES for word in group}, key=len, reverse=True)
)
_BESIDE: Final = re.compile(
    rf"(?P<before>{_MONEY})?\s*(?P<amount>-?\d(?:.*\d)?)(?:[.,]-{{1,2}})?\s*(?P<behind>{_MONEY})?",
    re.IGNORECASE,
)
_UNIT: Final = re.compile(
    r"(?P<number>[^a-z%\u00b0]*\d) ?(?P<unit>[^\W\d_]+|%|\u00b0c)", re.IGNORECASE
)
_GROUPED: Final = re.compile(
    r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}|(?:,\d{3})+\.\d+|(?P<comma>(?:\.\d{3})+,\d+|"
    r"(?:\.\d{3}){2,}|(?P<mark>[ '])\d{3}(?:(?P=mark)\d{3})*(?:[.,]\d+)?))",
    re.ASCII,
)
_FRACTION: Final = re.compile(r"[+-]?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{4,},\d+)", re.ASCII)
_COUNT: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)


def plain_number(field: OutputField, value: str) -> str:
    """Return a number as JSON writes it, if what is written can mean nothing else.

    `1,250.50`, `1.250,50`, `1 250,50`, `1'250` and `6,5` are one number each. `1,200` may be two,
    unless a whole one is asked for. `48 hours` are 48 where the name of the field says hours.
    """
    if field.type not in (FieldType.NUMBER, FieldType.INTEGER) or read_number(value) is not None:
        return value
    if field.units:
        # Beside its numbers stands what the field declares, and nothing else.
        return value
    text = plain_dashes(normal_form(INVISIBLE.sub("", value))).replace("\u2019", "'").strip()
    bare = _without_currency(field.name, text)
    # A field that says how its numbers are written, or what its texts match, is read as it says.
    if field.spelled or field.compare is not Compare.EXACT:
        return value if bare == text else bare
    if (match := _UNIT.fullmatch(bare)) and match["unit"].lower() in _stated(field.name):
        bare = match["number"]
    number = _ungrouped(field, bare)
    return number if read_number(number) is not None else value


def _ungrouped(field: OutputField, text: str) -> str:
    match = _GROUPED.fullmatch(text)
    if match is None:
        mark = "." if field.type is FieldType.NUMBER and _FRACTION.fullmatch(text) else ","
        is_count = field.type is FieldType.INTEGER and _COUNT.fullmatch(text)
        return text.replace(",", "" if is_count else mark)
    if match["mark"]:
        return text.replace(match["mark"], "").replace(",", ".")
    return text.replace(".", "").replace(",", ".") if match["comma"] else text.replace(",", "")


def _without_currency(name: str, text: str) -> str:
    match = _BESIDE.fullmatch(text)
    signs = {one.lower() for one in match.group("before", "behind") if one} if match else set[str]()
    words = fold(name).split()
    if _MEASURES.intersection(words):
        return text
    stated = [group for group in _CURRENCIES if not set(group).isdisjoint(words)] or _CURRENCIES
    # `5 EUR` is no sum where the name says dollars, and `USD 5 EUR` is none at all.
    is_sum = len(signs) == 1 and any(signs.issubset(group) for group in stated)
    return match["amount"] if match and is_sum else text


@lru_cache(maxsize=256)
def _stated(name: str) -> frozenset[str]:
    """Return the spellings of the unit that a name ends with, if it states nothing else.

    `net_weight_kg` is so many kilograms, and `parcels` are counted; `labor_hours_cost` is no time.
    """
    *others, last = fold(name).split()
    money = {word for group in _CURRENCIES for word in group}
    if "per" in others or not (_MEASURES | money).isdisjoint(others):
        return frozenset()
    # A letter alone is a unit only behind what it measures.
    for names, spellings in _UNITS if len(last) > 1 or others else ():
        if last in names:
            return names | spellings
    is_counted = _COUNTED.fullmatch(last) and last not in _MEASURES | money
    return frozenset((last, last[:-1])) if is_counted else frozenset()


def is_other_measure(name: str, words: str) -> bool:
    """Whether words are a unit or a currency, and not the one that a name states."""
    unit = words.strip().lower()
    return unit in _KNOWN and bool(stated := measures_of(name)) and unit not in stated


@lru_cache(maxsize=256)
def measures_of(name: str) -> frozenset[str]:
    """Return the spellings of the unit or the currency that a name states."""
    words = fold(name).split()
    money = {one for group in _CURRENCIES if not set(group).isdisjoint(words) for one in group}
    return _stated(name) | money


_KNOWN: Final = _MEASURES.union(*_CURRENCIES, ("min",))
