"""Find the row, or the two rows, that name the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench.errors import LoadingError

from .grid import Cell, Grid, Kind

_SHARE: Final = 0.6
"""A row of names has something in at least this share of the columns."""

_LOOKED_AT: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The rows that name the columns, from 0 in the grid, and the parts of each name.

    A name has two parts where there are two rows: that of the group, and its own.
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
    names = [_parts(parts) for parts in zip(*rows, strict=True)]
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


def _parts(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for part in dict.fromkeys(parts) if part)


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
