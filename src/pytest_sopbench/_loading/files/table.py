"""A data file as rows of cells, each with the line on which it starts."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, RowError

from .cells import did_you_mean, listed
from .document import not_utf8, read_json_lines, refuse_endless, unreadable


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
    refuse_endless(path)
    read = _read_jsonl if path.suffix == ".jsonl" else _read_csv
    try:
        return read(path)
    except OSError as fault:
        raise unreadable(path, fault) from fault
    except UnicodeDecodeError as fault:
        raise not_utf8(path) from fault


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
    twice = _first_twice(columns)
    if twice is not None or len(ours) < len(headers):
        problem = (
            f"two columns would be called {twice!r}"
            if twice is not None
            else "one header has two names"
        )
        raise LoadingError(source, f"key 'columns': {problem}")
    return replace(table, columns=columns)


def _read_csv(path: Path) -> Table:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        records = _records(path, stream)
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
                raise _uneven(path, start, len(cells), len(header))
            # Labels repeat by the thousand; one copy of each is enough.
            rows.append(tuple(pool.setdefault(cell, cell) for cell in cells[skipped:]))
            lines.append(start)
    if not rows:
        raise LoadingError(path, "a header, and no row under it", row=line)
    return Table(path=path, columns=columns, rows=rows, lines=lines, typed=False)


def _records(path: Path, stream: TextIO) -> Iterator[tuple[int, list[str]]]:
    """Each record that is not a blank line, with the line on which it starts."""
    # `strict`, since else a quotation mark that is never closed swallows the rest of the file.
    reader = csv.reader(_without_nul(path, stream), strict=True)
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


def _without_nul(path: Path, stream: TextIO) -> Iterator[str]:
    for number, line in enumerate(stream, 1):
        if "\0" in line:
            raise RowError(
                path,
                "holds a NUL character",
                row=number,
                hint="the file may be UTF-16, or not text at all; save it as UTF-8",
            )
        yield line


def _check_header(path: Path, line: int, columns: tuple[str, ...]) -> None:
    nameless = [place for place, name in enumerate(columns, 1) if not name.strip()]
    if nameless:
        raise LoadingError(
            path,
            f"the header has no name for column {nameless[0]}",
            row=line,
            hint="name it, or remove the column",
        )
    twice = _first_twice(columns)
    if twice is not None:
        raise LoadingError(path, "stands twice in the header", row=line, column=twice)


def _first_twice(names: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _uneven(path: Path, line: int, found: int, wanted: int) -> RowError:
    hint = "a cell with a comma in it stands in double quotes" if found > wanted else ""
    count = "1 cell" if found == 1 else f"{found} cells"
    return RowError(path, f"{count}, but the header names {wanted}", row=line, hint=hint)


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
                hint="write null where there is no value",
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
