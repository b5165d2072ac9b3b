"""A world: the tables that the tools of a run change, and what was changed in them.

Rows are compared as JSON: numbers by value, a boolean is no number, texts by their characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pytest_sopbench._core.values.json import JsonValue, same_json, to_json_value

from .task import LookupTool

Row: TypeAlias = Mapping[str, JsonValue]
Key: TypeAlias = str | int
Rows: TypeAlias = Mapping[str, Sequence[Row]]
"""Rows by the name of their table: as they are in a file, or what a task adds and changes."""

Tables: TypeAlias = dict[str, dict[Key, dict[str, JsonValue]]]
"""What one run has: the rows of each table by their key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The tables of a domain, as every run of it begins.

    Attributes:
        keys: the column by which the rows of each table are told apart.
        rows: the rows of each table by that key.
    """

    keys: Mapping[str, str]
    rows: Mapping[str, Mapping[Key, Row]]

    def tables(self, more: Rows) -> Tables:
        """Return a copy for one run; `more` adds rows, and changes columns of those there."""
        found: Tables = {
            name: {key: copied(row) for key, row in rows.items()}
            for name, rows in self.rows.items()
        }
        for name, rows in more.items():
            for row in rows:
                found[name].setdefault(as_key(row[self.keys[name]]), {}).update(copied(row))
        return found

    def row(self, table: str, key: Key, more: Rows) -> Row | None:
        """Return one row as a run begins with it; null if there is none."""
        found = self.rows[table].get(key)
        for row in more.get(table, ()):
            if row[self.keys[table]] == key:
                found = {**(found or {}), **row}
        return found


def as_key(value: JsonValue) -> Key:
    """Return a value as the key of a row.

    Raises:
        ValueError: it is neither a text nor a whole number.
    """
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        msg = f"{value!r} is no key: a key is a text or a whole number"
        raise ValueError(msg)
    return value


def copied(row: Row) -> dict[str, JsonValue]:
    """Return a row that shares nothing with this one."""
    return {name: to_json_value(value) for name, value in row.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What one call did to one row.

    Attributes:
        step: the step of the call, from 1.
        table: the table.
        key: the key of the row.
        before: the columns that changed, as they were; null if the row was new.
        after: the same, as they are then; null if the row is gone. Of a new row all columns.
    """

    step: int
    table: str
    key: Key
    before: Row | None = None
    after: Row | None = None


def changes_between(before: Tables, after: Tables, step: int) -> Iterator[StateChange]:
    """Yield what differs, table by table; nothing if the two are equal."""
    for table, rows in after.items():
        was = before[table]
        for key in dict.fromkeys((*was, *rows)):
            change = row_change(was.get(key), rows.get(key))
            if change is not None:
                old, new = change
                yield StateChange(step=step, table=table, key=key, before=old, after=new)


def row_change(before: Row | None, after: Row | None) -> tuple[Row | None, Row | None] | None:
    """Return the columns that differ on both sides, or nothing if none does."""
    if before is None or after is None:
        return None if before is after else (before and copied(before), after and copied(after))
    differs = [
        name
        for name in dict.fromkeys((*before, *after))
        if name not in before or name not in after or not same_json(before[name], after[name])
    ]
    if not differs:
        return None
    old, new = ({n: one[n] for n in differs if n in one} for one in (before, after))
    return copied(old), copied(new)


def applied(row: Row | None, change: StateChange) -> Row | None:
    """Return what a row is after a change of it."""
    if change.after is None:
        return None
    if row is None or change.before is None:
        return change.after
    return {**{n: v for n, v in row.items() if n not in change.before}, **change.after}


def end_rows(
    world: World, more: Rows, changes: Sequence[StateChange]
) -> dict[str, dict[Key, Row | None]]:
    """Return every row that was changed, by table and key, as it is at the end."""
    found: dict[str, dict[Key, Row | None]] = {}
    for one in changes:
        rows = found.setdefault(one.table, {})
        row = rows[one.key] if one.key in rows else world.row(one.table, one.key, more)
        rows[one.key] = applied(row, one)
    return found


# Tools without code that look into a world, and change it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """A value that a call gives."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextKey:
    """The next free key that begins so: `R-3` if `R-2` is the last."""

    prefix: str


Value: TypeAlias = "JsonValue | Argument | NextKey"


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A column of a row against a value; `operator` is one of those of conditions."""

    column: str
    operator: str
    value: JsonValue | Argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """What must hold before a tool changes anything, and what it says if it does not.

    Without a `table` the row that is changed must satisfy `where`. With one, a row of the table
    must, or with `exists` false none may.
    """

    where: tuple[Where, ...]
    error: str
    table: str = ""
    exists: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldTool:
    """A tool that looks into a table of the world, or changes one row of it.

    Attributes:
        name: the tool.
        action: what it does.
        table: the table.
        lookup: how a row is looked up, for `look_up`.
        key: the columns that find the row to be changed, each with its parameter.
        where: what the rows of a search satisfy, and `order_by` their order; `-` before a column
            turns it round.
        values: what is written, by column.
        column: what a transition changes, from one of `sources` to `target`.
        requires: what must hold before.
        returns: the columns that are served.
        error: what is said if a transition begins at another value.
        optional: the parameters that a call may leave out.
    """

    name: str
    action: Literal["look_up", "search", "insert", "update", "transition"]
    table: str
    lookup: LookupTool | None = None
    key: Mapping[str, str] = field(default_factory=dict[str, str])
    where: tuple[Where, ...] = ()
    order_by: tuple[str, ...] = ()
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])
    column: str = ""
    sources: tuple[JsonValue, ...] = ()
    target: Value = None
    requires: tuple[Precondition, ...] = ()
    returns: tuple[str, ...] = ()
    error: str = ""
    optional: tuple[str, ...] = ()
