"""Cells of a table, each as text with what it was; and the tidying of text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple


class Kind(StrEnum):
    """What a cell was before it became text."""

    EMPTY = "empty"
    TEXT = "text"
    NUMBER = "number"
    PERCENT = "percent"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"
    FORMULA = "formula"
    FAULT = "fault"


class Cell(NamedTuple):
    """The text of a cell; `tidied` tells that blanks were taken off or replaced."""

    text: str
    kind: Kind
    tidied: bool = False


EMPTY: Final = Cell("", Kind.EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Cells that are one: first and last row and column, counted from 0 in the grid."""

    top: int
    bottom: int
    left: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """All rows of a table, with the numbers that its own program shows for them.

    `typed` tells that the file itself says what is a number and what is text. `has_header` tells
    that the first row holds the names of the columns, whatever it looks like. `decimal` is the
    sign that such a file has before decimals, if its cells show none.
    """

    path: Path
    title: str
    rows: Sequence[Sequence[Cell]]
    numbers: Sequence[int]
    typed: bool
    merged: Sequence[Merged] = ()
    has_header: bool = False
    decimal: str = ""
    notes: tuple[str, ...] = ()


_BLANKS: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_NOTHING: Final = re.compile("[\u00ad\u200b\u2060\ufeff]")
_UNWRITABLE: Final = re.compile("[\0\ud800-\udfff]")
"""No text file can hold these."""

_DIGITS: Final = 15
"""What a spreadsheet keeps of a number; the rest is noise of its arithmetic."""


def text_cell(text: str) -> Cell:
    """Return a text without blanks at its ends, and with plain ones inside."""
    tidy = _NOTHING.sub("", _BLANKS.sub(" ", text)).replace("\r\n", "\n").replace("\r", "\n")
    tidy = _UNWRITABLE.sub("", tidy).strip()
    return Cell(tidy, Kind.TEXT if tidy else Kind.EMPTY, tidy != text)


def cell_of(value: object) -> Cell:
    """Return a value of a program as a cell: dates in ISO, numbers as a person writes them."""
    if value is None:
        return EMPTY
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    return text_cell(str(value))


def _number(value: float | Decimal) -> Cell:
    if not math.isfinite(value):
        return EMPTY
    if value == int(value):
        return Cell(str(int(value)), Kind.NUMBER)
    exact = value if isinstance(value, Decimal) else Decimal(f"{value:.{_DIGITS}g}")
    return Cell(format(exact.normalize(), "f"), Kind.NUMBER)


def _moment(value: datetime) -> Cell:
    if value.time() == time() and value.tzinfo is None:
        return Cell(value.date().isoformat(), Kind.DATE)
    return Cell(value.isoformat(timespec="seconds"), Kind.MOMENT)


def _boolean(value: bool) -> Cell:
    return Cell("true" if value else "false", Kind.BOOLEAN)


def _date(value: date) -> Cell:
    return Cell(value.isoformat(), Kind.DATE)


def _json(value: object) -> Cell:
    return Cell(json.dumps(value, ensure_ascii=False, default=str), Kind.TEXT)


_WRITERS: Final[Sequence[tuple[Any, Callable[[Any], Cell]]]] = (
    (str, text_cell),
    # Before numbers, of which Python takes it for one; a moment is a date as well.
    (bool, _boolean),
    ((int, float, Decimal), _number),
    (datetime, _moment),
    (date, _date),
    ((list, tuple, Mapping), _json),
)
