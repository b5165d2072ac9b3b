"""The rows of a domain become tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NoReturn, cast, overload

from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.model.world import Rows
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, RowError

from .files import (
    canonical,
    did_you_mean,
    digest,
    is_a_file,
    lies_inside,
    listed,
    parse_json,
    shown,
)
from .layout import Layout
from .metadata import Described, TableShape
from .tables import (
    CellError,
    ColumnType,
    Table,
    convert,
    infer_type,
    parse_literal,
    read_table,
)
from .tools import EXPECTED_CALLS_FILE as EXPECTED_CALLS
from .world_file import DomainWorld

# What a row says about its own answer: tags, further right answers, known disagreement.

NO_DISAGREEMENT = frozenset({"", "false", "no", "0", "none"})
"""Cells of `known_disagreement_column` that say that there is none."""

_UNEXPLAINED = frozenset({"true", "yes", "1"})


def tags_of(cell: JsonValue) -> tuple[str, ...]:
    """The tags of a cell: a list, or names with commas between them; each once, in order."""
    names: Sequence[JsonValue]
    if isinstance(cell, str):
        names = cell.split(",")
        if cell.lstrip().startswith("["):
            try:
                listed = parse_literal(cell)
            except CellError:
                listed = None
            names = listed if isinstance(listed, list) else names
    elif isinstance(cell, Sequence):
        names = cell
    else:
        return ()
    stripped = (str(name).strip() for name in names)
    return tuple(dict.fromkeys(name for name in stripped if name))


def disagreement_reason(cell: JsonValue) -> str:
    """The reason why the expected answer is known to contradict the SOP, or an empty string."""
    if cell is None or cell is False:
        return ""
    text = str(cell).strip()
    if text.lower() in NO_DISAGREEMENT:
        return ""
    return "no reason given" if text.lower() in _UNEXPLAINED else text


def acceptable_answers(
    cell: JsonValue, expected: Mapping[str, JsonValue]
) -> tuple[Mapping[str, JsonValue], ...]:
    """Further right answers: a list of values of the one output field, or of objects.

    An object may leave out fields, which then are as expected.

    Raises:
        CellError: the cell is none of these.
    """
    if cell is None or cell == "":
        return ()
    values = parse_literal(cell) if isinstance(cell, str) else cell
    if not isinstance(values, list):
        msg = "acceptable answers are a JSON list, of values or of objects"
        raise CellError(msg)
    return tuple(_answer(value, expected) for value in values)


def _answer(value: JsonValue, expected: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if not isinstance(value, Mapping):
        if len(expected) > 1:
            msg = f"{value!r} names no field; with several output fields write objects"
            raise CellError(msg)
        return dict.fromkeys(expected, value)
    strangers = [name for name in value if name not in expected]
    if strangers:
        msg = f"{strangers[0]!r} is no output field; they are {', '.join(expected)}"
        raise CellError(msg)
    return {**expected, **value}


# The tasks of a domain, made from rows when they are asked for.


class TaskRows(Sequence[Task]):
    """The tasks of a domain with columns, in the order of their rows; each is built when indexed.

    Args:
        domain: the name of the domain.
        table: the rows; kept as they are, since a task takes ten times the room.
        layout: the part of each column.
        types: how the cells of inputs and tool results are read.
        outputs: how expected answers are.
        ids: the id of each row.
        tables: the tables beside the data file, of which each task has its own records.
        expected_calls: the calls that are expected, by the id of the task.
        world: the world of the domain, which rows add to.
    """

    def __init__(  # noqa: PLR0913 - what a task is made of, read from files of their own
        self,
        *,
        domain: str,
        table: Table,
        layout: Layout,
        types: Mapping[str, ColumnType],
        outputs: Sequence[OutputField] = (),
        ids: tuple[str, ...],
        tables: Sequence[RecordTable] = (),
        expected_calls: Mapping[str, Sequence[ExpectedCall]] = MappingProxyType({}),
        world: DomainWorld | None = None,
    ) -> None:
        self._domain = domain
        self._world = world
        self._outputs = outputs
        self._expected_calls = expected_calls
        self._table = table
        self._layout = layout
        self._types = types
        self._ids = ids
        self._tables = tables
        self._places = {name: place for place, name in enumerate(table.columns)}

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<{len(self)} tasks of {self._domain}>"

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...

    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(self._task(position) for position in range(*index.indices(len(self))))
        return self._task(range(len(self))[index])

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the tasks, in the order of their rows."""
        return self._ids

    @property
    def path(self) -> Path:
        """The data file."""
        return self._table.path

    def line_at(self, position: int) -> int:
        """The line of the data file on which the row starts, without building the task."""
        return self._table.lines[position]

    def value_at(self, position: int, column: str) -> JsonValue:
        """The value of one input or tool result, without building the task.

        Raises:
            RowError: the cell is not of the declared type.
        """
        return self._values(position, (column,))[column]

    def distinct_values(self, column: str) -> Iterator[tuple[int, JsonValue]]:
        """Yield each value of an input or tool result, with the first position that has it.

        Values that are no text in the file are not told apart, so each of them comes.

        Raises:
            RowError: a cell is not of the declared type.
        """
        place, seen = self._places[column], set[str]()
        for position, row in enumerate(self._table.rows):
            cell = row[place]
            if isinstance(cell, str):
                if cell in seen:
                    continue
                seen.add(cell)
            yield position, self.value_at(position, column)

    def expected_at(self, position: int) -> Mapping[str, JsonValue]:
        """The expected answer as written, without building the task."""
        row = self._table.rows[position]
        return {name: row[self._places[name]] for name in self._layout.outputs}

    def tags_at(self, position: int) -> tuple[str, ...]:
        """The tags of the task, without building it."""
        return tags_of(self._cell(position, self._layout.tags))

    def check(self, declared: Sequence[str]) -> None:
        """Read what may be unreadable, before an agent is paid for.

        Args:
            declared: the columns whose type was declared; an inferred type always fits.

        Raises:
            RowError: a cell is not of the declared type, or holds no acceptable answers.
        """
        layout = self._layout
        asked = declared or layout.acceptable or layout.world or layout.expected_state
        for position in range(len(self)) if asked else ():
            self._values(position, declared)
            self._acceptable(position, self.expected_at(position))
            self._rows_of(position, layout.world)
            self._rows_of(position, layout.expected_state, may_lack_key=True)

    def _task(self, position: int) -> Task:
        layout = self._layout
        inputs = self._values(position, layout.inputs)
        results = self._values(position, layout.results)
        expected = self.expected_at(position)
        acceptable = self._acceptable(position, expected)
        content: Mapping[str, JsonValue] = {
            "inputs": inputs,
            "expected": expected,
            "acceptable": acceptable,
            "results": results,
        }
        records: Mapping[str, Sequence[Mapping[str, JsonValue]]] = {}
        if self._tables:
            row = self._table.rows[position]
            groups = {table.name: table.of(row, self._places) for table in self._tables}
            content = {**content, "tables": {name: group.hash for name, group in groups.items()}}
            records = {name: group.records for name, group in groups.items()}
        calls = self._expected_calls.get(self._ids[position])
        if calls is not None:
            said = [[one.name, one.arguments, one.overlaps] for one in calls]
            content = {**content, "expected_calls": said}
        world: Rows = {}
        state: Rows | None = None
        if self._world is not None:
            world = self._rows_of(position, layout.world) or {}
            if self._world.expected is not None:
                state = self._world.expected[self._ids[position]]
            else:
                state = self._rows_of(position, layout.expected_state, may_lack_key=True)
        if world or state is not None:
            content = {**content, "world": world, "expected_state": state}
        return Task(
            domain=self._domain,
            id=self._ids[position],
            line=self._table.lines[position],
            inputs=inputs,
            expected_as_written=expected,
            results=results,
            acceptable=acceptable,
            disagreement=disagreement_reason(self._cell(position, layout.disagreement)),
            tags=self.tags_at(position),
            hash=digest(content),
            tables=records,
            world=world,
            expected_state=state,
            expected={one.name: typed_value(one, expected[one.name]) for one in self._outputs},
        )

    def _rows_of(
        self, position: int, column: str | None, *, may_lack_key: bool = False
    ) -> Rows | None:
        """Read a cell with rows of the world; an empty one adds nothing to it."""
        if column is None or self._world is None:
            return None
        cell = self._cell(position, column)
        if cell in ("", None) and not may_lack_key:
            return {}
        if isinstance(cell, str) and cell:
            cell = parse_json(cell, self._table.path, line=self.line_at(position))
        try:
            return self._world.rows(cell, may_lack_key=may_lack_key)
        except ValueError as fault:
            hint = " ({} says that nothing may change)" if cell in ("", None) else ""
            raise self._error(position, column, CellError(f"{fault}{hint}")) from None

    def _acceptable(
        self, position: int, expected: Mapping[str, JsonValue]
    ) -> tuple[Mapping[str, JsonValue], ...]:
        column = self._layout.acceptable
        if column is None:
            return ()
        try:
            return acceptable_answers(self._cell(position, column), expected)
        except CellError as fault:
            raise self._error(position, column, fault) from fault

    def _cell(self, position: int, column: str | None) -> JsonValue:
        return None if column is None else self._table.rows[position][self._places[column]]

    def _values(self, position: int, columns: Sequence[str]) -> dict[str, JsonValue]:
        row = self._table.rows[position]
        values: dict[str, JsonValue] = {}
        for name in columns:
            try:
                values[name] = convert(row[self._places[name]], self._types[name])
            except CellError as fault:
                raise self._error(position, name, fault) from fault
        return values

    def _error(self, position: int, column: str, fault: CellError) -> RowError:
        return RowError(self._table.path, str(fault), row=self.line_at(position), column=column)


# Tables beside the data file: the records of each task, which look-up tools serve.

SUFFIXES = (".csv", ".jsonl")

Record = Mapping[str, JsonValue]
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The records of one task, the line on which each starts, and in a table their hash."""

    records: tuple[Record, ...] = ()
    lines: tuple[int, ...] = ()
    hash: str = ""


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


_NO_RECORDS = Group(hash=digest([]))


def record_tables(described: Described, data: Table, layout: Layout) -> tuple[RecordTable, ...]:
    """Read every table that the metadata names.

    Raises:
        LoadingError: a table cannot be used, or a name of it stands for nothing.
        RowError: a cell of it is empty though it must not be, or is not of its type.
    """
    return tuple(
        _Reading(described.path, data, layout, name, shape).table()
        for name, shape in described.metadata.tables.items()
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """One table with all that it is checked against."""

    path: Path
    data: Table
    layout: Layout
    name: str
    shape: TableShape

    def table(self) -> RecordTable:
        if self.name in self.data.columns:
            self._refuse("", f"{self.data.path.name} has a column of this name", "rename the table")
        records = read_table(self._file())
        self._check_names(records)
        groups = self._groups(records)
        return RecordTable(
            name=self.name,
            path=records.path,
            columns=records.columns,
            match=tuple(self.shape.match.values()),
            groups=groups,
            warnings=self._of_no_task(groups, records.path.name),
        )

    def _file(self) -> Path:
        name, folder = self.shape.file, self.path.parent
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
        if path.samefile(self.data.path) or place.name == EXPECTED_CALLS:
            self._refuse(
                ".file",
                f"{name} holds what is expected",
                "what tools serve has a file of its own",
            )
        return path

    def _check_names(self, records: Table) -> None:
        layout = self.layout
        known = (*layout.inputs, *layout.results, *sorted(layout.private))
        for ours, theirs in self.shape.match.items():
            if ours not in records.columns:
                self._refuse_column(".match", records, ours)
            if theirs not in known:
                problem = f"{self.data.path.name} has no column {theirs!r}"
                if theirs in self.data.columns:
                    problem = f"{theirs!r} speaks about the answer"
                self._refuse(".match", problem, did_you_mean(theirs, known))
        for name in self.shape.types:
            if name not in records.columns:
                self._refuse_column(".types", records, name)

    def _groups(self, records: Table) -> Mapping[Key, Group]:
        types = {
            name: ColumnType.WRITTEN if records.typed else infer_type(records.cells(name))
            for name in records.columns
        } | {name: ColumnType(kind) for name, kind in self.shape.types.items()}
        places = [records.columns.index(name) for name in self.shape.match]
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
        return {
            key: Group(
                records=(held := tuple(_record(records, types, one) for one in positions)),
                lines=tuple(records.lines[one] for one in positions),
                hash=digest(held),
            )
            for key, positions in found.items()
        }

    def _of_no_task(self, groups: Mapping[Key, Group], file: str) -> tuple[str, ...]:
        places = [self.data.columns.index(name) for name in self.shape.match.values()]
        if not places:
            return ()
        asked = {tuple(_written(row[place]) for place in places) for row in self.data.rows}
        idle = {key: group for key, group in groups.items() if key not in asked}
        if not idle:
            return ()
        key, group = next(iter(idle.items()))
        count = sum(len(one.lines) for one in idle.values())
        fits = " and ".join(
            f"{column} = {shown(value)}"
            for column, value in zip(self.shape.match, key, strict=True)
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
        raise LoadingError(self.path, f"key 'tables.{self.name}{key}': {problem}", hint=hint)


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


# What look-up tools may look in: tables beside the data file, and columns that hold lists.


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All records of a domain by the name of their table."""

    tables: Mapping[str, RecordTable]
    tasks: TaskRows
    # Several tools look in one column, and each asks more than once.
    _read: dict[str, Sequence[Group]] = field(default_factory=dict[str, "Sequence[Group]"])

    def columns(self, name: str) -> tuple[str, ...]:
        """The columns of a table, or the keys of all objects in a column."""
        if name in self.tables:
            return self.tables[name].columns
        records = (record for group in self._in_column(name) for record in group.records)
        return tuple(dict.fromkeys(key for record in records for key in record))

    def check(self, name: str, columns: Sequence[str], key: Sequence[str] | None) -> None:
        """See that each record has the columns, and that a key, if given, finds one alone.

        Raises:
            RowError: with the line of the record that has not, or that is not alone.
        """
        if name in self.tables:
            # The columns of a file are the same in every row; objects in a cell may lack a key.
            table = self.tables[name]
            for group in table.groups.values() if key is not None else ():
                _check_alone(table.path, "", group, key or ())
            return
        for group in self._in_column(name):
            for line, (number, record) in zip(
                group.lines, enumerate(group.records, 1), strict=True
            ):
                for lacking in (column for column in columns if column not in record):
                    raise RowError(
                        self.tasks.path,
                        f"object {number} has no key {lacking!r}",
                        row=line,
                        column=name,
                        hint="write null if there is no value",
                    )
            if key is not None:
                _check_alone(self.tasks.path, name, group, key)

    def _in_column(self, name: str) -> Sequence[Group]:
        if name not in self._read:
            self._read[name] = [self._in_cell(name, one) for one in range(len(self.tasks))]
        return self._read[name]

    def _in_cell(self, name: str, position: int) -> Group:
        cell, line = self.tasks.value_at(position, name), self.tasks.line_at(position)
        held: JsonValue = [] if cell is None else cell
        if not isinstance(held, list) or not all(isinstance(one, Mapping) for one in held):
            problem = f"{shown(cell)} is not a list of objects, and a tool looks in it"
            raise RowError(self.tasks.path, problem, row=line, column=name)
        records = cast("list[Record]", held)
        return Group(records=tuple(records), lines=(line,) * len(records))


def _check_alone(path: Path, column: str, group: Group, key: Sequence[str]) -> None:
    seen: dict[object, int] = {}
    for number, record in enumerate(group.records):
        values = [record[name] for name in key]
        first = seen.setdefault(_comparable(values), number)
        if first == number:
            continue
        fits = " and ".join(f"{c} = {shown(v)}" for c, v in zip(key, values, strict=True))
        where = f"object {first + 1}" if column else f"row {group.lines[first]}"
        raise RowError(
            path,
            f"a second record of the same task with {fits}" if key else "a second record",
            row=group.lines[number],
            column=column or (key[-1] if key else None),
            hint=f"the first is {where}; add a key to the tool, or 'many' to serve both",
        )


def _comparable(values: Sequence[JsonValue]) -> object:
    """What is equal for the same values alone; texts, as most keys are, need no one spelling."""
    are_texts = all(isinstance(value, str) for value in values)
    return tuple(values) if are_texts else canonical(list(values))
