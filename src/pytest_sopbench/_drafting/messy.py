"""Messy cases: several things are irregular in a row, and decide by themselves or do not.

A value is irregular if it lies at a cut-off or one step beside it, if it is one of the odd values
of its column, or if a record is missing. In a column of which nearly all values lie at a cut-off,
such as a score from 1 to 5, that is nothing irregular. Whether it decides, running the policy says:
on the row, and on the same row with usual values in its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from pytest_sopbench._audit.policy_source import every_number
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.running import Ran, Texts, run_policy
from pytest_sopbench._drafting.shape import BOOLEAN, ID, KEY, NUMBER, Column, Row, Shape

TWO: Final = 2
"""Irregularities that decide, from which on a row is messy."""

_USUAL: Final = 2


@dataclass(kw_only=True)
class Weighed:
    """What of one row is irregular, and what decides.

    Attributes:
        irregular: columns, and tools whose record is missing.
        decides: those of all columns and missing records without which the policy does otherwise.
    """

    irregular: frozenset[str] = frozenset()
    decides: set[str] = field(default_factory=set[str])

    @property
    def is_messy(self) -> bool:
        return len(self.irregular & self.decides) >= TWO


def weigh(texts: Texts, source: str, rows: Sequence[Row]) -> list[Weighed]:
    """Say of each row what is irregular in it, and what decides."""
    shape, numbers = texts.shape, every_number(source)
    found = [Weighed(irregular=frozenset(_irregular(shape, numbers, row))) for row in rows]
    others = list[tuple[int, str, Row]]()
    for at, row in enumerate(rows):
        for name, other in _others(shape, numbers, row, rows):
            others.append((at, name, {**other, ID: f"other-{len(others)}"}))
    every = [*rows, *(row for *_, row in others)]
    did = [_did(one, row) for one, row in zip(run_policy(texts, source, every), every, strict=True)]
    for (at, name, _), done in zip(others, did[len(rows) :], strict=True):
        if done != did[at]:
            found[at].decides.add(name)
    return found


def _did(ran: Ran, row: Row) -> tuple[object, object]:
    """What the policy answered and called, whatever the id of the row."""
    calls = [
        (tool, {name: value for name, value in given.items() if value != row[ID]})
        for tool, given in ran.calls
    ]
    return ran.answer, calls


def _irregular(shape: Shape, numbers: frozenset[Decimal], row: Row) -> Iterator[str]:
    for tool in shape.tools:
        if tool.returns and all(row.get(name) is None for name in tool.returns):
            yield tool.name
    for column in shape.columns:
        value = row.get(column.name)
        if value in column.odd or (
            value is not None
            and is_irregular(column, numbers, value)
            and not all(is_irregular(column, numbers, one) for one in _spread(column))
        ):
            yield column.name


def is_irregular(column: Column, numbers: frozenset[Decimal], value: object) -> bool:
    """Whether a value is odd, or lies at a number that a policy compares with."""
    if value in column.odd:
        return True
    if column.type != NUMBER or isinstance(value, bool):
        return False
    held = Decimal(str(value))
    return any(abs(held - one) <= column.step for one in numbers if column.holds(one))


def _others(
    shape: Shape, numbers: frozenset[Decimal], row: Row, rows: Sequence[Row]
) -> Iterator[tuple[str, Row]]:
    """Yield the row with usual values in place of what one column, or no record, has."""
    for tool in shape.tools:
        if tool.returns and all(row.get(name) is None for name in tool.returns):
            there = (one for one in rows if any(one.get(n) is not None for n in tool.returns))
            for _, one in zip(range(_USUAL), there, strict=False):
                yield tool.name, {**row, **{name: one[name] for name in tool.returns}}
    for column in shape.columns:
        if column.type != KEY and row.get(column.name) is not None:
            for value in _usual(column, numbers):
                if value != row[column.name]:
                    yield column.name, {**row, column.name: value}


def _usual(column: Column, numbers: frozenset[Decimal]) -> Sequence[JsonValue]:
    if column.type == BOOLEAN:
        return [True, False]
    if not column.is_ordered:
        return [*column.values][: _USUAL + 1]
    values = _spread(column)
    return [one for one in values if not is_irregular(column, numbers, one)] or values


def _spread(column: Column) -> Sequence[JsonValue]:
    span = column.high - column.low
    return [column.value(column.low + span * part / 8) for part in (1, 7, 4)]


def told(shape: Shape, weighed: Sequence[Weighed], share: float) -> Iterator[str]:
    """Say how messy rows are, beside the share that was asked for, and which columns are noise."""
    messy = sum(one.is_messy for one in weighed)
    idle = sum(len(one.irregular - one.decides) for one in weighed)
    yield (
        f"{messy} of {len(weighed)} rows have two irregularities or more that decide"
        f" ({share:.0%} asked for); {idle} irregular values decide nothing"
    )
    deciding: dict[str, int] = defaultdict(int)
    for one in weighed:
        for name in one.decides:
            deciding[name] += 1
    noise = [one.name for one in shape.columns if one.type != KEY and not deciding[one.name]]
    yield f"noise, which decides no row: {', '.join(noise) or 'no column'}"
