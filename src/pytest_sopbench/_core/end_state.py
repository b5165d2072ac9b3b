"""What a run left in its world, against what it should have left."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.world import Key, Row, StateChange, World, as_key, end_rows
from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._core.values.text import short

from .domain import JudgingRules, StateRules
from .hiding import shortened

_SHOWN: Final = 60

NOT_RECORDED: Final = "what its calls changed was not recorded"
CALL_NOT_ENDED: Final = "a call had not ended when the run did"


class UnknownStateError(Exception):
    """Nobody knows what is there, or what should be."""


def state_differs(
    rules: JudgingRules, task: Task, changes: Sequence[StateChange] | None
) -> tuple[str, ...]:
    """Say where the end state is not the right one; nothing if it is, or is not judged.

    Raises:
        UnknownStateError: it was not recorded, or nobody knows which one is right.
    """
    world, state = rules.world, rules.state
    if world is None or state is None:
        return ()
    if changes is None:
        raise UnknownStateError(NOT_RECORDED)
    wanted, new = _wanted(world, state, task)
    made = end_rows(world, task.world, changes)
    found: list[str] = []
    for table, columns in state.columns.items():
        one = _Table(world, state, task, table, columns)
        found += one.differences(wanted.get(table, {}), new.get(table, ()), made.get(table, {}))
    return tuple(found)


Wanted = Mapping[str, Mapping[Key, Row | None]]


def _wanted(
    world: World, state: StateRules, task: Task
) -> tuple[Wanted, Mapping[str, Sequence[Row]]]:
    """Return the rows that a right run changes, as it leaves them, and new ones without a key."""
    if state.by_policy:
        changes = state.expected.get(task.id, "the reference policy was not run")
        if isinstance(changes, str):
            raise UnknownStateError(changes)
        return end_rows(world, task.world, changes), {}
    if task.expected_state is None:
        msg = "it is not said which state is right"
        raise UnknownStateError(msg)
    wanted: dict[str, dict[Key, Row | None]] = {}
    new: dict[str, list[Row]] = {}
    for table, rows in task.expected_state.items():
        for row in rows:
            if world.keys[table] not in row:
                new.setdefault(table, []).append(row)
                continue
            key = as_key(row[world.keys[table]])
            before = world.row(table, key, task.world)
            wanted.setdefault(table, {})[key] = {**(before or {}), **row}
    return wanted, new


class _Table:
    """One table that is judged, with the rows with which the run began."""

    def __init__(
        self, world: World, state: StateRules, task: Task, table: str, columns: tuple[str, ...]
    ) -> None:
        self._world, self._state, self._task = world, state, task
        self._name, self._columns, self._key = table, columns, world.keys[table]

    def differences(
        self,
        wanted: Mapping[Key, Row | None],
        new: Sequence[Row],
        made: Mapping[Key, Row | None],
    ) -> Iterator[str]:
        keys = dict.fromkeys((*wanted, *made))
        both = {key: (self._at(wanted, key), self._at(made, key)) for key in keys}
        lacking = [(key, row) for key, (row, other) in both.items() if row and other is None]
        more = [(key, row) for key, (other, row) in both.items() if row and other is None]
        wrong = [(key, one, two) for key, (one, two) in both.items() if one and two]
        fresh = self._name in self._state.generated
        if fresh:
            # A key that a tool made up says nothing, so new rows are told by what they hold.
            missing, extra = self._left_of_new(wrong, lacking, more, new)
            wrong = [one for one in wrong if not self._is_new(one[0])]
        else:
            missing, extra = [row for _, row in lacking], [row for _, row in more]
        for key, one, two in wrong:
            yield from self._row_differs(key, one, two)
        # What was made in the place of what should have been differs in some column.
        while fresh and missing and extra:
            key = as_key(extra[0][self._key])
            yield from self._row_differs(key, missing.pop(0), extra.pop(0), but=self._key)
        if missing:
            yield self._counted(missing, "is missing", "are missing")
        if extra:
            yield self._counted(extra, "too many", "too many")

    def _left_of_new(
        self,
        wrong: Sequence[tuple[Key, Row, Row]],
        lacking: Sequence[tuple[Key, Row]],
        more: Sequence[tuple[Key, Row]],
        new: Sequence[Row],
    ) -> tuple[list[Row], list[Row]]:
        """Take away every new row that was made as it should be, whatever its key."""
        both = [one for one in wrong if self._is_new(one[0])]
        missing = [*(row for _, row, _ in both), *(row for _, row in lacking), *new]
        extra: list[Row] = []
        for row in (*(row for _, _, row in both), *(row for _, row in more)):
            twin = next((at for at, one in enumerate(missing) if self._fits(one, row)), None)
            if twin is None:
                extra.append(row)
            else:
                del missing[twin]
        return missing, extra

    def _fits(self, wanted: Row, row: Row) -> bool:
        return not any(self._pairs(wanted, row, but=self._key))

    def _is_new(self, key: Key) -> bool:
        return self._world.row(self._name, key, self._task.world) is None

    def _at(self, rows: Mapping[Key, Row | None], key: Key) -> Row | None:
        return rows[key] if key in rows else self._world.row(self._name, key, self._task.world)

    def _row_differs(self, key: Key, wanted: Row, row: Row, *, but: str = "") -> Iterator[str]:
        for name, expected, actual in self._pairs(wanted, row, but=but):
            place = f"{self._name}[{key}].{name}"
            if name in self._state.private:
                yield f"{place} is not the expected one, which is private"
            else:
                yield f"{place} is {_said(actual)}, expected {_said(expected)}"

    def _pairs(
        self, wanted: Row, row: Row, *, but: str = ""
    ) -> Iterator[tuple[str, JsonValue, JsonValue]]:
        """Yield the columns that matter and differ; one that is not there holds null."""
        for name in self._columns or dict.fromkeys((*wanted, *row)):
            expected, actual = wanted.get(name), row.get(name)
            if name != but and not same_json(expected, actual):
                yield name, expected, actual

    def _counted(self, rows: Sequence[Row], one: str, many: str) -> str:
        told = "; ".join(", ".join(self._cells(row)) for row in rows)
        number, words = ("one", one) if len(rows) == 1 else (str(len(rows)), many)
        return f"{self._name}: {number} {words} ({shortened(told, 2 * _SHOWN)})"

    def _cells(self, row: Row) -> Iterator[str]:
        names = self._columns or tuple(name for name in row if name != self._key)
        for name in dict.fromkeys((self._key, *names)):
            if row.get(name) is not None and name not in self._state.private:
                value = row[name]
                yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _said(value: JsonValue) -> str:
    return shortened(repr(value), _SHOWN) if isinstance(value, str) else short(value)


# What a test may ask of the state.


class SeenWorld:
    """The world of one run at its end, for tests that ask for rows of it."""

    def __init__(self, world: World, task: Task, changes: Sequence[StateChange]) -> None:
        self._world, self._task, self._changes = world, task, changes
        self._ends = end_rows(world, task.world, changes)

    def differences(self, expected: Mapping[str, Mapping[Key, Row | None]]) -> Iterator[str]:
        """Yield what is not as expected; what is not named may be anything.

        Raises:
            ValueError: nothing is asked, or of a table or a key that cannot be there.
        """
        if not expected:
            self._ask_nothing("assert_state", "its tables and rows")
        for table, rows in expected.items():
            self._check(table)
            if not rows:
                self._ask_nothing(f"assert_state of the table {table!r}", "its rows by their key")
            for key, wanted in rows.items():
                self._check_key(table, key)
                row = self._row(table, key)
                if wanted is None or row is None:
                    if wanted is not row:
                        yield f"{table}[{key}] is {'not there' if row is None else 'there'}"
                    continue
                for name, value in wanted.items():
                    if name not in row or not same_json(row[name], value):
                        said = _said(row[name]) if name in row else "not there"
                        yield f"{table}[{key}].{name} is {said}, expected {_said(value)}"

    def touched(self, tables: Sequence[str]) -> Iterator[str]:
        """Yield the first change of each table.

        Raises:
            ValueError: there is no such table, or none is named.
        """
        if not tables:
            self._ask_nothing("assert_unchanged", "tables")
        for table in tables:
            self._check(table)
            first = next((one for one in self._changes if one.table == table), None)
            if first is not None:
                yield f"{table}[{first.key}] was changed at step {first.step}"

    def _row(self, table: str, key: Key) -> Row | None:
        changed = self._ends.get(table, {})
        return changed[key] if key in changed else self._world.row(table, key, self._task.world)

    def _check(self, table: str) -> None:
        if table not in self._world.keys:
            msg = f"the world has no table {table!r}; it has {', '.join(self._world.keys)}"
            raise ValueError(msg)

    def _check_key(self, table: str, key: Key) -> None:
        """Refuse a text if keys are numbers, and the reverse: it would never find its row."""
        column = self._world.keys[table]
        known = [
            *self._world.rows[table],
            *(row[column] for row in self._task.world.get(table, ())),
            *self._ends.get(table, ()),
        ]
        if not known or type(key) in {type(one) for one in known}:
            return
        word = "numbers" if isinstance(known[0], int) else "texts"
        msg = (
            f"assert_state of the table {table!r}: no row can have the key {key!r}, since the keys "
            f"of {column!r} are {word}; write it as {known[0]!r} is written"
        )
        raise ValueError(msg)

    def _ask_nothing(self, what: str, wanted: str) -> NoReturn:
        tables = ", ".join(self._world.keys)
        msg = f"{what} asks nothing, so it would always pass; name {wanted} (tables: {tables})"
        raise ValueError(msg)
