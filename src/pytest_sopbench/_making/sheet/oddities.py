"""What was odd about the columns of a table, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._reports.text.numbers import counted

from .columns import Column
from .grid import Kind

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


def column_notes(column: Column) -> Iterator[str]:
    """Yield what became of cells of one column."""
    name = column.name
    if column.is_empty:
        yield f"{name}: empty in every row, and left out"
    tidied = sum(1 for cell in column.cells if cell.tidied)
    if tidied:
        cells = counted(tidied, "cell")
        yield f"{name}: blanks at the ends, or odd ones inside, were tidied in {cells}"
    for kind, told in _TOLD.items():
        count = sum(1 for cell in column.cells if cell.kind is kind)
        if count:
            yield f"{name}: {told.format(counted(count, 'cell'))}"
    kinds = [cell.kind for cell in column.cells if cell.text]
    others = len(kinds) - kinds.count(Kind.DATE)
    if Kind.DATE in kinds and Kind.MOMENT not in kinds and others:
        yield f"{name}: dates, and {counted(others, 'cell')} of another kind, left as written"
    if column.had_comma:
        yield f"{name}: decimal commas became points"
