"""The value of an output field as a test wants it: typed, where the data has text."""

from __future__ import annotations

from decimal import Decimal
from math import isfinite
from typing import Final

from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import is_empty

from .kinds.document import read_cell
from .values import label_of, number_of, read_boolean, read_items

_WORDS: Final = frozenset({FieldType.ENUM, FieldType.TEXT})


def typed_value(field: OutputField, cell: JsonValue) -> JsonValue:
    """Return what a cell says, in the type of its field.

    A boolean is `True` or `False`, a number an `int` or a `float`, a list a list, a label what an
    alias stands for, a document what it holds, and an empty cell `None`. A date stays text, since
    JSON has no word for it. What cannot be read as the type, and what is no text, stays as it is
    written.
    """
    if not isinstance(cell, str):
        return cell
    if field.compare is Compare.JSON:
        document, no_document = read_cell(cell)
        return cell if no_document else document
    text = label_of(field.aliases, cell)
    if not text or (field.type not in _WORDS and is_empty(text)):
        return None
    read = _read(field, text)
    return text if read is None else read


def _read(field: OutputField, text: str) -> JsonValue:
    kind = field.type
    if kind is FieldType.BOOLEAN:
        return read_boolean(text)
    if kind in (FieldType.INTEGER, FieldType.NUMBER):
        number = number_of(field, text)
        return None if number is None else _plain(number)
    if kind is FieldType.LIST:
        items = read_items(text)
        return None if items is None else list(items)
    return text


def _plain(number: Decimal) -> JsonValue:
    number_as_float = float(number)
    if not isfinite(number_as_float):
        # JSON has no word for it, and `1e4000` as digits would be of no use.
        return None
    return int(number) if number == number.to_integral_value() else number_as_float
