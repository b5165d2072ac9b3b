"""Read the value of an output field by its type, so that equal values have equal keys."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import read_container, read_list
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._core.values.quantities import (
    has_fraction,
    read_as_json_writes,
    read_moment,
    read_number,
    without_float_noise,
)

from .spelled_dates import read_spelled_date
from .spelled_numbers import read_spelled_number

Key = tuple[str, Hashable]
"""What was read, and as what: values of a field with equal keys are equal."""

EMPTY: Final[Key] = ("empty", None)

# Taken at import: an agent may put another function into its place.
_dumps = json.dumps

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
    """Return the keys of a value, which are two where its spelling leaves something open.

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
    return value if isinstance(value, str) else _dumps(value, sort_keys=True)


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


def _number(field: OutputField, value: JsonValue) -> Key | None:
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

    A text is a number only where it is spelled as the number is: `"1"` is `1`, but `"1.0"`,
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
    FieldType.INTEGER: _number,
    FieldType.NUMBER: _number,
    FieldType.DATE: _date,
    FieldType.LIST: _list,
    FieldType.ENUM: _text,
    FieldType.TEXT: _text,
}
