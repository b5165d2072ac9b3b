"""Compare lists and objects with the cells of a data file, in which they are written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import read_container
from pytest_sopbench._core.values.normalise import is_empty

from .values import item_key

_WORDS: Final = (FieldType.TEXT, FieldType.ENUM)
_MOST_BRACKETS: Final = 200


def same_container(field: OutputField, one: JsonValue, other: JsonValue) -> bool:
    """Whether two values are the same list or object, or both no list where one is asked for.

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
