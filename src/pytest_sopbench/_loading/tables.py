"""A data file as rows of cells, each with the line on which it starts, and what its cells say.

A cell is kept as it is written until the type of its whole column says otherwise: `007`, `1.0`
and `None` in a column of names stay what they are.
"""

from __future__ import annotations

import ast
import csv
import json
import math
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from io import StringIO
from itertools import islice
from pathlib import Path

from pytest_sopbench._core.values.json import STRICT, JsonValue, RefusedError
from pytest_sopbench.errors import LoadingError, RowError

from .files import (
    did_you_mean,
    first_twice,
    is_too_deep,
    listed,
    read_json_lines,
    read_text,
    shown,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows of a data file under the names of its columns.

    `lines` are the lines on which the rows start, as an editor counts them. `typed` tells that
    the file itself says what is a number and what is text.
    """

    path: Path
    columns: tuple[str, ...]
    rows: Sequence[tuple[JsonValue, ...]]
    lines: Sequence[int]
    typed: bool

    def cells(self, column: str) -> list[JsonValue]:
        """The cells of a column, from top to bottom."""
        place = self.columns.index(column)
        return [row[place] for row in self.rows]


def read_table(path: Path) -> Table:
    """Read a `.csv` or a `.jsonl` file.

    Raises:
        LoadingError: the file is empty, no regular one, not UTF-8, or has no usable header.
        RowError: one row does not fit; carries its line.
    """
    return _read_jsonl(path) if path.suffix == ".jsonl" else _read_csv(path)


def csv_text(rows: Iterable[Iterable[object]], ending: str = "\n") -> str:
    """Return rows as a CSV file has them."""
    stream = StringIO(newline="")
    csv.writer(stream, lineterminator=ending).writerows(rows)
    return stream.getvalue()


def rename(table: Table, headers: Mapping[str, str], *, source: Path) -> Table:
    """Give columns the names that `columns` of `metadata.json` has for their headers.

    Raises:
        LoadingError: a header is not in the file, or two columns would share a name.
    """
    ours = {header: name for name, header in headers.items()}
    for name, header in headers.items():
        if header not in table.columns:
            raise LoadingError(
                source,
                f"key 'columns': {name!r} stands for the header {header!r},"
                f" which {table.path.name} does not have",
                hint=did_you_mean(header, table.columns) or f"it has {listed(table.columns)}",
            )
    columns = tuple(ours.get(header, header) for header in table.columns)
    twice = first_twice(columns)
    if twice is not None or len(ours) < len(headers):
        problem = (
            f"two columns would be called {twice!r}"
            if twice is not None
            else "one header has two names"
        )
        raise LoadingError(source, f"key 'columns': {problem}")
    return replace(table, columns=columns)


def _read_csv(path: Path) -> Table:
    records = _records(path)
    first = next(records, None)
    if first is None:
        raise LoadingError(path, "the file is empty", hint="the first line names the columns")
    line, header = first
    # What pandas and R write before the first column: the number of the row.
    skipped = 1 if len(header) > 1 and not header[0].strip() else 0
    columns = tuple(header[skipped:])
    _check_header(path, line, columns)
    pool: dict[str, str] = {}
    rows: list[tuple[JsonValue, ...]] = []
    lines = array("L")
    for start, cells in records:
        if len(cells) != len(header):
            hint = "a cell with a comma in it stands in double quotes"
            count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            raise RowError(
                path,
                f"{count}, but the header names {len(header)}",
                row=start,
                hint=hint if len(cells) > len(header) else "",
            )
        # Labels repeat by the thousand; one copy of each is enough.
        rows.append(tuple(pool.setdefault(cell, cell) for cell in cells[skipped:]))
        lines.append(start)
    if not rows:
        raise LoadingError(path, "a header, and no row under it", row=line)
    return Table(path=path, columns=columns, rows=rows, lines=lines, typed=False)


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not a blank line, with the line on which it starts."""
    text = read_text(path, newline="")
    before, nul, _ = text.partition("\0")
    if nul:
        hint = "the file may be UTF-16, or not text at all; save it as UTF-8"
        raise RowError(path, "holds a NUL character", row=before.count("\n") + 1, hint=hint)
    # `strict`, since else a quotation mark that is never closed swallows the rest of the file.
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as fault:
            hint = _LARGE_HINT if "limit" in str(fault) else _CSV_HINT
            raise RowError(path, _csv_problem(fault), row=start, hint=hint) from fault
        if cells:
            yield start, cells


_LARGE_HINT = "close the double quote that is open, or keep such rows in tasks.jsonl"
_CSV_HINT = (
    "a cell with a comma, a line end or a double quote stands in double quotes, and a double"
    " quote in it is written twice"
)


def _csv_problem(fault: csv.Error) -> str:
    text = str(fault)
    if text.startswith("unexpected end of data"):
        return "a double quote is opened here and never closed"
    if text.startswith("field larger than"):
        return f"a cell has more than {csv.field_size_limit():,} characters"
    return f"not CSV: {text}"


def _check_header(path: Path, line: int, columns: tuple[str, ...]) -> None:
    nameless = [place for place, name in enumerate(columns, 1) if not name.strip()]
    if nameless:
        raise LoadingError(
            path,
            f"the header has no name for column {nameless[0]}",
            row=line,
            hint="name it, or remove the column",
        )
    twice = first_twice(columns)
    if twice is not None:
        raise LoadingError(path, "stands twice in the header", row=line, column=twice)


def _read_jsonl(path: Path) -> Table:
    columns: tuple[str, ...] | None = None
    rows: list[tuple[JsonValue, ...]] = []
    lines = array("L")
    for number, value in read_json_lines(path):
        if not isinstance(value, dict) or not value:
            raise RowError(path, "not a JSON object with keys", row=number)
        if columns is None:
            columns = tuple(value)
        rows.append(_cells_of(path, number, value, columns))
        lines.append(number)
    if columns is None:
        raise LoadingError(path, "the file is empty", hint="write one JSON object per line")
    return Table(path=path, columns=columns, rows=rows, lines=lines, typed=True)


def _cells_of(
    path: Path, line: int, value: Mapping[str, JsonValue], columns: tuple[str, ...]
) -> tuple[JsonValue, ...]:
    if tuple(value) == columns:
        return tuple(value.values())
    for column in columns:
        if column not in value:
            raise RowError(
                path,
                "missing, and the first line has it",
                row=line,
                column=column,
                hint="write null if there is no value",
            )
    extra = [key for key in value if key not in columns]
    if extra:
        raise RowError(
            path,
            "the first line has no such key",
            row=line,
            column=extra[0],
            hint=did_you_mean(extra[0], columns) or "every line needs the same keys",
        )
    return tuple(value[column] for column in columns)


# What the cells of a column say: numbers, truth values, lists, or text.


class ColumnType(StrEnum):
    """How the cells of an input or of a tool result are read.

    An empty cell is null in each of them but `written`, which is what JSON says already.
    """

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    WRITTEN = "written"


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*")
_DIGITS = 300
# What Python reads as JSON, and may not be able to write again: without any of these it can.
_DOUBTFUL = re.compile(r"NaN|Infinity|[0-9][eE]|[0-9]{300}|[\\\ud800-\udfff]")
_INFERRED_BOOLEANS = {"true": True, "false": False}
_BOOLEANS = _INFERRED_BOOLEANS | {"yes": True, "no": False, "1": True, "0": False}


class CellError(ValueError):
    """A cell is not what its column is declared to be."""


def infer_type(cells: Iterable[JsonValue]) -> ColumnType:
    """The type that every cell of a column has; empty cells have no say.

    All cells JSON numbers: number. All `true` or `false`, in any case: boolean. All lists or
    objects, in JSON or as Python writes them: list. Else, and if all are empty: text.
    """
    texts = {cell for cell in cells if isinstance(cell, str) and cell}
    if not texts:
        return ColumnType.TEXT
    fitting = (word for word, fits in _SHAPES.items() if all(map(fits, texts)))
    return ColumnType(next(fitting, ColumnType.TEXT))


def odd_cell(cells: Sequence[JsonValue]) -> tuple[int, str] | None:
    """The one cell that keeps a column from being read as the others are, and what they are.

    It turns a column of numbers into one of texts, so it is a slip more often than it is meant.
    Nothing if there are fewer than three others, or more than one such cell.
    """
    full = [(place, cell) for place, cell in enumerate(cells) if isinstance(cell, str) and cell]
    if len(full) <= _OTHERS:
        return None
    for word, fits in _SHAPES.items():
        odd = list(islice((place for place, cell in full if not fits(cell)), 2))
        if len(odd) == 1:
            return odd[0], word
    return None


def convert(cell: JsonValue, column_type: ColumnType) -> JsonValue:
    """The value of a cell; what is no text stays as it is.

    Raises:
        CellError: the cell is not of the type; cannot happen with an inferred type.
    """
    if not isinstance(cell, str) or column_type is ColumnType.WRITTEN:
        return cell
    if not cell:
        return None
    if column_type is ColumnType.NUMBER:
        return _number(cell)
    if column_type is ColumnType.BOOLEAN:
        return _boolean(cell)
    if column_type is ColumnType.LIST:
        return parse_literal(cell)
    return cell


def parse_literal(text: str) -> JsonValue:
    """The list or object that a text writes down, in JSON or as Python prints it.

    Raises:
        CellError: it is neither, or holds something that JSON has no word for.
    """
    if text.lstrip()[:1] not in {"[", "{"}:
        msg = f"{shown(text)} is neither a list nor an object"
        raise CellError(msg)
    try:
        value: JsonValue = STRICT.decode(text)
        is_doubtful = _DOUBTFUL.search(text) is not None
    except RefusedError as fault:
        msg = f"{shown(text)}: {fault}"
        raise CellError(msg) from None
    except (ValueError, RecursionError):
        value, is_doubtful = _python_literal(text), True
    is_container = isinstance(value, list | dict) and not is_too_deep(text, value)
    if not is_container or (is_doubtful and not _is_json(value)):
        msg = f"{shown(text)} is neither a list nor an object that JSON can write"
        raise CellError(msg)
    return value


def _python_literal(text: str) -> JsonValue:
    try:
        with warnings.catch_warnings():
            # A backslash in somebody's data is no business of whoever runs the tests.
            warnings.simplefilter("ignore")
            read = ast.parse(text.strip(), mode="eval")
            value: JsonValue = ast.literal_eval(read)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as fault:
        msg = f"{shown(text)} is neither a list nor an object"
        raise CellError(msg) from fault
    for one in ast.walk(read):
        keys = one.keys if isinstance(one, ast.Dict) else ()
        twice = first_twice([repr(key.value) for key in keys if isinstance(key, ast.Constant)])
        if twice is not None:
            # Which of the two is expected, nobody knows; JSON with such keys is refused as well.
            msg = f"{shown(text)}: key {twice} stands twice in one object"
            raise CellError(msg)
    return value


def _is_literal(text: str) -> bool:
    try:
        parse_literal(text)
    except CellError:
        return False
    return True


def _is_number(text: str) -> bool:
    return (
        len(text) <= _DIGITS and _NUMBER.fullmatch(text) is not None and math.isfinite(float(text))
    )


def _number(text: str) -> JsonValue:
    if len(text) > _DIGITS or not _LOOSE_NUMBER.fullmatch(text):
        msg = f"{shown(text)} is not a number"
        raise CellError(msg)
    if text.strip().lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        msg = f"{shown(text)} is too large a number"
        raise CellError(msg)
    return number


def _is_boolean(text: str) -> bool:
    return text.lower() in _INFERRED_BOOLEANS


def _boolean(text: str) -> bool:
    known = _BOOLEANS.get(text.strip().lower())
    if known is None:
        msg = f"{shown(text)} is neither true nor false"
        raise CellError(msg)
    return known


_OTHERS = 3
_SHAPES: Mapping[str, Callable[[str], bool]] = {
    "number": _is_number,
    "boolean": _is_boolean,
    "list": _is_literal,
}
"""What a column can be but text, by its word in `types`."""


def _is_json(value: object) -> bool:
    """Whether JSON has words for a value that came out of a literal."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return False
    read = json.loads(text)
    # Tuples and keys that are numbers survive a dump, as something else.
    return value == read and repr(value) == repr(read)
