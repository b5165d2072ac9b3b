"""The ids of tasks: they never depend on the order of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.digest import digest
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench.errors import RowError


def inferred_id_column(table: Table, *, but: Collection[str]) -> str | None:
    """The first column that is called `id` or `*_id`, and has another value in each row."""
    for column in _called_ids(table, but):
        ids = [id_text(cell) for cell in table.cells(column)]
        if all(ids) and len(set(ids)) == len(ids):
            return column
    return None


def meant_as_ids(table: Table, *, but: Collection[str]) -> str | None:
    """The first column that is called as ids are, with more values than half of the rows.

    One slip in it must be told. Falling back to hashes would rename every task of the domain.
    """
    for column in _called_ids(table, but):
        values = {id_text(cell) for cell in table.cells(column)} - {""}
        if _is_id(column) or 2 * len(values) > len(table.rows):
            return column
    return None


def _called_ids(table: Table, but: Collection[str]) -> Iterator[str]:
    for column in table.columns:
        if column not in but and (_is_id(column) or column.strip().lower().endswith("_id")):
            yield column


def _is_id(column: str) -> bool:
    return column.strip().lower() == "id"


def unique_column(table: Table, *, but: Collection[str]) -> str | None:
    """The first column with another value in each row that does not only count the rows."""
    for column in table.columns:
        ids = [] if column in but else [id_text(cell) for cell in table.cells(column)]
        counted = [[str(place) for place in range(first, first + len(ids))] for first in (0, 1)]
        if ids and all(ids) and len(set(ids)) == len(ids) and ids not in counted:
            return column
    return None


def tells_rows_apart(table: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows have the same cells in all of these columns."""
    places = [table.columns.index(name) for name in columns]
    return len({repr([row[place] for place in places]) for row in table.rows}) == len(table.rows)


def task_ids(table: Table, id_column: str | None, inputs: Sequence[str]) -> tuple[str, ...]:
    """The id of each row: its cell in the id column, else a hash of its inputs as written.

    Raises:
        RowError: an id is empty or stands twice, or two rows without ids have equal inputs.
    """
    if id_column is None:
        return _hashes(table, inputs)
    first: dict[str, int] = {}
    for cell, line in zip(table.cells(id_column), table.lines, strict=True):
        text = id_text(cell)
        if not text:
            raise RowError(
                table.path,
                "no usable id" if cell else "empty; every task needs an id",
                row=line,
                column=id_column,
                hint="an id is a text or a whole number; 'id_column' may name another column",
            )
        if text in first:
            raise RowError(
                table.path,
                f"the id {text!r} stands in row {first[text]} already",
                row=line,
                column=id_column,
                hint="give each row an id of its own; 'id_column' may name another column",
            )
        first[text] = line
    return tuple(first)


def id_text(cell: JsonValue) -> str:
    """The id that a cell stands for; empty where it can be none."""
    if isinstance(cell, bool):
        return ""
    if isinstance(cell, int):
        return str(cell)
    return cell if isinstance(cell, str) and cell.strip() else ""


def _hashes(table: Table, inputs: Sequence[str]) -> tuple[str, ...]:
    # Cells as written: a type that changes with a row elsewhere must not rename every task.
    places = [table.columns.index(name) for name in inputs]
    first: dict[str, int] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        name = digest({column: row[place] for column, place in zip(inputs, places, strict=True)})
        if name in first:
            raise RowError(
                table.path,
                f"the same inputs as in row {first[name]}, so nothing tells the two tasks apart",
                row=line,
                hint="remove one of them, or add a column 'id'",
            )
        first[name] = line
    return tuple(first)
