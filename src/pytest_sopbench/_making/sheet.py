"""Tables as people have them: read from CSV, Excel and Parquet."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._loading.files import listed, nearest
from pytest_sopbench._making.bounded import bounded, library, read_by
from pytest_sopbench._making.table import EMPTY, Cell, Grid, Kind, Merged, cell_of, text_cell
from pytest_sopbench.errors import LoadingError, RowError

# Read text with separators: whatever its encoding and its separator are, both are printed.

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LOOKED_AT: Final = 50
_USUAL: Final = ("utf-8", "utf-8-sig")


def read_bytes(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        LoadingError: it cannot be opened, or is empty.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise LoadingError(path, f"cannot be read: {fault.strerror or fault}") from fault
    if not data.strip():
        raise LoadingError(path, "the file is empty")
    return data


def decoded(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    """Return a text, and a note if its encoding had to be found out.

    Raises:
        LoadingError: it is not text.
    """
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as fault:
        raise LoadingError(path, f"is not text in {encoding}", hint="save it as UTF-8") from fault
    if "\0" in text:
        raise LoadingError(path, "is not text", hint="export it as .csv or .xlsx")
    notes = () if encoding in _USUAL else (f"it is not UTF-8, and is read as {encoding}",)
    return text, notes


@bounded
def read_delimited(path: Path) -> Grid:
    """Read `.csv`, `.tsv` and the like.

    Raises:
        LoadingError: the file is empty, is not text, or has a row that does not fit the others.
    """
    text, notes = decoded(read_bytes(path), path)
    separator, text, skipped = _separator(text)
    if separator != ",":
        notes = (*notes, f"its cells have {_SEPARATORS.get(separator, 'signs')} between them")
    rows, numbers = list[list[str]](), list[int]()
    for number, row in _records(path, text, separator):
        rows.append(row)
        numbers.append(number + skipped)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    width = max(width, len(rows[0]))
    for number, row in zip(numbers, rows, strict=True):
        if any(cell.strip() for cell in row[width:]):
            hint = "a cell with a separator in it stands in double quotes"
            problem = f"{len(row)} cells, and most rows have {width}"
            raise RowError(path, problem, row=number, hint=hint)
    padded = [[text_cell(cell) for cell in [*row, *[""] * width][:width]] for row in rows]
    return Grid(
        path=path,
        title="",
        rows=padded,
        numbers=numbers,
        typed=False,
        # If commas stand between cells, no office writes decimals with them.
        decimal="." if separator == "," else "",
        notes=notes,
    )


def _encoding(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    head = data[:400]
    if head.count(0) > len(head) // 4:
        # Plain letters in UTF-16 have every second byte empty.
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _separator(text: str) -> tuple[str, str, int]:
    """Return the separator, the text, and how many lines were taken off it."""
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) == len("sep=;"):
        # Excel writes and reads such a line.
        return first.strip()[-1], rest, 1
    return max(_SEPARATORS, key=lambda sign: _fit(text, sign)), text, 0


def _fit(text: str, separator: str) -> tuple[float, int]:
    """Say how well a separator cuts a text: the share of rows of one width, and that width."""
    try:
        rows = list(islice(csv.reader(io.StringIO(text), delimiter=separator), _LOOKED_AT))
    except csv.Error:
        return (0, 0)
    widths = Counter(len(row) for row in rows if row)
    width, count = widths.most_common(1)[0] if widths else (1, 0)
    return (count / widths.total(), width) if width > 1 else (0, 0)


def _records(path: Path, text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as fault:
            hint = "a double quote inside of a cell is written twice, and the cell stands in quotes"
            raise RowError(path, f"not readable: {fault}", row=start, hint=hint) from fault
        yield start, row


# Read a sheet of an Excel workbook, with what its cells look like.

_ZEROS: Final = re.compile(r"0{2,}")
_GAP: Final = 2_000
"""Empty rows from which on nothing more is looked for."""

_QUOTED: Final = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


@bounded
def sheets(path: Path) -> tuple[tuple[str, ...], str]:
    """Return the names of the sheets that hold cells, in their order, and of the largest.

    The largest is empty if every sheet is hidden.
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
    rows = [str(number) for number, one in sheet.row_dimensions.items() if one.hidden]
    columns = [letter for letter, one in sheet.column_dimensions.items() if one.hidden]
    return tuple(
        f"hidden {what} are read like the others: {listed(names)}"
        for what, names in (("rows", rows), ("columns", columns))
        if names
    )


# Read a Parquet file.

_OF_PANDAS = "__index_level_"


@bounded
def read_parquet(path: Path) -> Grid:
    """Read every column; the row after the names is row 1, and the index of pandas is no column.

    Raises:
        LoadingError: it is no Parquet file.
    """
    parquet = library("pyarrow.parquet", path=path)
    try:
        table = parquet.ParquetFile(path).read()
    except Exception as fault:
        # A broken file ends in whatever its reader stumbles over, of no common kind.
        raise read_by(path, "pyarrow", fault) from fault
    names = [name for name in table.column_names if not name.startswith(_OF_PANDAS)]
    columns = [map(cell_of, table.column(name).to_pylist()) for name in names]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Grid(
        path=path,
        title="",
        rows=[[text_cell(name) for name in names], *rows],
        numbers=range(len(rows) + 1),
        typed=True,
        has_header=True,
    )


# Read a table by what its file is.

WORKBOOKS: Final = (".xlsx", ".xlsm")
_PARQUET: Final = ".parquet"
TABLES: Final = (*WORKBOOKS, ".csv", ".tsv", ".tab", _PARQUET)
"""The endings of tables."""


def read_grid(path: Path, sheet: str | None) -> Grid:
    """Read a file of cases, whose ending is one of `TABLES`.

    Raises:
        LoadingError: it cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix in WORKBOOKS:
        return read_workbook(path, sheet)
    if sheet is not None:
        raise LoadingError(path, "has no sheets", hint="take --sheet off")
    return read_parquet(path) if suffix == _PARQUET else read_delimited(path)
