"""Conditions read the data of a task, as text or as numbers, and say what they cannot read."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.contract.conditions import (
    AllOf,
    AnyOf,
    Condition,
    Not,
    Operator,
    Source,
    ValueCondition,
    describe,
    equal_as_written,
    is_blank,
    satisfied,
    unreadable,
)
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue


def task_with(value: JsonValue) -> Task:
    return Task(
        domain="lab",
        id="1",
        line=2,
        inputs={"value": value},
        expected={},
        results={"r": 5},
        hash="h",
    )


def value(**bounds: Any) -> ValueCondition:
    return ValueCondition(
        source=Source.INPUT,
        name="value",
        bounds=tuple((Operator(name.rstrip("_")), bound) for name, bound in bounds.items()),
    )


@pytest.mark.parametrize(
    ("given", "condition", "holds"),
    [
        pytest.param("a", value(equals="a"), True, id="equal text"),
        pytest.param("A", value(equals="a"), False, id="text as written"),
        pytest.param(12, value(equals="12"), True, id="number and its text"),
        pytest.param(True, value(equals="True"), True, id="boolean and its text"),
        pytest.param(1, value(not_equals=2), True, id="not equal"),
        pytest.param(1, value(not_equals=1.0), False, id="equal by value"),
        pytest.param("UN12", value(matches="UN[0-9]+"), True, id="the whole text matches"),
        pytest.param("UN12x", value(matches="UN[0-9]+"), False, id="only a part matches"),
        pytest.param(None, value(matches=".*"), False, id="an empty value is no text"),
        pytest.param(12, value(matches="12"), False, id="a number is no text"),
        pytest.param("b", value(in_=["a", "b"]), True, id="one of them"),
        pytest.param("c", value(in_=["a", "b"]), False, id="none of them"),
        pytest.param(0.8, value(at_least=0.8), True, id="at least, on the bound"),
        pytest.param(0.8, value(above=0.8), False, id="above, on the bound"),
        pytest.param(0.8, value(at_most=0.8), True, id="at most, on the bound"),
        pytest.param(0.8, value(below=0.8), False, id="below, on the bound"),
        pytest.param("0.9", value(above=0.8), True, id="number written as text"),
        pytest.param(5, value(above=4, below=6), True, id="both bounds"),
        pytest.param(7, value(above=4, below=6), False, id="one of two bounds"),
        pytest.param("2026-02-01", value(below="2026-10-01"), True, id="dates by their text"),
        pytest.param("10", value(above="9"), True, id="two numbers written as text"),
        pytest.param(None, value(at_least=0), False, id="empty has no order"),
        pytest.param("high", value(at_least=1), False, id="text has no order with a number"),
        pytest.param(5, value(at_least="high"), False, id="nor a number with text"),
        pytest.param(True, value(at_least=0), False, id="a boolean has no order"),
        pytest.param(" ", value(empty=True), True, id="blank is empty"),
        pytest.param(0, value(present=True), True, id="zero is present"),
        pytest.param([], value(present=False), True, id="not present"),
        pytest.param("a", value(empty=False), True, id="not empty"),
    ],
)
def test_an_operator_holds_or_not(given: Any, condition: Condition, holds: bool) -> None:
    assert holds is satisfied(condition, task_with(given))


def test_a_condition_may_read_a_tool_result_of_the_row() -> None:
    of_row = ValueCondition(source=Source.RESULT, name="r", bounds=((Operator.EQUALS, 5),))

    assert satisfied(of_row, task_with(None))


@pytest.mark.parametrize(
    ("conditions", "all_of", "any_of"),
    [
        pytest.param((value(above=0), value(below=9)), True, True, id="both"),
        pytest.param((value(above=0), value(below=2)), False, True, id="one"),
        pytest.param((value(above=7), value(below=2)), False, False, id="none"),
    ],
)
def test_conditions_combine(conditions: tuple[Condition, ...], all_of: bool, any_of: bool) -> None:
    task = task_with(5)

    assert all_of is satisfied(AllOf(conditions=conditions), task)
    assert any_of is satisfied(AnyOf(conditions=conditions), task)
    assert all_of is not satisfied(Not(condition=AllOf(conditions=conditions)), task)


def test_a_condition_is_put_in_words() -> None:
    condition = AllOf(
        conditions=(
            value(at_least=1, below=3),
            Not(condition=AnyOf(conditions=(value(empty=True), value(present=False)))),
        )
    )

    assert (
        "(input value at least 1 and below 3"
        " and not (input value empty or input value not present))" == describe(condition)
    )


@pytest.mark.parametrize(
    ("condition", "problems"),
    [
        pytest.param(value(at_least=1), 1, id="bound"),
        pytest.param(Not(condition=value(at_least=1)), 1, id="inside not"),
        pytest.param(AnyOf(conditions=(value(above=1), value(below=2))), 2, id="inside any"),
        pytest.param(value(equals=1), 0, id="equality needs no order"),
        pytest.param(value(at_least="low"), 0, id="two texts have one"),
    ],
)
def test_what_a_condition_cannot_read_is_told(condition: Condition, problems: int) -> None:
    found = unreadable(condition, task_with("high"))

    assert problems == len(found)
    assert all(one.startswith("input value is 'high', which has no order with") for one in found)


def test_an_empty_value_is_read_as_below_every_bound_without_complaint() -> None:
    assert () == unreadable(value(at_least=1), task_with(None))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("12", 12, True, id="whole number"),
        pytest.param(12.5, "12.50", True, id="fraction"),
        pytest.param("007", 7, False, id="leading zeros are text"),
        pytest.param(
            "12345678901234567890", 12345678901234567891, False, id="long ids keep digits"
        ),
        pytest.param("1e3", 1000, True, id="exponent"),
        pytest.param("٣", 3, False, id="digits of another script"),
        pytest.param("false", False, True, id="boolean"),
        pytest.param("1", True, False, id="a number is no boolean"),
        pytest.param("1.0", "1", False, id="two texts as written"),
        pytest.param("", None, False, id="empty text is not null"),
    ],
)
def test_a_number_reads_the_same_as_its_text(one: Any, other: Any, same: bool) -> None:
    assert same is equal_as_written(one, other)
    assert same is equal_as_written(other, one)


@pytest.mark.parametrize("value", [None, "", " \t", [], {}], ids=repr)
def test_what_holds_nothing_is_empty(value: Any) -> None:
    assert is_blank(value)


@pytest.mark.parametrize("value", [0, False, "0", [None], {"a": None}], ids=repr)
def test_what_holds_something_is_not_empty(value: Any) -> None:
    assert not is_blank(value)


def test_a_pattern_reads_text_only() -> None:
    (problem,) = unreadable(value(matches="[0-9]+"), task_with(12))

    assert "input value is 12, which is no text that could match '[0-9]+'" == problem
    assert () == unreadable(value(matches="[0-9]+"), task_with(None))
