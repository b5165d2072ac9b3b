"""The rows of a data file that need not be sound: what can be told of them all the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from pytest_sopbench._core.values.json import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class RoughTable:
    """Rows under the names of the header; `lines` are those on which they start."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[JsonValue]]
    lines: Sequence[int]

    def cells(self, column: str) -> list[JsonValue]:
        """The cells of a column from top to bottom; `None` where a row is too short."""
        place = self.columns.index(column)
        return [row[place] if place < len(row) else None for row in self.rows]

    def renamed(self, headers: Mapping[str, JsonValue]) -> RoughTable:
        """The same rows under the names that the metadata has for the headers."""
        ours = {header: name for name, header in headers.items() if isinstance(header, str)}
        columns = tuple(ours.get(name, name) for name in self.columns)
        return RoughTable(columns=columns, rows=self.rows, lines=self.lines)


def rough_csv(text: str) -> RoughTable | None:
    """Read what has a header and rows; a row may be short, long or oddly quoted."""
    rows: list[list[JsonValue]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text.replace("\0", "")))
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error:
            continue
        if cells:
            rows.append([*cells])
            lines.append(start)
    return _table(rows, lines)


def rough_jsonl(text: str) -> RoughTable | None:
    """Read the lines that are JSON objects; the columns are the keys of all of them."""
    found: list[Mapping[str, JsonValue]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(cast("dict[str, JsonValue]", value))
            lines.append(number)
    columns = tuple(dict.fromkeys(key for one in found for key in one))
    rows = [[one.get(column) for column in columns] for one in found]
    return RoughTable(columns=columns, rows=rows, lines=lines) if rows and columns else None


def _table(rows: list[list[JsonValue]], lines: list[int]) -> RoughTable | None:
    if len(rows) < 2:  # noqa: PLR2004 - a header, and a row
        return None
    # What pandas and R write before the first column: the number of the row.
    skipped = 1 if len(rows[0]) > 1 and not str(rows[0][0]).strip() else 0
    columns = tuple(str(name) for name in rows[0][skipped:])
    return RoughTable(
        columns=columns, rows=[row[skipped:] for row in rows[1:]], lines=tuple(lines[1:])
    )
