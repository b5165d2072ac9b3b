"""What a table is, once it is read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_sopbench._audit.rules.leakage import words_of
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._reports.text import counted
from pytest_sopbench.errors import LoadingError

# Cells of a table, each as text with what it was; and the tidying of text.


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


def _duration(value: timedelta) -> Cell:
    """Write a duration as a sheet shows it: hours, beyond 24 as well, minutes and seconds."""
    minutes, seconds = divmod(abs(value), timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    sign = "-" if value < timedelta() else ""
    rest = f"{seconds.total_seconds():09.6f}".rstrip("0").rstrip(".").zfill(2)
    return Cell(f"{sign}{hours:02}:{minutes:02}:{rest}", Kind.TEXT)


_WRITERS: Final[Sequence[tuple[Any, Callable[[Any], Cell]]]] = (
    (str, text_cell),
    # Before numbers, of which Python takes it for one; a moment is a date as well.
    (bool, lambda value: Cell("true" if value else "false", Kind.BOOLEAN)),
    ((int, float, Decimal), _number),
    (datetime, _moment),
    (date, lambda value: Cell(value.isoformat(), Kind.DATE)),
    (timedelta, _duration),
    (
        (list, tuple, Mapping),
        lambda value: Cell(json.dumps(value, ensure_ascii=False, default=str), Kind.TEXT),
    ),
)


# Find the row, or the two rows, that name the columns.

_SHARE: Final = 0.6
"""A row of names has something in at least this share of the columns."""

_LOOKED_AT: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The rows that name the columns, from 0 in the grid, and the parts of each name.

    A name has two parts if there are two rows: that of the group, and its own.
    """

    top: int
    bottom: int
    names: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()


def find_header(grid: Grid, wanted: tuple[int, int] | None = None) -> Header:
    """Find the header, or take the rows that are wanted, by their numbers.

    Raises:
        LoadingError: no row looks like one, or there are no such rows.
    """
    if wanted is not None:
        top, bottom = (_place(grid, number) for number in wanted)
    elif grid.has_header:
        top = bottom = 0
    else:
        top, bottom = _found(grid)
    rows = [_texts(grid, place) for place in range(top, bottom + 1)]
    if top < bottom:
        rows[0] = _spread(rows[0])
    names = [
        tuple(part for part in dict.fromkeys(parts) if part) for parts in zip(*rows, strict=True)
    ]
    return Header(top=top, bottom=bottom, names=names, notes=_notes(grid, top, bottom))


def _place(grid: Grid, number: int) -> int:
    try:
        return list(grid.numbers).index(number)
    except ValueError:
        hint = "--header 2 is the second row, --header 2-3 two rows"
        raise LoadingError(grid.path, f"has no row {number} for the header", hint=hint) from None


def _found(grid: Grid) -> tuple[int, int]:
    width = sum(1 for column in zip(*grid.rows, strict=True) if any(cell.text for cell in column))
    for place in range(min(len(grid.rows), _LOOKED_AT)):
        texts = _texts(grid, place)
        filled = [text for text in texts if text]
        if len(filled) < max(1, _SHARE * width) or (width > 1 and len({*filled}) == 1):
            continue
        if _is_group(grid, place):
            return place, place + 1
        above = place - 1
        if above >= 0 and _is_sparse_group(grid, above, texts):
            return above, place
        return place, place
    raise LoadingError(
        grid.path,
        "no row looks like the names of the columns",
        hint="say which it is: --header ROW",
    )


def _is_group(grid: Grid, place: int) -> bool:
    """Whether names of this row stand over several columns, with names of their own below."""
    wide = [one for one in grid.merged if one.top == place and one.left < one.right]
    return bool(wide) and place + 1 < len(grid.rows) and _is_of_text(grid.rows[place + 1])


def _is_sparse_group(grid: Grid, place: int, below: Sequence[str]) -> bool:
    """Whether this row names groups with gaps, each filled by the names below."""
    texts = _texts(grid, place)
    filled = [text for text in texts if text]
    gaps = [name for text, name in zip(texts, below, strict=True) if not text]
    return len({*filled}) > 1 and all(gaps) and _is_of_text(grid.rows[place])


def _is_of_text(row: Sequence[Cell]) -> bool:
    return all(cell.kind in (Kind.TEXT, Kind.EMPTY) for cell in row)


def _texts(grid: Grid, place: int) -> list[str]:
    """Return the texts of a row, in which each cell of merged ones has their text."""
    texts = [" ".join(cell.text.split()) for cell in grid.rows[place]]
    for one in grid.merged:
        if one.top <= place <= one.bottom:
            text = " ".join(grid.rows[one.top][one.left].text.split())
            texts[one.left : one.right + 1] = [text] * (one.right + 1 - one.left)
    return texts


def _spread(texts: Sequence[str]) -> list[str]:
    """Give the columns right of the name of a group that name."""
    spread, last = list[str](), ""
    for text in texts:
        last = text or last
        spread.append(last)
    return spread


def _notes(grid: Grid, top: int, bottom: int) -> tuple[str, ...]:
    notes = list[str]()
    above = [place for place in range(top) if any(_texts(grid, place))]
    for place in above:
        text = " ".join(dict.fromkeys(filter(None, _texts(grid, place))))
        notes.append(f"row {grid.numbers[place]} stands above the names and is left out: {text}")
    if top < bottom:
        rows = f"{grid.numbers[top]} and {grid.numbers[bottom]}"
        notes.append(f"rows {rows} name the columns together")
    return tuple(notes)


# Named columns of a table.

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """What is odd about a column. `{}` in the text stands for `cells`; `rows` says where."""

    column: str
    text: str
    cells: int = 0
    rows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. `short` is the last part of its name, and `letter` where it stands.

    `stays_text` tells that its cells look like numbers and are not to be read so, and
    `is_in_doubt` that they could be if the user said what the decimal sign is.
    """

    name: str
    short: str
    letter: str
    cells: Sequence[Cell]
    stays_text: bool = False
    is_in_doubt: bool = False
    oddities: tuple[Odd, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [cell.text for cell in self.cells]

    @property
    def is_empty(self) -> bool:
        return not any(cell.text for cell in self.cells)

    def is_all(self, *kinds: Kind) -> bool:
        """Whether every cell that is not empty is of these kinds, and there is one."""
        full = [cell.kind for cell in self.cells if cell.text]
        return bool(full) and all(kind in kinds for kind in full)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The rows under the header. `numbers` are those that its own program shows.

    `raw` are all columns with their cells as they were read, `usual` and `asked` the decimal signs
    of `with_forms`. What is odd is told of the table in `told`, and of cells in `told_of_cells`.
    """

    path: Path
    title: str
    header: str
    columns: Sequence[Column]
    numbers: Sequence[int]
    typed: bool
    raw: Sequence[Column]
    usual: str
    asked: str
    told: tuple[str, ...]
    told_of_cells: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.told, *self.told_of_cells)

    def with_forms_of(self, places: Sequence[int]) -> Sheet:
        """Bring the cells of these rows into one form, and tell of them, as if no others were."""
        numbers = [self.numbers[place] for place in places]
        part = [replace(one, cells=[one.cells[place] for place in places]) for one in self.raw]
        formed = with_forms(part, numbers, usual=self.usual, asked=self.asked)
        known = {one.name: one.cells for one in self.raw}
        used = {one.name for one in self.columns}
        return replace(
            self,
            columns=[
                replace(one, cells=_put(known[one.name], places, one.cells))
                for one in formed
                if one.name in used
            ],
            told_of_cells=tuple(column_notes(formed, numbers)),
        )


def _put(cells: Sequence[Cell], places: Sequence[int], others: Sequence[Cell]) -> Sequence[Cell]:
    changed = dict(zip(places, others, strict=True))
    return [changed.get(place, cell) for place, cell in enumerate(cells)]


def rows_text(numbers: Sequence[int]) -> str:
    """Return such as `rows 2, 5, 8 and 7 more`."""
    return f"row{'s' if len(numbers) > 1 else ''} {first_of(map(str, numbers), _SHOWN)}"


def letter_of(place: int) -> str:
    """Return the letters that a spreadsheet shows over a column: A, B, ..., AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = f"{chr(ord('A') + rest)}{letters}"
    return letters


# What was odd about the columns of a table, a line each.

_TOLD: Final[Mapping[Kind, str]] = {
    Kind.PERCENT: "{} with a percentage, written as a fraction (15 % is 0.15)",
    Kind.FORMULA: "{} with a formula that has no stored value; save the file in Excel",
    Kind.FAULT: "{} with an error of Excel such as #N/A, which counts as empty",
}


def name_notes(columns: Sequence[Column], parts: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield what became of names that are missing, twice there, or nearly equal."""
    written = {" ".join(known) for known in parts}
    folded: dict[str, str] = {}
    for column in columns:
        name = column.name
        if name not in written and column.short == name:
            yield f"column {column.letter} has cells and no name, and is called {name!r}"
        elif name not in written:
            yield f"column {column.letter} has the name of one before it, and is called {name!r}"
        other = folded.setdefault("".join(name.casefold().split()), name)
        if other != name:
            yield f"{other!r} and {name!r} differ only in case or blanks; both are columns"


def column_notes(columns: Sequence[Column], numbers: Sequence[int]) -> Iterator[str]:
    """Yield what became of cells; what became of several columns alike is one note.

    `numbers` are those of the rows.
    """
    groups: dict[str, list[Odd]] = {}
    for column in columns:
        for odd in _oddities(column, numbers):
            groups.setdefault(odd.text, []).append(odd)
    for text, odds in groups.items():
        cells = counted(sum(one.cells for one in odds), "cell")
        yield f"{_places(odds)}: {text.format(cells)}"


def _places(odds: Sequence[Odd]) -> str:
    """Name the columns: all of them if each has its rows, else the first few."""
    if any(one.rows for one in odds):
        return ", ".join(f"{one.column} ({one.rows})" if one.rows else one.column for one in odds)
    return first_of((one.column for one in odds), _SHOWN)


def _oddities(column: Column, numbers: Sequence[int]) -> Iterator[Odd]:
    name = column.name
    tidied = sum(1 for cell in column.cells if cell.tidied)
    if tidied:
        text = "blanks at the ends, or odd ones inside, were tidied in {}"
        yield Odd(column=name, text=text, cells=tidied)
    for kind, told in _TOLD.items():
        found = [at for at, cell in zip(numbers, column.cells, strict=True) if cell.kind is kind]
        if found:
            rows = "" if kind is Kind.PERCENT else rows_text(found)
            yield Odd(column=name, text=told, cells=len(found), rows=rows)
    plain = [
        at
        for at, cell in zip(numbers, column.cells, strict=True)
        if cell.kind is Kind.NUMBER and cell.text != "0"
    ]
    if plain and any(cell.kind is Kind.PERCENT for cell in column.cells):
        text = "{} with a plain number beside percentages: is 15 meant as 15 % there?"
        yield Odd(column=name, text=text, cells=len(plain), rows=rows_text(plain))
    kinds = {cell.kind for cell in column.cells if cell.text}
    others = [
        number
        for number, cell in zip(numbers, column.cells, strict=True)
        if cell.text and cell.kind is not Kind.DATE
    ]
    if Kind.DATE in kinds and Kind.MOMENT not in kinds and others and not column.oddities:
        text = "dates, and {} of another kind, left as written"
        yield Odd(column=name, text=text, cells=len(others), rows=rows_text(others))
    yield from column.oddities


# Numbers and dates that are written as text: read if only one reading is possible.
#
# `1.234` is a thousand in one office and one and a bit in another. It is read by what the rest of
# its column shows, then by the rest of the table, and never guessed: a column that nothing settles
# stays as it is written, and is printed with its rows.

POINT: Final = "."
COMMA: Final = ","

_GROUPS: Final[Mapping[str, str]] = {POINT: ",'\u2019 ", COMMA: ".'\u2019 "}
"""What stands between thousands, by the sign that stands before decimals."""

_BODY: Final[Mapping[str, re.Pattern[str]]] = {
    sign: re.compile(
        rf"(?P<whole>0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:(?P<group>[{groups}])[0-9]{{3}})"
        rf"(?:(?P=group)[0-9]{{3}})*)(?:{re.escape(sign)}(?P<part>[0-9]+))?"
    )
    for sign, groups in _GROUPS.items()
}
_SIGNED: Final = re.compile(
    "(?P<before>[-\u2212\u2013]?) ?(?P<body>[0-9].*?)(?P<after>-?)", re.DOTALL
)
_NO_CENTS: Final = re.compile("([.,])[-\u2013\u2014]{1,2}$")
"""What prices in shops have for no cents: `45,-` and `45.-`."""

_CURRENCY: Final = (
    "[$\u20ac\u00a3\u00a5]|EUR|USD|CHF|GBP|JPY|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|Fr\\.|kr\\.?"
)
_AFFIXED: Final = re.compile(
    rf"(?P<left>(?:{_CURRENCY})?) ?(?P<number>[-\u2212\u2013]?[0-9].*?)"
    rf" ?(?P<right>(?:{_CURRENCY}|%)?)",
    re.DOTALL,
)
_OF_IDS: Final = frozenset(
    {"id", "no", "nr", "number", "nummer", "num", "ref", "reference", "referenz", "key", "code"}
    | {"zip", "plz", "postcode", "iban", "clause"}
)
"""Last words of the names of columns whose values only look like numbers."""

_IN_DOUBT: Final = (
    "thousands or decimals? --decimal point or comma says which; the column is left as written"
)
_MIXED: Final = "decimal points and decimal commas in one column, which is left as written"
_NO_ORDER: Final = (
    "day or month first? No cell tells, so the column is left as written; to have dates, write "
    "them as 2026-12-31"
)
_LONGEST: Final = 40
_FEW: Final = 0.2
_MONTHS: Final = 12

_DATE: Final = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Read(NamedTuple):
    """A text as a number: by a decimal point, by a decimal comma; what stands beside it."""

    point: str | None
    comma: str | None
    group: str
    affix: str

    def by(self, sign: str) -> str | None:
        return self.point if sign == POINT else self.comma

    @property
    def shows(self) -> str:
        """The decimal sign that this text alone tells; empty if both may be."""
        if self.point is None or self.comma is None:
            return POINT if self.comma is None else COMMA
        return ""

    @property
    def is_doubtful(self) -> bool:
        return None not in (self.point, self.comma) and self.point != self.comma


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How the numbers of a table are written, as far as its cells show."""

    decimals: frozenset[str]
    groups: frozenset[str]

    @property
    def decimal(self) -> str:
        return next(iter(self.decimals)) if len(self.decimals) == 1 else ""


def with_forms(
    columns: Sequence[Column], numbers: Sequence[int], *, usual: str, asked: str
) -> list[Column]:
    """Return the columns with what their texts say in one form, and what became of them.

    Args:
        columns: the columns of one table.
        numbers: the numbers of its rows.
        usual: the decimal sign that such a file has if no cell shows one; may be empty.
        asked: the decimal sign that the user names, for what is in doubt; may be empty.
    """
    read = [_numbers(column) for column in columns]
    habits = _habits(read, usual)
    return [
        _of_numbers(column, cells, numbers, habits, asked)
        if cells is not None
        else _with_others(_of_dates(column, numbers), numbers)
        for column, cells in zip(columns, read, strict=True)
    ]


def _read(text: str) -> Read | None:
    found = _AFFIXED.fullmatch(text) if len(text) <= _LONGEST else None
    number = _NO_CENTS.sub(r"\g<1>00", found["number"]) if found is not None else ""
    signed = _SIGNED.fullmatch(number)
    if found is None or signed is None or (found["left"] and found["right"]):
        return None
    if signed["before"] and signed["after"]:
        return None
    minus = "-" if signed["before"] or signed["after"] else ""
    bodies = {sign: form.fullmatch(signed["body"]) for sign, form in _BODY.items()}
    read = {
        sign: None if body is None else minus + _plain(body["whole"], body["part"])
        for sign, body in bodies.items()
    }
    if read[POINT] is None and read[COMMA] is None:
        return None
    group = next((body["group"] for body in bodies.values() if body and body["group"]), "")
    return Read(read[POINT], read[COMMA], group or "", found["left"] or found["right"])


def _plain(whole: str, part: str | None) -> str:
    digits = "".join(sign for sign in whole if sign.isdigit())
    return digits if part is None else f"{digits}.{part}"


def _numbers(column: Column) -> list[Read | None] | None:
    """Read a column of numbers; nothing if a cell is none. Cells that are no text stay out."""
    found = list[Read | None]()
    for cell in column.cells:
        if not cell.text or cell.kind in (Kind.NUMBER, Kind.PERCENT):
            found.append(None)
            continue
        read = _read(cell.text) if cell.kind is Kind.TEXT else None
        if read is None:
            return None
        found.append(read)
    return found if any(found) else None


def _habits(columns: Sequence[Sequence[Read | None] | None], usual: str) -> Habits:
    every = [one for cells in columns for one in cells or () if one is not None]
    decimals = frozenset(one.shows for one in every if one.shows)
    groups = frozenset(one.group for one in every if one.group and not one.is_doubtful)
    return Habits(decimals=decimals or frozenset(filter(None, [usual])), groups=groups)


def _of_numbers(
    column: Column,
    cells: Sequence[Read | None],
    numbers: Sequence[int],
    habits: Habits,
    asked: str,
) -> Column:
    full = [one for one in cells if one is not None]
    if all(_is_whole(one) for one in full) and not (
        habits.decimals and any(one.group for one in full)
    ):
        # Digits alone are ids as often as not.
        return column
    if _is_of_ids(column):
        return replace(column, stays_text=True)
    if all(not one.affix and not one.group and one.shows != COMMA for one in full):
        # Plain decimal points are text in a workbook, and numbers in a file of text.
        return column
    affixes = _affixes(column, cells)
    if len(affixes) > 1:
        return _left(column, _unlike(affixes, numbers), in_doubt=False)
    sign, doubts = _decimal(cells, habits, asked)
    if doubts:
        rows = f"{_shape(column.cells[doubts[0]])} in {rows_text([numbers[at] for at in doubts])}"
        return _left(column, (_IN_DOUBT if not sign else _MIXED, rows), in_doubt=not sign)
    return _written(column, cells, sign or POINT, next(iter(affixes)))


def _is_whole(one: Read) -> bool:
    return not one.shows and not one.is_doubtful and not one.affix


def _decimal(cells: Sequence[Read | None], habits: Habits, asked: str) -> tuple[str, list[int]]:
    """Return the decimal sign of a column, and the cells because of which nobody knows.

    If there are such cells, the sign is one that the others show, and `""` if the user can say.
    """
    shown = {
        sign: [at for at, one in enumerate(cells) if one is not None and one.shows == sign]
        for sign in (POINT, COMMA)
    }
    if shown[POINT] and shown[COMMA]:
        rare = min(shown, key=lambda sign: len(shown[sign]))
        return COMMA if rare == POINT else POINT, shown[rare]
    own = next((sign for sign, places in shown.items() if places), "")
    sign = own or habits.decimal
    # No decimal sign stands between thousands. Another sign has to be seen there.
    doubts = [
        at
        for at, one in enumerate(cells)
        if one is not None
        and one.is_doubtful
        and not (sign and (one.group == sign or one.group in habits.groups))
    ]
    if not doubts:
        return sign, []
    return (asked, []) if asked and own in ("", asked) else ("", doubts)


def _affixes(column: Column, cells: Sequence[Read | None]) -> dict[str, list[int]]:
    """Where each currency sign, `%` or nothing stands beside the numbers."""
    found: dict[str, list[int]] = {}
    for at, (cell, one) in enumerate(zip(column.cells, cells, strict=True)):
        if one is not None:
            found.setdefault(one.affix, []).append(at)
        elif cell.kind is Kind.PERCENT:
            found.setdefault("%", []).append(at)
        elif cell.text:
            found.setdefault("", []).append(at)
    return found


def _unlike(affixes: Mapping[str, list[int]], numbers: Sequence[int]) -> tuple[str, str]:
    rare = min(affixes.values(), key=len)
    signs = " and ".join(repr(one) if one else "nothing" for one in affixes)
    rows = rows_text([numbers[at] for at in rare])
    return f"{signs} beside the numbers, so they are left as written", rows


def _left(column: Column, told: tuple[str, str], *, in_doubt: bool) -> Column:
    text, rows = told
    odd = Odd(column=column.name, text=text, rows=rows)
    return replace(column, stays_text=True, is_in_doubt=in_doubt, oddities=(*column.oddities, odd))


def _written(column: Column, cells: Sequence[Read | None], sign: str, affix: str) -> Column:
    changed = list[Cell]()
    for cell, one in zip(column.cells, cells, strict=True):
        text = None if one is None else one.by(sign)
        if text is None:
            changed.append(cell)
        elif affix == "%":
            fraction = format((Decimal(text) / 100).normalize(), "f")
            changed.append(cell._replace(text=fraction, kind=Kind.PERCENT))
        else:
            changed.append(cell._replace(text=text, kind=Kind.NUMBER))
    told = list[str]()
    if sign == COMMA and any(one is not None and one.shows == COMMA for one in cells):
        told.append("decimal commas became points")
    elif any(one is not None and one.group for one in cells):
        told.append("the signs between thousands are taken off")
    if affix not in ("", "%"):
        told.append(f"{affix!r} beside the numbers is taken off; the SOP should name the currency")
    odds = [Odd(column=column.name, text=one) for one in told]
    return replace(column, cells=changed, oddities=(*column.oddities, *odds))


def _with_others(column: Column, numbers: Sequence[int]) -> Column:
    """Tell of a column of numbers that a few other cells, such as `ca. 20`, turn into text."""
    full = [at for at, cell in enumerate(column.cells) if cell.text]
    others = [at for at in full if not _is_number(column.cells[at])]
    few = len(others) <= _FEW * len(full)
    if not full or not few or not others or _is_of_ids(column) or column.oddities:
        return column
    told = "numbers, and cells of another kind, so the column is text, as it is written"
    return _with_odd(column, told, [numbers[at] for at in others])


def _is_number(cell: Cell) -> bool:
    return cell.kind in (Kind.NUMBER, Kind.PERCENT) or _read(cell.text) is not None


def _is_of_ids(column: Column) -> bool:
    last = next(reversed(words_of(column.name)), "")
    return last in _OF_IDS or last.endswith(("nummer", "nr"))


def _of_dates(column: Column, numbers: Sequence[int]) -> Column:
    """Write the dates of a column in ISO, if it is known which number is the month."""
    found = {
        at: match
        for at, cell in enumerate(column.cells)
        if cell.kind is Kind.TEXT and (match := _DATE.fullmatch(cell.text))
    }
    others = [
        at
        for at, cell in enumerate(column.cells)
        if cell.text
        and at not in found
        and cell.kind is not Kind.DATE
        and not _ISO.fullmatch(cell.text)
    ]
    if not found:
        return column
    if others:
        told = "dates, and cells of another kind, so the column is left as written"
        return _with_odd(column, told, [numbers[at] for at in others])
    dotted = [at for at, match in found.items() if match[2] == "."]
    slashed = [at for at in found if at not in dotted]
    day_first = _is_day_first([found[at] for at in slashed])
    if slashed and day_first is None:
        return _with_odd(column, _NO_ORDER, [numbers[at] for at in slashed], slashed[0])
    written = {
        at: _iso(match, day_first=match[2] == "." or bool(day_first)) for at, match in found.items()
    }
    wrong = [at for at, text in written.items() if not text]
    if wrong:
        return _with_odd(
            column, "no such date, so the column is left as written", [numbers[at] for at in wrong]
        )
    cells = [
        cell._replace(text=written[at], kind=Kind.DATE) if at in written else cell
        for at, cell in enumerate(column.cells)
    ]
    order = "day" if dotted or day_first else "month"
    odd = Odd(column=column.name, text=f"dates with the {order} first are written as 2026-12-31")
    return replace(column, cells=cells, oddities=(*column.oddities, odd))


def _is_day_first(dates: Sequence[re.Match[str]]) -> bool | None:
    """Whether days stand before months; nothing if it cannot be known."""
    day = any(int(one[1]) > _MONTHS for one in dates)
    month = any(int(one[3]) > _MONTHS for one in dates)
    return None if day == month else day


def _iso(match: re.Match[str], *, day_first: bool) -> str:
    day, month = (match[1], match[3]) if day_first else (match[3], match[1])
    try:
        return date(int(match[4]), int(month), int(day)).isoformat()
    except ValueError:
        return ""


def _with_odd(column: Column, text: str, rows: Sequence[int], first: int | None = None) -> Column:
    shown = "" if first is None else f"{_shape(column.cells[first])} in "
    odd = Odd(column=column.name, text=text, rows=f"{shown}{rows_text(rows)}")
    return replace(column, oddities=(*column.oddities, odd))


def _shape(cell: Cell) -> str:
    """Show how a cell is written, and not what it holds: the column may be private."""
    return f"{re.sub('[0-9]', '9', cell.text)!r}"


# A table with named columns, made of a grid; what was odd about it is printed.


def table_of(grid: Grid, wanted: tuple[int, int] | None = None, decimal: str = "") -> Sheet:
    """Name the columns, leave out empty rows and columns, and bring cells into one form.

    `wanted` are the rows of the header, and `decimal` is the sign that the user says stands
    before decimals, if the cells leave that open.

    Raises:
        LoadingError: there is no header, or no row under it.
    """
    if not any(cell.text for row in grid.rows for cell in row):
        raise LoadingError(grid.path, "holds no cell with anything in it")
    header = find_header(grid, wanted)
    body = _filled(grid, header)
    kept = [place for place in range(header.bottom + 1, len(body)) if _is_row(body[place], header)]
    if not kept:
        raise LoadingError(grid.path, "the names of the columns, and no row under them")
    names = _distinct(header.names)
    raw = [
        _column(place, (parts, name), [body[row][place] for row in kept])
        for place, (parts, name) in enumerate(zip(header.names, names, strict=True))
        if parts or any(body[row][place].text for row in kept)
    ]
    numbers = [grid.numbers[row] for row in kept]
    columns = with_forms(raw, numbers, usual=grid.decimal, asked=decimal)
    rows = (grid.numbers[header.top], grid.numbers[header.bottom])
    empty = [one.name for one in columns if one.is_empty]
    return Sheet(
        path=grid.path,
        title=grid.title,
        header=str(rows[0]) if rows[0] == rows[1] else f"{rows[0]}-{rows[1]}",
        columns=[one for one in columns if not one.is_empty],
        numbers=numbers,
        typed=grid.typed,
        raw=raw,
        usual=grid.decimal,
        asked=decimal,
        told=(
            *grid.notes,
            *header.notes,
            *_row_notes(grid, header, body),
            *name_notes(columns, header.names),
            *([f"{first_of(empty, _SHOWN)}: empty in every row, and left out"] if empty else ()),
        ),
        told_of_cells=tuple(column_notes(columns, numbers)),
    )


def _filled(grid: Grid, header: Header) -> list[list[Cell]]:
    """Return the rows, in which each of merged cells under the header has their value."""
    rows = [list(row) for row in grid.rows]
    for one in grid.merged:
        if one.top > header.bottom:
            for place in range(one.top, one.bottom + 1):
                rows[place][one.left : one.right + 1] = [rows[one.top][one.left]] * (
                    one.right + 1 - one.left
                )
    return rows


def _is_row(row: Sequence[Cell], header: Header) -> bool:
    is_filled = any(cell.text or cell.kind is Kind.FORMULA for cell in row)
    return is_filled and not _repeats(row, header)


def _repeats(row: Sequence[Cell], header: Header) -> bool:
    last = [parts[-1] if parts else "" for parts in header.names]
    return [" ".join(cell.text.split()) for cell in row] == last


def _distinct(names: Iterable[tuple[str, ...]]) -> list[str]:
    """Return a name for each column, unlike all others."""
    found = list[str]()
    for place, parts in enumerate(names):
        name = " ".join(parts) or f"Column {letter_of(place)}"
        number, plain = 2, name
        while name in found:
            name, number = f"{plain} ({number})", number + 1
        found.append(name)
    return found


def _column(place: int, names: tuple[tuple[str, ...], str], cells: Sequence[Cell]) -> Column:
    parts, name = names
    full = [cell for cell in cells if cell.text]
    if any(cell.kind is Kind.MOMENT for cell in full):
        # A date among moments is one at midnight.
        cells = [
            cell._replace(text=f"{cell.text}T00:00:00") if cell.kind is Kind.DATE else cell
            for cell in cells
        ]
    return Column(
        name=name,
        short=parts[-1] if parts else name,
        letter=letter_of(place),
        cells=cells,
    )


def _row_notes(grid: Grid, header: Header, body: Sequence[Sequence[Cell]]) -> Iterator[str]:
    below = range(header.bottom + 1, len(body))
    again = [grid.numbers[place] for place in below if _repeats(body[place], header)]
    if again:
        rows = first_of(map(str, again), _SHOWN)
        yield f"rows that repeat the names of the columns are left out: {rows}"
    merged = sum(1 for one in grid.merged if one.top > header.bottom)
    if merged:
        yield f"{merged} merged cells below the header: each row that one spans has its value"
