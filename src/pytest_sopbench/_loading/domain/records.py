"""What look-up tools may look in: tables beside the data file, and columns that hold lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.digest import canonical
from pytest_sopbench._loading.files.suggestions import shown
from pytest_sopbench.errors import RowError

from .task_rows import TaskRows

if TYPE_CHECKING:
    from .record_tables import Record, RecordTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The records of one task, with the line of the file on which each stands.

    `column` is the column of the data file that holds them, or empty.
    """

    path: Path
    records: Sequence[Record]
    lines: Sequence[int]
    column: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All records of a domain by the name of their table."""

    tables: tuple[RecordTable, ...]
    tasks: TaskRows
    # Several tools look in one column, and each asks more than once.
    _read: dict[str, Sequence[Batch]] = field(default_factory=dict[str, "Sequence[Batch]"])

    def batches(self, name: str) -> Iterator[Batch]:
        """The records of each task.

        Raises:
            RowError: a cell of the column holds something else than a list of objects.
        """
        table = next((one for one in self.tables if one.name == name), None)
        if table is None:
            yield from self._batches_in(name)
            return
        for group in table.groups.values():
            yield Batch(path=table.path, records=group.records, lines=group.lines)

    def columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table, or the keys of all objects in a column."""
        for table in self.tables:
            if table.name == name:
                return table.columns
        keys = (
            key for batch in self._batches_in(name) for record in batch.records for key in record
        )
        return tuple(dict.fromkeys(keys))

    def check(self, name: str, columns: Sequence[str], key: Sequence[str] | None) -> None:
        """See that each record has the columns, and that a key, where given, finds one alone.

        Raises:
            RowError: with the line of the record that has not, or that is not alone.
        """
        for batch in self.batches(name):
            _check_columns(batch, columns)
            if key is not None:
                _check_alone(batch, key)

    def _batches_in(self, column: str) -> Sequence[Batch]:
        if column not in self._read:
            self._read[column] = tuple(self._cells(column))
        return self._read[column]

    def _cells(self, name: str) -> Iterator[Batch]:
        for position in range(len(self.tasks)):
            cell, line = self.tasks.value_at(position, name), self.tasks.line_at(position)
            records = _records_of(cell)
            if records is None:
                raise RowError(
                    self.tasks.path,
                    f"{shown(cell)} is not a list of objects, and a tool looks in it",
                    row=line,
                    column=name,
                )
            lines = (line,) * len(records)
            yield Batch(path=self.tasks.path, records=records, lines=lines, column=name)


def _records_of(cell: JsonValue) -> list[Record] | None:
    if cell is None:
        return []
    if not isinstance(cell, list):
        return None
    found = [one for one in cell if isinstance(one, Mapping)]
    return found if len(found) == len(cell) else None


def _check_columns(batch: Batch, columns: Sequence[str]) -> None:
    # The columns of a file are the same in every row; objects in a cell may lack a key.
    for number, record in enumerate(batch.records, 1):
        for column in columns:
            if column not in record:
                raise RowError(
                    batch.path,
                    f"object {number} has no key {column!r}",
                    row=batch.lines[number - 1],
                    column=batch.column,
                    hint="write null where there is no value",
                )


def _check_alone(batch: Batch, key: Sequence[str]) -> None:
    seen: dict[object, int] = {}
    for number, record in enumerate(batch.records):
        values = [record[column] for column in key]
        first = seen.setdefault(_comparable(values), number)
        if first == number:
            continue
        fits = " and ".join(f"{c} = {shown(v)}" for c, v in zip(key, values, strict=True))
        where = f"row {batch.lines[first]}" if not batch.column else f"object {first + 1}"
        raise RowError(
            batch.path,
            f"a second record of the same task with {fits}" if key else "a second record",
            row=batch.lines[number],
            column=batch.column or (key[-1] if key else None),
            hint=f"the first is {where}; add a key to the tool, or 'many' to serve both",
        )


def _comparable(values: Sequence[JsonValue]) -> object:
    """What is equal for the same values alone; texts, as most keys are, need no one spelling."""
    are_texts = all(isinstance(value, str) for value in values)
    return tuple(values) if are_texts else canonical(list(values))
