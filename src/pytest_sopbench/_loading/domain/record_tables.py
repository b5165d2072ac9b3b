"""Tables beside the data file: the records of each task, which look-up tools serve."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import CellError, ColumnType, convert, infer_type
from pytest_sopbench._loading.files.digest import digest
from pytest_sopbench._loading.files.document import is_a_file, lies_inside
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed, shown
from pytest_sopbench._loading.files.table import Table, read_table
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import TableShape
from pytest_sopbench.errors import LoadingError, RowError

from .expected_calls import FILE_NAME as EXPECTED_CALLS
from .layout import Layout

SUFFIXES = (".csv", ".jsonl")

Record = Mapping[str, JsonValue]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The records of one task, the line on which each starts, and their hash."""

    records: tuple[Record, ...] = ()
    lines: tuple[int, ...] = ()
    hash: str = field(default_factory=lambda: digest([]))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """One table; `match` are the columns of the data file that lead to a task's records."""

    name: str
    path: Path
    columns: tuple[str, ...]
    match: tuple[str, ...]
    groups: Mapping[Key, Group]
    warnings: tuple[str, ...] = ()

    def of(self, row: Sequence[JsonValue], places: Mapping[str, int]) -> Group:
        """The records of the task that this row of the data file holds."""
        key = tuple(_written(row[places[column]]) for column in self.match)
        return self.groups.get(key, _NO_RECORDS)


_NO_RECORDS = Group()


def record_tables(described: Described, data: Table, layout: Layout) -> tuple[RecordTable, ...]:
    """Read every table that the metadata names.

    Raises:
        LoadingError: a table cannot be used, or a name of it stands for nothing.
        RowError: a cell of it is empty where it must not be, or is not of its type.
    """
    return tuple(
        _Reading(described, data, layout, name, shape).table()
        for name, shape in described.metadata.tables.items()
    )


class _Reading:
    """One table with all that it is checked against."""

    def __init__(
        self, described: Described, data: Table, layout: Layout, name: str, shape: TableShape
    ) -> None:
        self._path = described.path
        self._data = data
        self._layout = layout
        self._name = name
        self._shape = shape

    def table(self) -> RecordTable:
        if self._name in self._data.columns:
            self._refuse(
                "", f"{self._data.path.name} has a column of this name", "rename the table"
            )
        records = read_table(self._file())
        self._check_names(records)
        groups = self._groups(records)
        return RecordTable(
            name=self._name,
            path=records.path,
            columns=records.columns,
            match=tuple(self._shape.match.values()),
            groups=groups,
            warnings=self._of_no_task(groups, records.path.name),
        )

    def _file(self) -> Path:
        name, folder = self._shape.file, self._path.parent
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name:
            self._refuse(".file", f"{shown(name)} is not inside of the folder")
        if place.suffix not in SUFFIXES:
            self._refuse(
                ".file", f"{shown(name)} is no table", f"a table ends in {' or '.join(SUFFIXES)}"
            )
        path = folder / name
        if not is_a_file(path):
            near = did_you_mean(place.name, (one.name for one in folder.iterdir()))
            self._refuse(".file", f"the folder has no file {shown(name)}", near)
        if not lies_inside(folder, path):
            self._refuse(".file", f"{shown(name)} is a link that leads out of the folder")
        if path.samefile(self._data.path) or place.name == EXPECTED_CALLS:
            self._refuse(
                ".file",
                f"{name} holds what is expected",
                "what tools serve has a file of its own",
            )
        return path

    def _check_names(self, records: Table) -> None:
        layout = self._layout
        known = (*layout.inputs, *layout.results, *sorted(layout.private))
        for ours, theirs in self._shape.match.items():
            if ours not in records.columns:
                self._refuse_column(".match", records, ours)
            if theirs not in known:
                problem = f"{self._data.path.name} has no column {theirs!r}"
                if theirs in self._data.columns:
                    problem = f"{theirs!r} speaks about the answer"
                self._refuse(".match", problem, did_you_mean(theirs, known))
        for name in self._shape.types:
            if name not in records.columns:
                self._refuse_column(".types", records, name)

    def _groups(self, records: Table) -> Mapping[Key, Group]:
        types = self._types(records)
        places = [records.columns.index(name) for name in self._shape.match]
        found: dict[Key, list[int]] = {}
        for position, row in enumerate(records.rows):
            key = tuple(_written(row[place]) for place in places)
            if "" in key:
                raise RowError(
                    records.path,
                    "empty, so nothing says to which task the record belongs",
                    row=records.lines[position],
                    column=records.columns[places[key.index("")]],
                )
            found.setdefault(key, []).append(position)
        return {key: _group(records, types, positions) for key, positions in found.items()}

    def _types(self, records: Table) -> Mapping[str, ColumnType]:
        inferred = {
            name: ColumnType.WRITTEN if records.typed else infer_type(records.cells(name))
            for name in records.columns
        }
        return inferred | {name: ColumnType(kind) for name, kind in self._shape.types.items()}

    def _of_no_task(self, groups: Mapping[Key, Group], file: str) -> tuple[str, ...]:
        places = [self._data.columns.index(name) for name in self._shape.match.values()]
        if not places:
            return ()
        asked = {tuple(_written(row[place]) for place in places) for row in self._data.rows}
        idle = {key: group for key, group in groups.items() if key not in asked}
        if not idle:
            return ()
        key, group = next(iter(idle.items()))
        count = sum(len(one.lines) for one in idle.values())
        fits = " and ".join(
            f"{column} = {shown(value)}"
            for column, value in zip(self._shape.match, key, strict=True)
        )
        first = f"the first is row {group.lines[0]}, {fits}"
        return (f"{file}: no task has the records of {count} rows; {first}",)

    def _refuse_column(self, key: str, records: Table, name: str) -> NoReturn:
        self._refuse(
            key,
            f"{records.path.name} has no column {name!r}",
            did_you_mean(name, records.columns) or f"it has {listed(records.columns)}",
        )

    def _refuse(self, key: str, problem: str, hint: str = "") -> NoReturn:
        raise LoadingError(self._path, f"key 'tables.{self._name}{key}': {problem}", hint=hint)


def _group(records: Table, types: Mapping[str, ColumnType], positions: Sequence[int]) -> Group:
    found = tuple(_record(records, types, position) for position in positions)
    return Group(
        records=found,
        lines=tuple(records.lines[position] for position in positions),
        hash=digest(found),
    )


def _record(records: Table, types: Mapping[str, ColumnType], position: int) -> Record:
    values: dict[str, JsonValue] = {}
    for name, cell in zip(records.columns, records.rows[position], strict=True):
        try:
            values[name] = convert(cell, types[name])
        except CellError as fault:
            line = records.lines[position]
            raise RowError(records.path, str(fault), row=line, column=name) from fault
    return values


def _written(cell: JsonValue) -> str:
    """A cell as text, so that a number of JSON finds the same digits in CSV."""
    if isinstance(cell, str):
        return cell
    return "" if cell is None else json.dumps(cell, sort_keys=True)
