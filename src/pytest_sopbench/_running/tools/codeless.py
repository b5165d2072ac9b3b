"""Tools without code: look-ups, which serve columns of the task's own row, and tools on a world.

One row with its records is all there is for a look-up to look in, so it takes the same time however
long the data is, and another row cannot be reached at all. The world of a run is a copy of its own,
which its tools look into and change.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.contract import Operator, bound_holds, order_of
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import LookupTool
from pytest_sopbench._core.model.world import (
    Argument,
    Key,
    NextKey,
    Row,
    Rows,
    StateChange,
    Tables,
    Value,
    Where,
    World,
    WorldTool,
    as_key,
    changes_between,
    copied,
    row_change,
)
from pytest_sopbench._core.values.json import JsonValue, call_safely, to_json_value
from pytest_sopbench.errors import ToolArgumentError, ToolError, ToolSpecError

_SHOWN: Final = 80


def look_up(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> JsonValue:
    """Return the columns that the tool serves, or its constant result.

    Raises:
        ToolArgumentError: an argument does not fit the record, or any record of the table.
        ToolError: all that the tool serves is empty, and it says that this is an error.
    """
    for name in tool.key:
        if not equals_cell(_argument(tool, name, arguments), row.get(tool.columns.get(name, name))):
            msg = f"no record with {name} = {shown(arguments[name])}"
            raise ToolArgumentError(msg)
    for name in tool.check:
        cell = _collapsed(row.get(tool.column_of(name)))
        if not equals_cell(_collapsed(_argument(tool, name, arguments)), cell):
            msg = f"{name} does not match the record: {shown(arguments[name])}"
            raise ToolArgumentError(msg)
    if not tool.returns:
        return tool.result
    if not tool.table:
        return _served(tool, row)
    found = _records(tool, row, arguments)
    return [_served(tool, record) for record in found] if tool.many else _served(tool, found[0])


def equals_cell(given: JsonValue, cell: JsonValue) -> bool:
    """Tell whether an argument is a cell's typed value, or the cell as it is written.

    Exact: text is compared as it stands, and a boolean is not a number.
    """
    if isinstance(given, str) and not isinstance(cell, str):
        return _reads_as(given.strip(), cell)
    if isinstance(given, bool) is not isinstance(cell, bool):
        return False
    return given == cell


def refuse_leaks(domain: Domain) -> None:
    """Check that no look-up tool serves, or lets an agent guess at, what it must not know.

    Raises:
        ToolSpecError: a tool names an output field or a private column.
    """
    outputs = {output.name for output in domain.fields}
    for tool in domain.lookups.values():
        parameters = (*tool.key, *tool.check, *tool.record_key)
        for column in (*map(tool.column_of, parameters), *tool.returns):
            if column in outputs:
                problem = "is an output column: the tool would give the answer away"
            elif column in domain.private_columns:
                problem = "is a private column, which no agent may see"
            else:
                continue
            raise ToolSpecError(
                domain.folder / "metadata.json",
                f"tool {tool.name!r}: {column!r} {problem}",
                column="tools",
                hint="take it out of key, check and returns",
            )


def _records(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> list[Mapping[str, JsonValue]]:
    """The task's records that fit the arguments; at least one, but for an empty list of many."""
    wanted = {name: _argument(tool, name, arguments) for name in tool.record_key}
    records = cast("Sequence[Mapping[str, JsonValue]]", row.get(tool.table) or ())
    found = [
        record
        for record in records
        if all(equals_cell(value, record[tool.column_of(n)]) for n, value in wanted.items())
    ]
    if not found and tool.not_found == "error":
        fits = " and ".join(f"{name} = {shown(value)}" for name, value in wanted.items())
        msg = f"no record with {fits}" if wanted else f"{tool.name}: there is no record"
        raise ToolArgumentError(msg)
    return found


def _served(tool: LookupTool, record: Mapping[str, JsonValue]) -> JsonValue:
    served = {column: record.get(column) for column in tool.returns}
    must_serve = tool.missing == "error" and not tool.many
    if must_serve and all(value in (None, "") for value in served.values()):
        msg = f"{tool.name}: the record has no {', '.join(tool.returns)}"
        raise ToolError(msg)
    return served[tool.returns[0]] if tool.bare else served


def _argument(
    tool: LookupTool | WorldTool, name: str, arguments: Mapping[str, JsonValue]
) -> JsonValue:
    if name not in arguments:
        msg = f"{tool.name}: parameter {name!r} is missing"
        raise ToolArgumentError(msg)
    return arguments[name]


def _collapsed(value: JsonValue) -> JsonValue:
    return " ".join(value.split()) if isinstance(value, str) else value


def _reads_as(text: str, cell: JsonValue) -> bool:
    if cell is None:
        return text == ""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if not isinstance(value, str) and equals_cell(value, cell):
            return True
    return False


def shown(value: JsonValue) -> str:
    """Write a value into an error."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{ready_to_cut(text)[:_SHOWN]}..."


Arguments = Mapping[str, JsonValue]

_Held: TypeAlias = tuple[dict[Key, dict[str, JsonValue]], dict[Key, dict[str, JsonValue]]]
"""A table, and the rows that it had: the very ones."""

UNSOUND: Final = "its tools.py left the world unsound: {why}"


class RunWorld:
    """The tables of one run; whoever uses it lets one call in at a time.

    A call that fails changes nothing: what it wrote before is taken back. Code of the domain may
    change the world at any time, so it is compared with what was told of it the last time.
    """

    def __init__(self, world: World, more: Rows, *, has_code: bool) -> None:
        self._keys = world.keys
        self.tables: Final[Tables] = world.tables(more)
        self._told = self._copy() if has_code else None
        self._written: list[tuple[str, Key, dict[str, JsonValue] | None]] = []

    def call(self, ask: Callable[[], JsonValue]) -> tuple[JsonValue, tuple[StateChange, ...]]:
        """Have one call answered, and tell what was changed since the last that succeeded.

        The steps are not known here.

        Raises:
            ToolError: the call failed, or code of the domain left no world.
        """
        before = None if self._told is None else self._copy()
        held = {} if before is None else {n: (rows, dict(rows)) for n, rows in self.tables.items()}
        self._written = []
        try:
            result = ask()
            changes = self.untold() if before is not None else tuple(self._changes())
        except BaseException:
            if before is None:
                self._take_back()
            else:
                self._restore(before, held)
            raise
        return result, changes

    def untold(self) -> tuple[StateChange, ...]:
        """Tell what code of the domain has changed since the last time.

        Raises:
            ToolError: it left no world.
        """
        if self._told is None:
            return ()
        why = next(self._unsound(self._told), "")
        if why:
            raise ToolError(UNSOUND.format(why=why))
        changes = tuple(changes_between(self._told, self.tables, 0))
        if changes:
            self._told = self._copy()
        return changes

    def serve(self, tool: WorldTool, row: Row, arguments: Arguments) -> JsonValue:
        """Answer one call of a tool without code.

        Raises:
            ToolError: there is no such row, a precondition does not hold, or an argument is
                missing or cannot be used.
        """
        rows = self.tables[tool.table]
        match tool.action:
            case "look_up" if tool.lookup is not None:
                return look_up(tool.lookup, {**row, tool.table: [*rows.values()]}, arguments)
            case "search":
                found = [one for one in rows.values() if _fits(tool, tool.where, one, arguments)]
                return [_row_served(tool.returns, one) for one in _ordered(found, tool.order_by)]
            case "insert":
                return self._insert(tool, arguments)
            case _:
                return self._change(tool, arguments)

    def _changes(self) -> Iterator[StateChange]:
        for table, key, before in self._written:
            change = row_change(before, self.tables[table].get(key))
            if change is not None:
                old, new = change
                yield StateChange(step=0, table=table, key=key, before=old, after=new)

    def _take_back(self) -> None:
        for table, key, before in reversed(self._written):
            if before is None:
                self.tables[table].pop(key, None)
            else:
                self.tables[table][key].clear()
                self.tables[table][key].update(before)

    def _copy(self) -> Tables:
        try:
            return {
                name: {key: copied(row) for key, row in rows.items()}
                for name, rows in self.tables.items()
            }
        except (AttributeError, RuntimeError) as fault:
            # By a thread of its own, between two calls or at this moment.
            raise ToolError(UNSOUND.format(why=fault)) from None

    def _restore(self, before: Tables, held: Mapping[str, _Held]) -> None:
        """Put everything back, into the very tables and rows that code may hold."""
        self.tables.clear()
        for name, rows in before.items():
            table, known = held[name]
            table.clear()
            for key, row in rows.items():
                known[key].clear()
                known[key].update(row)
                table[key] = known[key]
            self.tables[name] = table

    def _unsound(self, before: Tables) -> Iterator[str]:
        if {*self.tables} != {*before}:
            odd = min({*map(str, self.tables)} ^ {*before})
            yield f"table {odd!r} came or went"
            return
        for name, rows in self.tables.items():
            if not isinstance(cast("object", rows), dict):
                yield f"table {name!r} is no mapping of rows"
                return
            for key, row in rows.items():
                if not isinstance(cast("object", row), dict):
                    yield f"{name}[{key}] is no mapping of columns"
                elif not _is_key(key, row.get(self._keys[name])):
                    yield f"{name}[{key}] does not have its key in column {self._keys[name]!r}"
                elif not _is_json(row):
                    yield f"{name}[{key}] holds what JSON has no word for"

    # How a row comes and changes.

    def _insert(self, tool: WorldTool, arguments: Arguments) -> JsonValue:
        rows, key_column = self.tables[tool.table], self._keys[tool.table]
        row = self._values(tool, arguments)
        self._check(tool, None, arguments)
        try:
            key = as_key(row[key_column])
        except ValueError as fault:
            msg = f"{tool.name}: {fault}"
            raise ToolArgumentError(msg) from None
        if key in rows:
            msg = f"{tool.name}: {tool.table} has {shown(key)} already"
            raise ToolError(msg)
        self._written.append((tool.table, key, None))
        rows[key] = row
        return _row_served(tool.returns, row)

    def _change(self, tool: WorldTool, arguments: Arguments) -> JsonValue:
        row = self._found(tool, arguments)
        written = self._values(tool, arguments)
        if tool.action == "transition":
            now = row.get(tool.column)
            if not any(equals_cell(one, now) for one in tool.sources):
                raise ToolError(
                    tool.error
                    or f"{tool.name}: {tool.column} is {shown(now)}, it must be"
                    f" {' or '.join(map(shown, tool.sources))}"
                )
            written[tool.column] = self._value(tool, tool.target, arguments)
        self._check(tool, row, arguments)
        key = as_key(row[self._keys[tool.table]])
        self._written.append((tool.table, key, copied(row)))
        row.update(written)
        return _row_served(tool.returns, row)

    def _found(self, tool: WorldTool, arguments: Arguments) -> dict[str, JsonValue]:
        wanted = {column: _argument(tool, name, arguments) for name, column in tool.key.items()}
        found = [
            row
            for row in self.tables[tool.table].values()
            if all(equals_cell(value, row.get(column)) for column, value in wanted.items())
        ]
        fits = " and ".join(f"{name} = {shown(value)}" for name, value in wanted.items())
        if not found:
            msg = f"no record with {fits}"
            raise ToolArgumentError(msg)
        if len(found) > 1:
            msg = f"{tool.name}: {len(found)} records with {fits}"
            raise ToolError(msg)
        return found[0]

    def _values(self, tool: WorldTool, arguments: Arguments) -> dict[str, JsonValue]:
        return {
            column: self._value(tool, value, arguments)
            for column, value in tool.values.items()
            # An update leaves alone what a call does not speak of.
            if tool.action == "insert" or not _left_out(tool, value, arguments)
        }

    def _value(self, tool: WorldTool, value: Value, arguments: Arguments) -> JsonValue:
        if isinstance(value, NextKey):
            return next_key(value.prefix, self.tables[tool.table])
        if isinstance(value, Argument):
            if _left_out(tool, value, arguments):
                return None
            return to_json_value(_argument(tool, value.name, arguments))
        return to_json_value(value)

    def _check(self, tool: WorldTool, row: Row | None, arguments: Arguments) -> None:
        for one in tool.requires:
            if one.table:
                rows = self.tables[one.table].values()
                fits = any(_fits(tool, one.where, other, arguments) for other in rows)
                holds = fits is one.exists
            else:
                holds = row is not None and _fits(tool, one.where, row, arguments)
            if not holds:
                raise ToolError(one.error)


def next_key(prefix: str, rows: Mapping[Key, Row]) -> str:
    """Return the key after the highest that begins so and goes on with digits."""
    numbers = [
        int(key[len(prefix) :])
        for key in rows
        if isinstance(key, str)
        and key.startswith(prefix)
        and key[len(prefix) :].isascii()
        and key[len(prefix) :].isdecimal()
        and len(key) < len(prefix) + _DIGITS
    ]
    return f"{prefix}{max(numbers, default=0) + 1}"


_DIGITS: Final = 19


def _fits(tool: WorldTool, where: Sequence[Where], row: Row, arguments: Arguments) -> bool:
    return all(
        bound_holds(
            Operator(one.operator),
            row.get(one.column),
            _argument(tool, one.value.name, arguments)
            if isinstance(one.value, Argument)
            else one.value,
        )
        for one in where
        if not _left_out(tool, one.value, arguments)
    )


def _left_out(tool: WorldTool, value: object, arguments: Arguments) -> bool:
    return (
        isinstance(value, Argument) and value.name not in arguments and value.name in tool.optional
    )


def _row_served(columns: Sequence[str], row: Row) -> JsonValue:
    return {name: to_json_value(row.get(name)) for name in columns}


def _ordered(
    rows: list[dict[str, JsonValue]], order_by: Sequence[str]
) -> list[dict[str, JsonValue]]:
    # The last column first: a stable sort keeps what the earlier ones decide.
    for name in reversed(order_by):
        column = name.removeprefix("-")

        def compared(one: Row, other: Row, at: str = column) -> int:
            return order_of(one.get(at), other.get(at))

        rows = sorted(rows, key=cmp_to_key(compared), reverse=name.startswith("-"))
    return rows


def _is_key(key: object, cell: JsonValue) -> bool:
    try:
        return as_key(cell) == key and type(cell) is type(key)
    except ValueError:
        return False


def _is_json(row: dict[Any, Any]) -> bool:
    notes: list[str] = []
    to_json_value(row, notes)
    # A tuple becomes a list, and a `Decimal` is equal to a number that it is not.
    return not notes and call_safely(lambda: json.loads(json.dumps(row)), None) == row
