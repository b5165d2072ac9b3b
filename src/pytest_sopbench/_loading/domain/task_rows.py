"""The tasks of a domain, made from rows when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from pytest_sopbench._core.fields.typed import typed_value
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import CellError, ColumnType, convert
from pytest_sopbench._loading.files.digest import digest
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench.errors import RowError

from .layout import Layout
from .row_labels import acceptable_answers, disagreement_reason, tags_of

if TYPE_CHECKING:
    from .record_tables import RecordTable


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTypes:
    """How cells are read: inputs and tool results by `columns`, expected answers by `outputs`."""

    columns: Mapping[str, ColumnType]
    outputs: Sequence[OutputField] = ()


class TaskRows(Sequence[Task]):
    """The tasks in the order of their rows; each is built anew when it is indexed.

    Args:
        domain: the name of the domain.
        table: the rows; kept as they are, since a task takes ten times the room.
        layout: the part of each column.
        types: how the cells are read.
        ids: the id of each row.
        tables: the tables beside the data file, of which each task has its own records.
    """

    __slots__ = (
        "_domain",
        "_ids",
        "_layout",
        "_places",
        "_positions",
        "_table",
        "_tables",
        "_types",
    )

    def __init__(
        self,
        *,
        domain: str,
        table: Table,
        layout: Layout,
        types: RowTypes,
        ids: tuple[str, ...],
        tables: Sequence[RecordTable] = (),
    ) -> None:
        self._domain = domain
        self._table = table
        self._layout = layout
        self._types = types
        self._ids = ids
        self._tables = tables
        self._places = {name: place for place, name in enumerate(table.columns)}
        self._positions = {task_id: position for position, task_id in enumerate(ids)}

    def __len__(self) -> int:
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<{len(self)} tasks of {self._domain}>"

    def __contains__(self, value: object) -> bool:
        return (
            isinstance(value, Task)
            and value.id in self._positions
            and (self.by_id(value.id) == value)
        )

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...

    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(self._task(position) for position in range(*index.indices(len(self))))
        return self._task(range(len(self._ids))[index])

    @property
    def path(self) -> Path:
        """The data file."""
        return self._table.path

    def by_id(self, task_id: str) -> Task:
        """The task of that id, in constant time; `KeyError` where there is none."""
        return self._task(self._positions[task_id])

    def position_of(self, task_id: str) -> int:
        """Where the task stands among the rows, from 0; `KeyError` where there is none."""
        return self._positions[task_id]

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

    def acceptable_at(self, position: int) -> tuple[Mapping[str, JsonValue], ...]:
        """Further right answers, each with every field.

        Raises:
            RowError: the cell is not a list of values, or of objects with output fields.
        """
        return self._acceptable(position, self.expected_at(position))

    def check(self, declared: Sequence[str]) -> None:
        """Read what may be unreadable, before an agent is paid for.

        Args:
            declared: the columns whose type was declared; an inferred type always fits.

        Raises:
            RowError: a cell is not of the declared type, or holds no acceptable answers.
        """
        for position in range(len(self)) if declared or self._layout.acceptable else ():
            self._values(position, declared)
            self.acceptable_at(position)

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
        return Task(
            domain=self._domain,
            id=self._ids[position],
            line=self.line_at(position),
            inputs=inputs,
            expected={
                one.name: typed_value(one, expected[one.name]) for one in self._types.outputs
            },
            expected_as_written=expected,
            results=results,
            acceptable=acceptable,
            disagreement=disagreement_reason(self._cell(position, layout.disagreement)),
            tags=self.tags_at(position) if layout.tags else (),
            hash=digest(content),
            tables=records,
        )

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
                values[name] = convert(row[self._places[name]], self._types.columns[name])
            except CellError as fault:
                raise self._error(position, name, fault) from fault
        return values

    def _error(self, position: int, column: str, fault: CellError) -> RowError:
        return RowError(self._table.path, str(fault), row=self.line_at(position), column=column)
