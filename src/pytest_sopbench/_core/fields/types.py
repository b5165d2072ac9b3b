"""Learn from a whole column of expected cells how its output field is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import read_list
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._core.values.quantities import is_json_number, read_moment

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
    enum, where there are at most 20 distinct strings and 5 rows for each; else text. Empty cells
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
