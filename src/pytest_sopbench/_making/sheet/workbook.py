"""Read a sheet of an Excel workbook, with what its cells look like."""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._loading.files.suggestions import listed, nearest
from pytest_sopbench._making.bounded import bounded
from pytest_sopbench._making.libraries import library, read_by
from pytest_sopbench.errors import LoadingError

from .grid import EMPTY, Cell, Grid, Kind, Merged, cell_of

_ZEROS: Final = re.compile(r"0{2,}")
_GAP: Final = 2_000
"""Empty rows from which on nothing more is looked for."""

_QUOTED: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


@bounded
def sheets(path: Path) -> tuple[tuple[str, ...], str]:
    """Return the names of the sheets that hold cells, in their order, and of the largest.

    The largest is empty where every sheet is hidden.
    """
    book = _opened(path, values=False)
    return tuple(one.title for one in book.worksheets), _largest(book)


@bounded
def read_workbook(path: Path, sheet: str | None) -> Grid:
    """Read one sheet; without a name the largest of those that are not hidden.

    Raises:
        LoadingError: it is no workbook, or has no such sheet; the hint lists those it has.
    """
    book = _opened(path, values=False)
    chosen, notes = _sheet(path, book, sheet)
    cells, ends = _rows(chosen)
    if any(cell.data_type == "f" for row in cells for cell in row):
        values = _opened(path, values=True)[chosen.title]
        last = chosen.min_row + len(cells) - 1
        stored = [list(row) for row in values.iter_rows(min_row=chosen.min_row, max_row=last)]
    else:
        stored = cells
    rows = [
        [_cell(one, value) for one, value in zip(row, kept, strict=True)]
        for row, kept in zip(cells, stored, strict=True)
    ]
    return Grid(
        path=path,
        title=chosen.title,
        rows=rows,
        numbers=range(chosen.min_row, chosen.min_row + len(rows)),
        typed=True,
        merged=_merged(chosen, len(rows)),
        notes=(*notes, *ends, *_hidden(chosen)),
    )


def _opened(path: Path, *, values: bool) -> Any:
    openpyxl = library("openpyxl", path=path)
    if not zipfile.is_zipfile(path):
        raise LoadingError(
            path,
            "is no Excel workbook",
            hint="save it as .xlsx or .csv; a workbook with a password has to be saved without",
        )
    try:
        with warnings.catch_warnings():
            # It warns of what only Excel draws: styles, validations, print areas.
            warnings.simplefilter("ignore")
            return openpyxl.load_workbook(path, data_only=values)
    except OSError as fault:
        raise LoadingError(path, f"cannot be read: {fault.strerror or fault}") from fault
    except Exception as fault:
        # A broken file ends in whatever its reader stumbles over, of no common kind.
        raise read_by(path, "openpyxl", fault) from fault


def _sheet(path: Path, book: Any, name: str | None) -> tuple[Any, tuple[str, ...]]:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name is None:
        chosen = _largest(book)
        if not chosen:
            raise LoadingError(path, "has no sheet that can be seen", hint="give --sheet NAME")
        others = [
            title if one.sheet_state == "visible" else f"{title} (hidden)"
            for title, one in sheets.items()
            if title != chosen
        ]
        note = f"sheet {chosen!r} is read, the largest; there are also {listed(others)}"
        return sheets[chosen], (note,) if others else ()
    folded = {title.strip().casefold(): title for title in sheets}
    title = name if name in sheets else folded.get(name.strip().casefold(), "")
    if not title:
        near = nearest(name, sheets)
        meant = f"did you mean {near!r}? " if near else ""
        names = ", ".join(map(repr, sheets))
        raise LoadingError(path, f"has no sheet {name!r}", hint=f"{meant}its sheets: {names}")
    return sheets[title], ()


def _largest(book: Any) -> str:
    """Name the sheet with the most cells that hold something, of those that are not hidden."""
    shown = [one for one in book.worksheets if one.sheet_state == "visible"]
    if len(shown) < 2:  # noqa: PLR2004 - nothing to compare
        return next((str(one.title) for one in shown), "")
    return str(max(shown, key=_size).title)


def _size(sheet: Any) -> int:
    rows, _ = _rows(sheet)
    return sum(1 for row in rows for cell in row if cell.value is not None)


def _rows(sheet: Any) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Return the rows up to a long gap: some sheets are coloured down to their millionth row."""
    rows, empty = list[list[Any]](), 0
    for row in sheet.iter_rows():
        rows.append(list(row))
        empty = empty + 1 if all(cell.value is None for cell in row) else 0
        if empty == _GAP:
            end = sheet.min_row + len(rows) - 1
            return rows, (f"nothing is read below row {end}, after {_GAP:,} empty rows",)
    return rows, ()


def _cell(cell: Any, stored: Any) -> Cell:
    if cell.data_type == "f" and stored.value is None:
        return Cell("", Kind.FORMULA)
    if stored.data_type == "e":
        return Cell("", Kind.FAULT)
    found = cell_of(stored.value)
    if found.kind is not Kind.NUMBER:
        return EMPTY if found.kind is Kind.EMPTY and not found.tidied else found
    form = _QUOTED.sub("", str(stored.number_format)).split(";")[0]
    if "%" in form:
        return found._replace(kind=Kind.PERCENT)
    if _ZEROS.fullmatch(form) and found.text.isdigit():
        # What a person sees of such a number has its zeros, and so has it elsewhere.
        return Cell(found.text.zfill(len(form)), Kind.TEXT)
    return found


def _merged(sheet: Any, rows: int) -> Sequence[Merged]:
    return [
        Merged(
            top=one.min_row - sheet.min_row,
            bottom=min(one.max_row - sheet.min_row, rows - 1),
            left=one.min_col - sheet.min_column,
            right=one.max_col - sheet.min_column,
        )
        for one in sheet.merged_cells.ranges
        if one.min_row - sheet.min_row < rows
    ]


def _hidden(sheet: Any) -> tuple[str, ...]:
    rows = sum(1 for one in sheet.row_dimensions.values() if one.hidden)
    columns = [letter for letter, one in sheet.column_dimensions.items() if one.hidden]
    are = "hidden rows are" if rows > 1 else "hidden row is"
    notes = [f"{rows} {are} read like the others"] if rows else []
    notes += [f"hidden columns are read like the others: {', '.join(columns)}"] if columns else []
    return tuple(notes)
