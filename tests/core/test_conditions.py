"""Conditions read the data of a task, as text or as numbers, and say what they cannot read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, OutputField, Task, ToolCall, Trace, Verdict
from pytest_sopbench._core.contract import (
    AllOf,
    AnyOf,
    Condition,
    Contract,
    Not,
    Operator,
    Rule,
    RuleResult,
    Severity,
    Source,
    ValueCondition,
    describe,
    is_blank,
    satisfied,
    unreadable,
)
from pytest_sopbench._core.demands import (
    ArgumentDemand,
    EqualsAnswer,
    EqualsColumn,
    EqualsExpected,
    RuleState,
    Value,
)
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.judging import breaches, judge
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import equal_as_written


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


# Arguments against the answer, the expected one and the row: compared as the judge compares.

HELD, BROKEN, IDLE = RuleState.HELD, RuleState.BROKEN, RuleState.NOT_EXERCISED

AMOUNT = OutputField(name="amount", type=FieldType.NUMBER)
GRADE = OutputField(name="grade", type=FieldType.ENUM, aliases={"D": "Hazard Class D"})
NAMES = OutputField(name="names", type=FieldType.LIST)
DAY = OutputField(name="day", type=FieldType.DATE)
FIELDS = (AMOUNT, GRADE, NAMES, DAY)

ANSWER: Mapping[str, JsonValue] = {
    "amount": "12.50",
    "grade": "Hazard Class D",
    "names": ["Ann", "Bob"],
    "day": "2026-05-01",
}
TASK = Task(
    domain="bank",
    id="1",
    line=2,
    hash="h",
    inputs={"account": "A1", "limit": 50, "rush": True, "parts": ["a", "b"], "empty": None},
    expected={**ANSWER, "amount": "99"},
    results={"score": 0.9, "who": {"name": "Ann"}},
    acceptable=({**ANSWER, "amount": "100"},),
)


def judged(
    origin: Value,
    *values: JsonValue,
    argument: str = "x",
    answer: Mapping[str, JsonValue] | None = ANSWER,
    fields: tuple[OutputField, ...] = FIELDS,
    ending: Ending = Ending.RETURNED,
    calls: tuple[ToolCall, ...] = (),
) -> Verdict:
    rule = Rule(
        id="r",
        severity=Severity.MUST,
        demand=ArgumentDemand(tool="pay", argument=argument, origin=origin),
    )
    rules = JudgingRules(fields=fields, contract=Contract(rules=(rule,)))
    made = tuple(ToolCall(name="pay", arguments={"x": value}) for value in values)
    returned = None
    if ending is Ending.RETURNED:
        returned = Returned(kind=ReturnedKind.MAPPING, mapping=answer or {})
    return judge(rules, TASK, Trace(ending=ending, returned=returned, calls=(*made, *calls)))


def result(*given: Any, **how: Any) -> RuleResult:
    (one,) = judged(*given, **how).rules
    return one


@pytest.mark.parametrize(
    ("origin", "value", "state", "why"),
    [
        pytest.param(
            EqualsAnswer(field="amount"), 12.5, HELD, "x is as demanded at step 1, pay",
            id="answer: by value",
        ),
        pytest.param(
            EqualsAnswer(field="amount"), "12.5", HELD, "x is as demanded at step 1, pay",
            id="answer: as text",
        ),
        pytest.param(
            EqualsAnswer(field="amount"), 12.05, BROKEN,
            'step 1, pay: x is 12.05, the answer amount is "12.50"', id="answer: another",
        ),
        pytest.param(
            EqualsAnswer(field="grade"), "D", HELD, "x is as demanded at step 1, pay",
            id="answer: an alias",
        ),
        pytest.param(
            EqualsAnswer(field="grade"), "hazard_class d", HELD, "x is as demanded at step 1, pay",
            id="answer: text after normalisation",
        ),
        pytest.param(
            EqualsAnswer(field="grade"), "Hazard Class", BROKEN,
            'step 1, pay: x is "Hazard Class", the answer grade is "Hazard Class D"',
            id="answer: contained is not equal",
        ),
        pytest.param(
            EqualsAnswer(field="names"), ["Bob", "Ann"], HELD, "x is as demanded at step 1, pay",
            id="answer: a list",
        ),
        pytest.param(
            EqualsAnswer(field="names"), ["Bob"], BROKEN,
            'step 1, pay: x is ["Bob"], the answer names is ["Ann", "Bob"]',
            id="answer: a part of a list",
        ),
        pytest.param(
            EqualsAnswer(field="day"), "2026-05-01T00:00:00Z", HELD,
            "x is as demanded at step 1, pay", id="answer: a date",
        ),
        pytest.param(
            EqualsExpected(field="amount"), 99.0, HELD, "x is as demanded at step 1, pay",
            id="expected",
        ),
        pytest.param(
            EqualsExpected(field="amount"), 100, HELD, "x is as demanded at step 1, pay",
            id="expected: another acceptable one",
        ),
        pytest.param(
            EqualsExpected(field="amount"), 12.5, BROKEN,
            'step 1, pay: x is 12.5, expected amount is "99" or "100"', id="expected: another",
        ),
        pytest.param(
            EqualsColumn(column="limit"), "50.0", HELD, "x is as demanded at step 1, pay",
            id="column: a number",
        ),
        pytest.param(
            EqualsColumn(column="account"), "a1", HELD, "x is as demanded at step 1, pay",
            id="column: text",
        ),
        pytest.param(
            EqualsColumn(column="score"), 0.8, BROKEN,
            "step 1, pay: x is 0.8, column score is 0.9", id="column: a tool result",
        ),
        pytest.param(
            EqualsColumn(column="rush"), "yes", HELD, "x is as demanded at step 1, pay",
            id="column: a truth value",
        ),
        pytest.param(
            EqualsColumn(column="parts"), ["b", "a"], HELD, "x is as demanded at step 1, pay",
            id="column: a list",
        ),
        pytest.param(
            EqualsColumn(column="who"), {"name": "Ann"}, HELD, "x is as demanded at step 1, pay",
            id="column: an object",
        ),
        pytest.param(
            EqualsColumn(column="empty"), "none", HELD, "x is as demanded at step 1, pay",
            id="column: an empty cell",
        ),
        pytest.param(
            EqualsColumn(column="empty"), "A1", BROKEN,
            'step 1, pay: x is "A1", column empty is null', id="column: not empty",
        ),
        pytest.param(
            EqualsColumn(column="amount"), 99, HELD, "x is as demanded at step 1, pay",
            id="column: an output field",
        ),
    ],
)  # fmt: skip
def test_an_argument_equals_its_value(
    origin: Value, value: JsonValue, state: RuleState, why: str
) -> None:
    found = result(origin, value)

    assert (state, why) == (found.state, found.why)


@given(
    field=st.sampled_from([*FIELDS, replace(AMOUNT, tolerance=0.5), replace(NAMES, ordered=True)]),
    answered=st.sampled_from(["12.5", "D", 12.5, 13, ["Ann", "Bob"], "Bob, Ann", "2026-05-01"]),
    given_=st.sampled_from(["12.50", "hazard class d", 12.9, ["Bob", "Ann"], "2026-05-01", None]),
)
def test_a_rule_is_neither_stricter_nor_looser_than_the_judge(
    field: OutputField, answered: JsonValue, given_: JsonValue
) -> None:
    found = result(
        EqualsAnswer(field=field.name), given_, fields=(field,), answer={field.name: answered}
    )

    assert found.broken is (compare(field, answered, given_) is not None)


def test_every_call_has_to_equal_it() -> None:
    found = result(EqualsAnswer(field="amount"), 12.5, 13)

    assert 'step 2, pay: x is 13, the answer amount is "12.50"' == found.why


def test_a_field_that_the_judge_does_not_compare_is_compared_by_its_type() -> None:
    ignored = replace(AMOUNT, compare=Compare.IGNORE)

    found = result(EqualsAnswer(field="amount"), 13, fields=(ignored, GRADE))

    assert found.broken


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param(EqualsAnswer(field="amount"), id="an output field"),
        pytest.param(EqualsColumn(column="amount", private=True), id="a column"),
    ],
)
def test_a_private_value_is_never_told(origin: Value) -> None:
    private = replace(AMOUNT, private=True)

    found = result(origin, 13, fields=(private,), answer={"amount": "12.50"})

    assert found.broken
    assert "12.5" not in found.why
    assert "13" not in found.why


# Without an answer


def test_an_entry_that_no_answer_stands_for_breaks_the_rule() -> None:
    verdict = judged(EqualsAnswer(field="amount"), 12.5, answer={})

    assert Outcome.NO_ANSWER is verdict.outcome
    assert (
        "step 1, pay: x is 12.5, the answer amount is not there: the run gave none"
        == verdict.rules[0].why
    )
    assert (BROKEN, 1) == (verdict.contract, len(breaches(verdict.rules, verdict.outcome)))


@pytest.mark.parametrize("ending", [Ending.RAISED, Ending.TIMED_OUT])
def test_a_run_that_was_stopped_breaks_it_and_is_failed_by_that_no_further(ending: Ending) -> None:
    """It never counts as held; the run is a failure already, and of another kind."""
    verdict = judged(EqualsAnswer(field="amount"), 12.5, ending=ending)

    assert (BROKEN, BROKEN) == (verdict.rules[0].state, verdict.contract)
    assert () == breaches(verdict.rules, verdict.outcome, enforce=True)


def test_a_run_whose_provider_was_away_is_not_held_against_it() -> None:
    verdict = judged(EqualsAnswer(field="amount"), 12.5, ending=Ending.UNAVAILABLE)

    assert (IDLE, IDLE) == (verdict.rules[0].state, verdict.contract)


def test_without_a_call_nothing_is_compared() -> None:
    verdict = judged(EqualsAnswer(field="amount"), answer={})

    assert IDLE is verdict.rules[0].state


def test_a_value_that_is_known_needs_no_answer() -> None:
    assert HELD is result(EqualsExpected(field="amount"), 99, answer={}).state


# Where the argument is


@pytest.mark.parametrize(
    ("argument", "given_", "state"),
    [
        pytest.param("x.sum", {"sum": 12.5}, HELD, id="inside"),
        pytest.param("x.sum", {"sum": 13}, BROKEN, id="another inside"),
        pytest.param("x.sum", {"total": 12.5}, BROKEN, id="missing inside"),
        pytest.param("x.sum", 12.5, BROKEN, id="nothing inside"),
        pytest.param("x.sum", [{"sum": 12.5}, {"sum": "12.50"}], HELD, id="each of a list"),
        pytest.param("x.sum", [{"sum": 12.5}, {"sum": 13}], BROKEN, id="not each of a list"),
        pytest.param("x.sum", [{"sum": 12.5}, {}], BROKEN, id="missing in one of a list"),
        pytest.param("x.sum", [], BROKEN, id="an empty list"),
        pytest.param("x.1.sum", [{"sum": 1}, {"sum": 12.5}], HELD, id="one of a list"),
        pytest.param("x.2.sum", [{"sum": 12.5}], BROKEN, id="not so many in a list"),
    ],
)
def test_an_argument_may_lie_inside_another(
    argument: str, given_: JsonValue, state: RuleState
) -> None:
    assert state is result(EqualsAnswer(field="amount"), given_, argument=argument).state


def test_a_name_with_a_dot_is_a_name_first() -> None:
    call = ToolCall(name="pay", arguments={"x.sum": 12.5, "x": {"sum": 13}})

    assert HELD is result(EqualsAnswer(field="amount"), argument="x.sum", calls=(call,)).state


def test_a_run_that_rightly_calls_no_tool_holds_its_contract() -> None:
    verdict = judged(EqualsAnswer(field="amount"))

    assert (IDLE, HELD) == (verdict.rules[0].state, verdict.contract)
