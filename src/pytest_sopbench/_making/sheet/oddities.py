"""What was odd about the columns of a table, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._reports.text.numbers import counted

from .columns import Column, Odd, rows_text
from .grid import Kind

_TOLD: Final[Mapping[Kind, str]] = {
    Kind.PERCENT: "{} with a percentage, written as a fraction (15 % is 0.15)",
    Kind.FORMULA: "{} with a formula that has no stored value; save the file in Excel",
    Kind.FAULT: "{} with an error of Excel such as #N/A, which counts as empty",
}

_SHOWN: Final = 3


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
    """Name the columns: all of them where each has its rows, else the first few."""
    if any(one.rows for one in odds):
        return ", ".join(f"{one.column} ({one.rows})" if one.rows else one.column for one in odds)
    return few(one.column for one in odds)


def _oddities(column: Column, numbers: Sequence[int]) -> Iterator[Odd]:
    name = column.name
    if column.is_empty:
        yield Odd(column=name, text="empty in every row, and left out")
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


def few(texts: Iterable[str]) -> str:
    """Return the first few of some texts, and how many there are beside them."""
    every = list(texts)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return f"{', '.join(every[:_SHOWN])}{more}"
