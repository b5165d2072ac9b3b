"""When a rule applies: conditions over the inputs and the row's own tool results.

A condition reads the task's data and never the run, so that an agent cannot switch a rule off
by not calling a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._core.values.patterns import linear_pattern


class Operator(StrEnum):
    """What a condition asks of one value."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    ABOVE = "above"
    BELOW = "below"
    MATCHES = "matches"
    PRESENT = "present"
    EMPTY = "empty"


class Source(StrEnum):
    """Which part of the task a condition reads."""

    INPUT = "input"
    RESULT = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueCondition:
    """One value of the task against bounds, all of which it must satisfy."""

    source: Source
    name: str
    bounds: tuple[tuple[Operator, JsonValue], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOf:
    """Every one of these conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnyOf:
    """At least one of these conditions."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The opposite of this condition."""

    condition: Condition


Condition: TypeAlias = "ValueCondition | AllOf | AnyOf | Not"

ORDER: Mapping[Operator, Callable[[int], bool]] = {
    Operator.AT_LEAST: lambda sign: sign >= 0,
    Operator.AT_MOST: lambda sign: sign <= 0,
    Operator.ABOVE: lambda sign: sign > 0,
    Operator.BELOW: lambda sign: sign < 0,
}
"""The operators that need an order, by the sign of value minus bound."""

CHOOSY = frozenset({*ORDER, Operator.MATCHES})
"""The operators that some values mean nothing to."""

NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,300})(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
"""Text that JSON would read as a number."""


def satisfied(condition: Condition, task: Task) -> bool:
    """Whether the task's data satisfies the condition.

    Numbers are compared by value, also where one of the two is written as text (`"12"`); two
    texts by their characters, so that ISO dates are in order. `matches` asks that the whole of
    a text fits a regular expression. An empty value satisfies only `empty`, `not_equals`, and
    `equals`, `in` or `matches` that allow it. What cannot be put in order, or is no text to be
    matched, does not satisfy; `unreadable` finds it beforehand.
    """
    match condition:
        case ValueCondition():
            value = _value(condition, task)
            return all(bound_holds(op, value, bound) for op, bound in condition.bounds)
        case AllOf():
            return all(satisfied(one, task) for one in condition.conditions)
        case AnyOf():
            return any(satisfied(one, task) for one in condition.conditions)
        case _:
            return not satisfied(condition.condition, task)


def unreadable(condition: Condition, task: Task) -> tuple[str, ...]:
    """Say which values of the task the condition cannot read; a loader refuses such a row."""
    return tuple(
        problem
        for comparison in comparisons(condition)
        for problem in misread(comparison, _value(comparison, task))
    )


def comparisons(condition: Condition) -> Iterator[ValueCondition]:
    """Yield every comparison in a condition, in the order in which they were written."""
    match condition:
        case ValueCondition():
            yield condition
        case Not():
            yield from comparisons(condition.condition)
        case _:
            for one in condition.conditions:
                yield from comparisons(one)


def misread(comparison: ValueCondition, value: JsonValue) -> Iterator[str]:
    """Say what is wrong with a value that the comparison cannot read."""
    if is_blank(value):
        return
    place = f"{comparison.source} {comparison.name} is {value!r}, which"
    for operator, bound in comparison.bounds:
        if operator in ORDER and _sign(value, bound) is None:
            yield f"{place} has no order with {bound!r}"
        if operator is Operator.MATCHES and not isinstance(value, str):
            yield f"{place} is no text that could match {bound!r}"


def describe(condition: Condition) -> str:
    """Put a condition in words: `result score at least 0.8`."""
    match condition:
        case ValueCondition():
            bounds = (_bound_text(op, bound) for op, bound in condition.bounds)
            return f"{condition.source} {condition.name} {' and '.join(bounds)}"
        case AllOf():
            return f"({' and '.join(describe(one) for one in condition.conditions)})"
        case AnyOf():
            return f"({' or '.join(describe(one) for one in condition.conditions)})"
        case _:
            return f"not {describe(condition.condition)}"


def equal_as_written(one: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON, or a number or boolean and the text that writes it (`12` and `"12"`).

    Agents and tools often pass an id or a score as text; `"007"` is no number, and stays text.
    """
    if isinstance(one, str) is not isinstance(other, str):
        one, other = _read(one), _read(other)
    return same_json(one, other)


def is_blank(value: JsonValue) -> bool:
    """Null, blank text, an empty list or mapping; `0` and `false` are values."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (not isinstance(value, bool | int | float) and not value)


def _value(condition: ValueCondition, task: Task) -> JsonValue:
    source = task.inputs if condition.source is Source.INPUT else task.results
    return source[condition.name]


def bound_holds(operator: Operator, value: JsonValue, bound: JsonValue) -> bool:
    """Whether one value satisfies one bound; see `satisfied`."""
    match operator:
        case Operator.EQUALS:
            return equal_as_written(value, bound)
        case Operator.NOT_EQUALS:
            return not equal_as_written(value, bound)
        case Operator.IN:
            return isinstance(bound, list | tuple) and any(
                equal_as_written(value, one) for one in bound
            )
        case Operator.MATCHES:
            return isinstance(value, str) and linear_pattern(str(bound)).fullmatch(value)
        case Operator.PRESENT | Operator.EMPTY:
            return is_blank(value) is ((operator is Operator.EMPTY) == bound)
        case _:
            sign = _sign(value, bound)
            return sign is not None and ORDER[operator](sign)


def order_of(one: JsonValue, other: JsonValue) -> int:
    """Put any two values in one order: what has none among its like stands by how it is written."""
    kinds = [
        (is_blank(value), _number(value) is None, not isinstance(value, str))
        for value in (one, other)
    ]
    if kinds[0][:2] != kinds[1][:2] or (kinds[0][1] and kinds[0] != kinds[1]):
        return -1 if kinds[0] < kinds[1] else 1
    sign = _sign(one, other)
    if sign is not None:
        return sign
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    return (texts[0] > texts[1]) - (texts[0] < texts[1])


def _sign(value: JsonValue, bound: JsonValue) -> int | None:
    one, other = _number(value), _number(bound)
    if one is not None and other is not None:
        return (one > other) - (one < other)
    if isinstance(value, str) and isinstance(bound, str) and one is other:
        return (value > bound) - (value < bound)
    return None


def _number(value: JsonValue) -> float | None:
    read = _read(value)
    return read if isinstance(read, int | float) and not isinstance(read, bool) else None


def _read(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    if value in {"true", "True", "false", "False"}:
        return value in {"true", "True"}
    if not NUMBER.fullmatch(value):
        return value
    number: int | float = json.loads(value)
    return number


def _bound_text(operator: Operator, bound: JsonValue) -> str:
    if operator in {Operator.PRESENT, Operator.EMPTY}:
        return operator.value if bound else f"not {operator.value}"
    return f"{operator.value.replace('_', ' ')} {bound!r}"
