"""What a person reads of a departure: short, narrow, and never without the reason."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.counts import RuleTally
from pytest_sopbench._core.model.trace import ToolCall
from pytest_sopbench._core.model.trajectory import Call, Trajectory, expected_calls
from pytest_sopbench._core.trajectory.match import MatchMode, match_trajectory
from pytest_sopbench._reports.failure.trajectory import (
    call_text,
    departure_lines,
    rule_lines,
    rule_summary_lines,
)

MATCHES = get_args(MatchMode)


def lines_of(
    calls: list[ToolCall], expected: list[Any], width: int = 80, **options: Any
) -> list[str]:
    actual = Trajectory(calls=tuple(Call(name=c.name, arguments=c.arguments) for c in calls))
    match = match_trajectory(actual, expected, **options)
    return departure_lines(match, calls, expected_calls(expected), width)


def call(name: str, result: Any = None, error: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(name=name, arguments=arguments, result=result, error=error)


def test_a_match_that_held_has_nothing_to_say() -> None:
    assert [] == lines_of([call("a")], ["a"])


def test_the_marked_row_has_the_call_that_was_expected_there() -> None:
    lines = lines_of([call("part"), call("sale"), call("inspection")], ["part", "inspection"])

    assert "match exact, arguments exact: step 2: inspection was expected, sale was called" in lines
    assert ">  2 (inspection)                         sale()" in lines
    assert "   3 inspection                           inspection()" in lines


def test_two_trajectories_stand_side_by_side_with_the_departure_marked() -> None:
    calls = [call("login", {"ok": True}, user="u"), call("transfer", amount=5), call("logout")]

    lines = lines_of(calls, ["login", ("transfer", {"amount": 7}), "logout"])

    assert [
        "match exact, arguments exact: step 2: transfer was called with other arguments",
        "  than expected",
        "     expected                             actual",
        '   1 login                                login(user="u")',
        ">  2 transfer(amount=7)                   transfer(amount=5)",
        "   3 logout                               logout()",
        "amount: expected 7, was 5 (different)",
        'before it, step 1, login: {"ok": true}',
        "calls: 2 matched, 1 with other arguments",
    ] == lines


def test_what_was_left_out_has_a_row_of_its_own() -> None:
    lines = lines_of([call("a"), call("c", error="no\nrecord"), call("d")], ["a", "b", "c"])

    assert ">  - b                                    -" in lines
    assert "   2 c                                    c()" in lines
    assert "   3 -                                    d()" in lines


def test_a_failed_call_before_the_departure_tells_its_error() -> None:
    lines = lines_of(
        [call("login", error="wrong\n password"), call("transfer")], ["login", "close"]
    )

    assert "before it, step 1, login: failed: wrong password" in lines


def test_in_any_order_rows_follow_the_run_and_what_is_missing_comes_last() -> None:
    lines = lines_of(
        [call("b"), call("x"), call("a", n=1)], ["a", "b", ("c", {})], match="any_order"
    )

    assert [
        "   1 b                                    b()",
        ">  2 (c())                                x()",
        "   3 a                                    a(n=1)",
        "   - c()                                  -",
    ] == lines[2:6]


def test_zero_calls_are_said_aloud() -> None:
    lines = lines_of([], ["a"])

    assert "match exact, arguments exact: step 1: no tool was called; a was expected" == lines[0]
    assert "calls: 1 missing" == lines[-1]


@pytest.mark.parametrize(
    ("further", "told"),
    [
        pytest.param(1, "1 more argument differs", id="one more"),
        pytest.param(3, "3 more arguments differ", id="three more"),
    ],
)
def test_only_two_differences_are_told_one_by_one(further: int, told: str) -> None:
    names = "abcdef"[: 2 + further]

    lines = lines_of([call("x", **dict.fromkeys(names, 1))], [("x", {})])

    assert "a: unexpected, was 1" in lines
    assert told in lines


def test_a_missing_argument_is_told_with_what_was_expected() -> None:
    assert 'b: missing, expected "B"' in lines_of([call("x")], [("x", {"b": "B"})])


def test_arguments_that_are_no_object_are_told_as_a_whole() -> None:
    odd = ToolCall(name="x", arguments="junk")

    lines = lines_of([odd], [("x", {})])

    assert 'arguments: expected {}, was "junk" (text instead of an object)' in lines


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        pytest.param({"a": 1, "b": "x"}, 'f(a=1, b="x")', id="object"),
        pytest.param({}, "f()", id="no arguments"),
        pytest.param(["x"], 'f(["x"])', id="list"),
        pytest.param(None, "f", id="not told"),
    ],
)
def test_a_call_is_written_as_in_code(arguments: Any, text: str) -> None:
    assert text == call_text("f", arguments)


def test_long_trajectories_show_the_rows_around_the_departure() -> None:
    calls = [call("a", step=step) for step in range(40)]
    expected: list[Any] = ["a"] * 20 + ["b"] + ["a"] * 20

    lines = lines_of(calls, expected)

    assert 2 == lines.count("     ...")
    assert any(line.startswith(">  - b") for line in lines)


CALLS = st.lists(
    st.builds(
        call,
        st.sampled_from(["a", "b", "a_tool_with_a_long_name" * 4]),
        st.sampled_from([None, {"x": "y" * 200}, "two\nlines"]),
        st.sampled_from([None, "error " * 40]),
        x=st.integers(1, 3),
        y=st.text("é\n", max_size=60),
    ),
    max_size=20,
)


@settings(max_examples=120, deadline=None)
@given(
    actual=CALLS, expected=CALLS, match=st.sampled_from(MATCHES), width=st.sampled_from([60, 80])
)
def test_any_departure_fits_in_fifteen_narrow_lines(
    actual: list[ToolCall], expected: list[ToolCall], match: MatchMode, width: int
) -> None:
    lines = lines_of(actual, [(one.name, one.arguments) for one in expected], width, match=match)

    assert 15 >= len(lines)
    assert all(len(line) <= width and "\n" not in line for line in lines)
    assert (1 if lines else 0) == sum(line.startswith(">") for line in lines)


# Rules


def result(rule: str, state: RuleState, **rest: Any) -> RuleResult:
    fields: dict[str, Any] = {"clause": "", "severity": Severity.SHOULD, "why": "because", **rest}
    return RuleResult(id=rule, kind=DemandKind.BEFORE, state=state, **fields)


def test_broken_rules_come_first_and_those_that_do_not_apply_are_left_out() -> None:
    lines = rule_lines(
        [
            result("a", RuleState.HELD, clause="4.2"),
            result("b", RuleState.NOT_EXERCISED),
            result("c", RuleState.BROKEN),
            result("d", RuleState.BROKEN, severity=Severity.MUST, why="x" * 99),
            result("e", RuleState.NOT_EXERCISED, applies=False),
        ],
        width=40,
    )

    assert [
        "d (must) broken: xxxxxxxxxxxxxxxxxxxx...",
        "c (should) broken: because",
        "a (clause 4.2, should) held: because",
        "b (should) not exercised: because",
    ] == lines


def test_the_summary_of_rules_names_those_that_no_task_exercised() -> None:
    lines = rule_summary_lines(
        [
            RuleTally(id="siu", clause="6.1", severity=Severity.MUST, exercised=41, held=37),
            RuleTally(id="idle"),
            RuleTally(id="late"),
        ]
    )

    assert ["siu (clause 6.1, must) 37 of 41", "not exercised by any task: idle, late"] == lines


def test_where_every_rule_was_exercised_none_is_named_as_idle() -> None:
    assert ["a (should) 1 of 1"] == rule_summary_lines([RuleTally(id="a", exercised=1, held=1)])
