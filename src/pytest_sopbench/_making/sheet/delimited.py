"""Read text with separators: whatever its encoding and its separator are, both are told."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from pytest_sopbench._making.bounded import bounded
from pytest_sopbench.errors import LoadingError, RowError

from .grid import Grid, text_cell

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
    """Return a text, and a note where its encoding had to be found out.

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
        # Where commas stand between cells, no office writes decimals with them.
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
