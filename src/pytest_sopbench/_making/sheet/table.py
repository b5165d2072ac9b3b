"""A table with named columns, made of a grid; what was odd about it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_sopbench.errors import LoadingError

from .columns import Column, Sheet, letter_of
from .forms import with_forms
from .grid import Cell, Grid, Kind
from .header import Header, find_header
from .oddities import column_notes, few, name_notes


def table_of(grid: Grid, wanted: tuple[int, int] | None = None, decimal: str = "") -> Sheet:
    """Name the columns, leave out empty rows and columns, and bring cells into one form.

    `wanted` are the rows of the header, and `decimal` is the sign that the user says stands
    before decimals, where the cells leave that open.

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
    return Sheet(
        path=grid.path,
        title=grid.title,
        header=str(rows[0]) if rows[0] == rows[1] else f"{rows[0]}-{rows[1]}",
        columns=[one for one in columns if not one.is_empty],
        numbers=numbers,
        typed=grid.typed,
        notes=(
            *grid.notes,
            *header.notes,
            *_row_notes(grid, header, body),
            *name_notes(columns, header.names),
            *column_notes(columns, numbers),
        ),
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
    if not any(cell.text or cell.kind is Kind.FORMULA for cell in row):
        return False
    return not _repeats(row, header)


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
        yield f"rows that repeat the names of the columns are left out: {few(map(str, again))}"
    merged = sum(1 for one in grid.merged if one.top > header.bottom)
    if merged:
        yield f"{merged} merged cells below the header: each row that one spans has its value"
