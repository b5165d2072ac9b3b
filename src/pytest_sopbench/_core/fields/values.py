"""Values of output fields, read from what an agent wrote."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import (
    INVISIBLE,
    LONGEST_NUMBER,
    fold,
    has_fraction,
    is_empty,
    is_json_number,
    normal_form,
    plain_dashes,
    read_as_json_writes,
    read_container,
    read_list,
    read_moment,
    read_number,
    without_float_noise,
)

# Read dates in the formats that a field declares beside the ISO format.

_LONGEST: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE: Final = datetime(2001, 2, 23, tzinfo=UTC)


def read_spelled_date(value: JsonValue, formats: Sequence[str]) -> float | None:
    """Read a date as seconds since 1970; one that two formats read otherwise is none."""
    moment = read_moment(value)
    if moment is not None or not isinstance(value, str) or len(value) > _LONGEST:
        return moment
    text = plain_dashes(normal_form(INVISIBLE.sub("", value))).strip()
    found = {one for one in (_read(text, format_) for format_ in formats) if one is not None}
    return found.pop() if len(found) == 1 else None


def says_a_day(format_: str) -> bool:
    """Whether a format of `strptime` says year, month and day, so that a day can be read by it."""
    try:
        read = datetime.strptime(_SAMPLE.strftime(format_), format_)  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return False
    return read.date() == _SAMPLE.date()


# Read days that are written in words or in numbers, if they can be no other day.

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
_DAY_NAME: Final = rf"(?:{'|'.join(name[:3] for name in _WEEKDAYS)})[a-z]{{0,6}}"
_WEEKDAY: Final = re.compile(rf"^{_DAY_NAME}\.?,? |,? \({_DAY_NAME}\)$")
_IN_WORDS: Final = re.compile(
    r"(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\.?(?: of)?(?: |-)(?P<month>[a-z]{3,9})\.?,?(?: |-)"
    r"|(?P<month_first>[a-z]{3,9})\.? (?P<second>\d{1,2})(?:st|nd|rd|th)?,? )(?P<year>\d{4})",
    re.ASCII,
)
_IN_NUMBERS: Final = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
_YEAR_FIRST: Final = re.compile(r"(\d{4})([./-])(\d{1,2})\2(\d{1,2})", re.ASCII)
_LAST_MONTH: Final = 12


def read_day(text: str) -> float | None:
    """Read a day as seconds since 1970 that can be no other: `25 May 2024`, `25.5.2024`.

    `5/6/2024` may be one of two days, and is none.
    """
    if len(text) > _LONGEST:
        return None
    plain = " ".join(plain_dashes(normal_form(INVISIBLE.sub("", text))).lower().split())
    weekday = _WEEKDAY.search(plain)
    plain = _WEEKDAY.sub("", plain, count=1)
    if match := _IN_WORDS.fullmatch(plain):
        year, day = match["year"], match["day"] or match["second"]
        month = str(_index(_MONTHS, match["month"] or match["month_first"]))
    elif match := _YEAR_FIRST.fullmatch(plain):
        year, _, month, day = match.groups()
    elif match := _IN_NUMBERS.fullmatch(plain):
        day, _, month, year = match.groups()
        if int(month) > _LAST_MONTH:
            day, month = month, day
        elif int(day) <= _LAST_MONTH and int(day) != int(month):
            return None
    else:
        return None
    try:
        moment = datetime(int(year), int(month), int(day), tzinfo=UTC)
    except ValueError:
        return None
    if weekday and _index(_WEEKDAYS, weekday[0].strip(" ().,")) != moment.isoweekday():
        return None
    return (moment - _EPOCH).total_seconds()


def _index(names: Sequence[str], word: str) -> int:
    """Return the number of a month or a weekday by its name or a short form of it, from 1."""
    found = (at for at, name in enumerate(names, start=1) if name.startswith(word))
    return next(found, 0)


def _read(text: str, format_: str) -> float | None:
    try:
        moment = datetime.strptime(text, format_)  # noqa: DTZ007 - what has no zone is read as UTC
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - _EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return None


# Read numbers with their unit and with marks between thousands, if a field declares them.

_APOSTROPHES: Final = str.maketrans({"\u2019": "'"})


def read_spelled_number(
    value: JsonValue, units: Sequence[str], grouping: str, decimal: str
) -> Decimal | None:
    """Read a number by value: `1.234,50 EUR` is 1234.5 if these are its unit and marks.

    Args:
        value: what was written; a JSON number is what it is.
        units: the spellings of the one unit that may stand before or behind it, or be left out.
        grouping: what may stand between each three digits; empty if nothing may.
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


# Read the value of an output field by its type, so that equal values have equal keys.

Key = tuple[str, Hashable]
"""What was read, and as what: values of a field with equal keys are equal."""

EMPTY: Final[Key] = ("empty", None)

TRUE_WORDS: Final = frozenset({"true", "yes", "1"})
FALSE_WORDS: Final = frozenset({"false", "no", "0"})

_BULLET: Final = re.compile(r"^[ \t]*[-*\u2022][ \t]+")
_NUMBERED: Final = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+")


def value_key(field: OutputField, value: JsonValue) -> Key:
    """Read a value as the field's type says; what cannot be read so is a text.

    Aliases are resolved first, then an explicit empty is recognised, whatever the type; a word
    such as `none` that is declared as a label is that label, and empty is something else.
    """
    if field.aliases and isinstance(value, str):
        value = label_of(field.aliases, value)
    if is_empty(value):
        return ("text", fold(written(value))) if _is_declared(field, value) else EMPTY
    key = _READERS[field.type](field, value)
    return ("text", fold(written(value))) if key is None else key


def equal_values(field: OutputField, one: JsonValue, other: JsonValue) -> bool:
    """Whether two values of a field are equal, in any of their readings."""
    return not set(readings(field, one)).isdisjoint(readings(field, other))


def readings(field: OutputField, value: JsonValue) -> tuple[Key, ...]:
    """Return the keys of a value, which are two if its spelling leaves something open.

    JSON has one number for `7` and `7.0`. A text with commas does not say whether `1.0` in it is
    a number or a text.
    """
    key = value_key(field, value)
    if isinstance(value, float) and value.is_integer():
        return key, value_key(field, int(value))
    if field.type is FieldType.LIST and isinstance(value, str) and key[0] == "list":
        return key, ("list", _together(_with_numbers(value), ordered=field.ordered))
    return (key,)


def as_meant(field: OutputField, expected: JsonValue, returned: JsonValue) -> JsonValue:
    """Return what an agent returned, its floats as the expected numbers that they stand for."""
    if not has_fraction(returned):
        return returned
    is_plain = field.compare is Compare.EXACT and not field.key
    if is_plain and field.type in (FieldType.INTEGER, FieldType.NUMBER):
        number = number_of(field, expected)
        return without_float_noise(returned, () if number is None else (float(number),))
    # A text that is expected is no number, however it is spelled.
    return returned if isinstance(returned, float) else without_noise(expected, returned)


def without_noise(expected: JsonValue, returned: JsonValue) -> JsonValue:
    """Return lists and objects, their floats as the numbers they stand for in what is expected."""
    if not has_fraction(returned):
        return returned
    return without_float_noise(returned, sorted(map(float, _numbers_in(expected))))


def _numbers_in(value: JsonValue) -> Iterator[Decimal]:
    """Yield the numbers in a value; those in the cell of a list or an object are read as well."""
    if isinstance(value, str):
        inside = read_container(value)
        if inside is None:
            yield from (one for one in map(read_number, _parts(value)) if one is not None)
        else:
            yield from _numbers_in(inside)
    elif isinstance(value, Mapping | Sequence):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers_in(one)
    elif (number := read_number(value)) is not None:
        yield number


def written(value: JsonValue) -> str:
    """Write a value as text, as JSON does."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def read_boolean(value: JsonValue) -> bool | None:
    """Read `true`, `yes` and `1`, and their opposites."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    folded = fold(value) if isinstance(value, str) else ""
    return True if folded in TRUE_WORDS else False if folded in FALSE_WORDS else None


def read_items(value: JsonValue) -> Sequence[JsonValue] | None:
    """Read a list: JSON's, a JSON or Python literal, or a text with commas or of several lines."""
    if isinstance(value, str):
        literal = read_list(value)
        return _parts(value) if literal is None else literal
    return value if isinstance(value, Sequence) else None


def _parts(text: str) -> list[JsonValue]:
    rows = [line for line in text.split("\n") if line.strip()]
    numbered = len(rows) > 1 and all(map(_NUMBERED.match, rows))
    lines = ((_NUMBERED if numbered else _BULLET).sub("", row) for row in rows)
    parts = (part.strip().strip("\"'`") for line in lines for part in line.split(","))
    return [part for part in parts if part]


def label_of(aliases: Mapping[str, str], text: str) -> str:
    """Return the label that a text stands for; what is no alias stands for itself."""
    if not aliases:
        return text
    folded = fold(text)
    return next((label for alias, label in aliases.items() if fold(alias) == folded), text)


def _is_declared(field: OutputField, value: JsonValue) -> bool:
    if not field.declared or not isinstance(value, str):
        return False
    return fold(value) in map(fold, field.values)


def _text(field: OutputField, value: JsonValue) -> Key | None:
    del field, value
    return None


def _boolean(field: OutputField, value: JsonValue) -> Key | None:
    del field
    truth = read_boolean(value)
    return None if truth is None else ("boolean", truth)


def _number_of_field(field: OutputField, value: JsonValue) -> Key | None:
    # Not by the property, which takes as long again for each number of each run.
    if field.units or field.grouping or field.decimal != ".":
        number = number_of(field, value)
    else:
        number = read_number(value)
    return None if number is None else ("number", number)


def number_of(field: OutputField, value: JsonValue) -> Decimal | None:
    """Read a number as its field says that it may be written."""
    if field.spelled:
        return read_spelled_number(value, field.units, field.grouping, field.decimal)
    return read_number(value)


def _date(field: OutputField, value: JsonValue) -> Key | None:
    moment = read_spelled_date(value, field.formats) if field.formats else read_moment(value)
    # A field that says how its days are written is read as it says.
    if moment is None and isinstance(value, str) and not field.formats:
        moment = read_day(value)
    return None if moment is None else ("date", moment)


def _list(field: OutputField, value: JsonValue) -> Key | None:
    items = read_items(value)
    return None if items is None else ("list", _together(items, ordered=field.ordered))


def _with_numbers(text: str) -> Sequence[JsonValue]:
    """Read a list; in a text with commas, what JSON may write as a number is one."""
    literal = read_list(text)
    return literal if literal is not None else [_bare_number(part) for part in _parts(text)]


def _bare_number(part: JsonValue) -> JsonValue:
    number = read_as_json_writes(part) if isinstance(part, str) else None
    return part if number is None else float(number)


def _together(items: Sequence[JsonValue], *, ordered: bool) -> Hashable:
    keys = [item_key(item, ordered=ordered) for item in items]
    return tuple(keys) if ordered else frozenset(Counter(keys).items())


def item_key(item: JsonValue, *, ordered: bool) -> Key:
    """Read an item of a list, which has no declared type.

    A text is a number only if it is spelled as the number is: `"1"` is `1`, but `"1.0"`,
    `"1.10"` and `"1E5"` are the names of something.
    """
    if is_empty(item):
        return EMPTY
    if isinstance(item, str):
        return _word_key(item)
    if isinstance(item, bool):
        return "boolean", item
    if isinstance(item, Mapping):
        pairs = ((fold(name), item_key(one, ordered=ordered)) for name, one in item.items())
        return "object", frozenset(pairs)
    if isinstance(item, Sequence):
        return "list", _together(item, ordered=ordered)
    number = read_number(item)
    return ("text", written(item)) if number is None else _number_key(number)


def _number_key(number: Decimal) -> Key:
    # Python gives each multiple of 2**61 - 1 the same hash, so that a list of them would take for
    # ever to count. No float is such a multiple.
    return "number", (float(number), number)


def _word_key(word: str) -> Key:
    number = read_as_json_writes(word)
    if number is not None and not word.rstrip().endswith(".0"):
        return _number_key(number)
    folded = fold(word)
    return ("boolean", folded == "true") if folded in ("true", "false") else ("text", folded)


_READERS: Final[Mapping[FieldType, Callable[[OutputField, JsonValue], Key | None]]] = {
    FieldType.BOOLEAN: _boolean,
    FieldType.INTEGER: _number_of_field,
    FieldType.NUMBER: _number_of_field,
    FieldType.DATE: _date,
    FieldType.LIST: _list,
    FieldType.ENUM: _text,
    FieldType.TEXT: _text,
}


# Compare lists and objects with the cells of a data file, in which they are written as text.

_WORDS: Final = (FieldType.TEXT, FieldType.ENUM)
_MOST_BRACKETS: Final = 200


def same_container(field: OutputField, one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are the same list or object, or both no list if one is asked for.

    In a list field an empty list and an explicit empty say the same. In a field of words a cell
    such as `{"bay": 3}` is an object: how it is spaced and in what order does not count.
    """
    if field.type is FieldType.LIST:
        return _holds_nothing(one) and _holds_nothing(other)
    if field.type not in _WORDS:
        return False
    read, others = _container(one), _container(other)
    if read is None or others is None:
        return False
    return item_key(read, ordered=True) == item_key(others, ordered=True)


def _holds_nothing(value: JsonValue) -> bool:
    if isinstance(value, Mapping):
        return False
    return is_empty(value) or _container(value) == []


def _container(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        # A cell is small; a text of nothing but brackets is nested too deep to compare.
        too_deep = value.count("[") + value.count("{") + value.count("(") > _MOST_BRACKETS
        return None if too_deep else read_container(value)
    if isinstance(value, Mapping):
        return value
    return list(value) if isinstance(value, Sequence) else None


# The output fields of a task as they may be spelled in an answer.

_SPACES: Final = r"[\s_-]+"


class FieldNames:
    """Knows the fields by any spelling of their names: case, and space, `_` and `-`, are alike.

    `each` are the names with their folded spelling, and `pattern` matches any of them.
    """

    __slots__ = ("_by_spelling", "all", "each", "folded", "pattern")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.all = names
        self.each = tuple((name, fold(name)) for name in names)
        self.folded = frozenset(folded for _, folded in self.each)
        self._by_spelling = {folded: name for name, folded in reversed(self.each)}
        self.pattern = "|".join(name_pattern(name) for name in sorted(names, key=len, reverse=True))

    def field_of(self, name: str) -> str | None:
        return self._by_spelling.get(fold(name))

    def contradicted(self, mapping: Mapping[str, JsonValue]) -> str:
        """Return what two spellings of one field in a mapping say, if it differs, or nothing."""
        said: dict[str, tuple[str, JsonValue]] = {}
        for key, value in mapping.items():
            field = self.field_of(key)
            if field is None:
                continue
            if field in said and said[field][1] != value:
                first, other = said[field]
                return f"{first.strip()}: {other}, {key.strip()}: {value}"
            said[field] = key, value
        return ""

    def any_in(self, mapping: Mapping[str, JsonValue]) -> bool:
        return any(self.field_of(key) is not None for key in mapping)

    def split(
        self, mapping: Mapping[str, JsonValue]
    ) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
        """Return the values of the fields, and those of other keys. The last spelling wins."""
        values: dict[str, JsonValue] = {}
        extra: dict[str, JsonValue] = {}
        for key, value in mapping.items():
            field = self.field_of(key)
            if field is None:
                extra[key] = value
            elif field not in mapping or key == field:
                values[field] = value
        return values, extra


def name_pattern(name: str) -> str:
    """Return a pattern for the spellings of one name."""
    return _SPACES.join(re.escape(part) for part in fold(name).split())


@lru_cache(maxsize=64)
def field_names(names: tuple[str, ...]) -> FieldNames:
    """Return what is known of these names; the same few tuples come in every run."""
    return FieldNames(names)


# Learn from a whole column of expected cells how its output field is read.

ENUM_LABELS: Final = 20
"""Distinct strings up to which a column is an enum ..."""

ENUM_SHARE: Final = 5
"""... if there are also this many rows for each of them."""

_INTEGER: Final = re.compile(r"-?(?:0|[1-9]\d*)", re.ASCII)
_BOOLEAN_WORDS: Final = frozenset({"true", "false", "yes", "no"})
_LABELLED: Final = frozenset({FieldType.BOOLEAN, FieldType.ENUM})


def infer_field(name: str, cells: Sequence[JsonValue]) -> OutputField:
    """Infer the type of an output field, and the labels of an enum or boolean one, sorted.

    The first of boolean, integer, number, date and list that every cell can be read as; else an
    enum, if there are at most 20 distinct strings and 5 rows for each; else text. Empty cells
    say nothing of the type.
    """
    full = [cell for cell in cells if not is_empty(cell)]
    kind = _type_of(full, rows=len(cells))
    values = known_labels(full) if kind in _LABELLED else ()
    return OutputField(name=name, type=kind, values=values)


def known_labels(cells: Iterable[JsonValue]) -> tuple[str, ...]:
    """Return the distinct strings, as written, in an order that no order of rows can change."""
    labels = {cell for cell in cells if isinstance(cell, str)}
    return tuple(sorted(labels, key=lambda label: (fold(label), label)))


def colliding_labels(field: OutputField, cells: Sequence[JsonValue]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of labels of a field that are written differently and yet are equal."""
    if field.type not in (FieldType.ENUM, FieldType.TEXT):
        return ()
    groups: dict[str, list[str]] = {}
    for label in known_labels([*field.values, *cells]):
        groups.setdefault("" if is_empty(label) else fold(label), []).append(label)
    return tuple((group[0], other) for group in groups.values() for other in group[1:])


def _type_of(full: Sequence[JsonValue], *, rows: int) -> FieldType:
    if not full:
        return FieldType.TEXT
    for kind, fits in _TESTS:
        if all(map(fits, full)):
            return kind
    labels = {cell for cell in full if isinstance(cell, str)}
    few = len(labels) <= ENUM_LABELS and len(labels) * ENUM_SHARE <= rows
    strings = all(isinstance(cell, str) for cell in full)
    return FieldType.ENUM if strings and few else FieldType.TEXT


def _is_boolean(cell: JsonValue) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and fold(cell) in _BOOLEAN_WORDS)


def _is_integer(cell: JsonValue) -> bool:
    if isinstance(cell, str):
        return _INTEGER.fullmatch(cell.strip()) is not None
    return isinstance(cell, int) and not isinstance(cell, bool)


def _is_number(cell: JsonValue) -> bool:
    if isinstance(cell, str):
        return is_json_number(cell.strip())
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _is_list(cell: JsonValue) -> bool:
    if isinstance(cell, str):
        return cell.strip().startswith("[") and read_list(cell) is not None
    return isinstance(cell, Sequence)


def _is_date(cell: JsonValue) -> bool:
    return read_moment(cell) is not None


_TESTS: Final[tuple[tuple[FieldType, Callable[[JsonValue], bool]], ...]] = (
    (FieldType.BOOLEAN, _is_boolean),
    (FieldType.INTEGER, _is_integer),
    (FieldType.NUMBER, _is_number),
    (FieldType.DATE, _is_date),
    (FieldType.LIST, _is_list),
)
