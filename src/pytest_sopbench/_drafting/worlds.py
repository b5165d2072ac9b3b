"""Inputs for a policy: drawn from what columns can hold, then searched for what is not reached.

What they are labelled, running a policy says. Nothing here knows an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Final

from pytest_sopbench._audit.policy_source import every_number
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.shape import (
    BOOLEAN,
    CHOICE,
    ID,
    KEY,
    TEXT,
    Column,
    Row,
    Shape,
)

_MISSING: Final = 0.06
"""Share of rows in which a record that may be missing is."""

_ODD: Final = 0.12
"""Share of values of a column with odd ones that are odd."""

_AT_A_CUT_OFF: Final = 0.6
"""Share of numbers that are drawn from both sides of the numbers of a policy."""

_PARTS: Final = 32
_MANY: Final = 40


def key_of(column: Column, number: int) -> str:
    """Return the key of the record with this number, counted from the first one."""
    return f"{column.prefix}{column.first + number:0{column.width}}"


def content_of(shape: Shape, row: Row) -> str:
    """Return the same text for rows that differ in keys and ids alone."""
    return json.dumps([row.get(one.name) for one in shape.columns if one.type != KEY])


class Worlds:
    """Draws rows of a shape; the same sources and seed draw the same rows.

    If there are `bases`, a row is one of them with a few columns exchanged: nobody has said
    which values may stand beside one another.
    """

    def __init__(
        self, shape: Shape, sources: Iterable[str], seed: int = 0, bases: Sequence[Row] = ()
    ) -> None:
        self.shape = shape
        self._bases = bases
        self._random = Random(seed)  # noqa: S311 - nothing secret
        numbers = sorted({number for source in sources for number in every_number(source)})
        self._pools = {one.name: self._pool(one, numbers) for one in shape.columns}
        self._edges = {one.name: _edges(one, numbers) for one in shape.columns if one.is_ordered}
        self._drawn = 0

    def draw(self, count: int) -> list[dict[str, JsonValue]]:
        """Draw rows of which each column is as likely to be one as another."""
        if not self._bases:
            return [self._row() for _ in range(count)]
        bases = (self._random.choice(self._bases) for _ in range(count))
        return [row for base in bases for row in self.near(base, 1)]

    def messy(self, count: int) -> list[dict[str, JsonValue]]:
        """Draw rows in which each value is irregular that can be: odd, at a cut-off, or beside."""
        rows = [self._row() for _ in range(count)]
        for row in rows:
            for one in self.shape.columns:
                edges = [*one.odd, *self._edges.get(one.name, ())]
                if edges and row[one.name] is not None:
                    row[one.name] = self._random.choice(edges)
        return rows

    def around(self, row: Row) -> Iterator[dict[str, JsonValue]]:
        """Yield the row with one column exchanged, for each column and each value of its pool."""
        for column in self.shape.columns:
            if column.type == KEY:
                continue
            pool = self._pools[column.name]
            # Texts that came with rows are many, and most of them say what others say.
            for value in pool if len(pool) <= _MANY else self._random.sample(pool, _MANY):
                if row[column.name] is not None and value != row[column.name]:
                    yield self._fresh({**row, column.name: value})

    def some(self, places: Sequence[int], count: int) -> Sequence[int]:
        """Draw so many of these places: the first ones may all lie far from what is looked for."""
        return self._random.sample(places, min(count, len(places)))

    def near(self, row: Row, count: int) -> Iterator[dict[str, JsonValue]]:
        """Yield rows that differ from this one in one to three columns."""
        columns = [one for one in self.shape.columns if one.type != KEY]
        for _ in range(count):
            changed = self._random.sample(columns, min(len(columns), self._random.randint(1, 3)))
            values = {one.name: self._value(one) for one in changed if row[one.name] is not None}
            yield self._fresh({**row, **values})

    def apart_from(self, row: Row, column: Column) -> str:
        """Return the same text for rows that differ in this column, and in keys, alone."""
        others = (one for one in self.shape.columns if one.type != KEY and one is not column)
        return json.dumps([row[one.name] for one in others])

    def between(self, row: Row, other: Row, column: Column) -> Iterator[dict[str, JsonValue]]:
        """Yield rows on the way from one to the other in one column: a cut-off lies there."""
        one, two = row[column.name], other[column.name]
        if one is None or two is None or one == two:
            return
        first, last = column.number(one), column.number(two)
        values = (
            column.value(first + (last - first) * part / _PARTS) for part in range(_PARTS + 1)
        )
        for value in dict.fromkeys(values):
            yield self._fresh({**row, column.name: value})

    def _row(self) -> dict[str, JsonValue]:
        row: dict[str, JsonValue] = {one.name: self._value(one) for one in self.shape.columns}
        for tool in self.shape.tools:
            if tool.may_be_missing and self._random.random() < _MISSING:
                row.update(dict.fromkeys(tool.returns))
        return self._fresh(row)

    def _fresh(self, row: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Give a row keys of its own, so that no two cases share a record."""
        self._drawn += 1
        keys = {
            one.name: key_of(one, self._drawn)
            for one in self.shape.columns
            if one.type == KEY and row.get(one.name) is not None
        }
        return {**row, **keys, ID: f"P{self._drawn:04}"}

    def _value(self, column: Column) -> JsonValue:
        if column.type == KEY:
            return column.prefix
        pool = self._pools[column.name]
        if column.odd and self._random.random() < _ODD:
            return self._random.choice(column.odd)
        if column.is_ordered and self._random.random() > _AT_A_CUT_OFF:
            steps = int((column.high - column.low) / column.step)
            return column.value(column.low + self._random.randint(0, steps) * column.step)
        return self._random.choice(pool)

    def _pool(self, column: Column, numbers: Sequence[Decimal]) -> list[JsonValue]:
        """The values that are worth trying: of a number both sides of what a policy compares."""
        if column.type == BOOLEAN:
            return [False, True]
        if column.type in {CHOICE, TEXT}:
            return [*column.values, *column.odd]
        if not column.is_ordered:
            return []
        ends = (column.low, column.high, (column.low + column.high) / 2)
        values = [*map(column.value, ends), *_edges(column, numbers)]
        return [*dict.fromkeys(sorted(values, key=column.number)), *column.odd]


def _edges(column: Column, numbers: Iterable[Decimal]) -> list[JsonValue]:
    """The numbers that a policy compares with, as far as a column holds them, and those beside."""
    found = (
        column.value(number + beside)
        for number in numbers
        if column.holds(number)
        for beside in (-column.step, Decimal(0), column.step)
    )
    return [*dict.fromkeys(found)]
