"""Arguments against the answer, the expected one and the row: compared as the judge compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.contract.demands import (
    ArgumentDemand,
    EqualsAnswer,
    EqualsColumn,
    EqualsExpected,
    RuleState,
    Value,
)
from pytest_sopbench._core.contract.rules import Contract, Rule, RuleResult, Severity
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.judging.judge import breaches, judge
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Task
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind, ToolCall, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome, Verdict

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
