"""Only a right run that keeps its contract may be approved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, ToolCall, Trace
from pytest_sopbench._core.model.trajectory import Call, Trajectory
from pytest_sopbench._core.records.lines import from_line, to_line
from pytest_sopbench._core.records.reconstruct import (
    CUT,
    record_refusal,
    recorded_trajectory,
    refusal,
    trace_of,
)
from pytest_sopbench._core.records.record import CallRecord, RunRecord, record_of
from pytest_sopbench._core.verdict import Outcome, Verdict

HELD = RuleState.HELD


def rule(name: str, state: RuleState) -> RuleResult:
    return RuleResult(
        id=name,
        clause="",
        severity="should",  # type: ignore[arg-type]  # its word is enough
        kind=DemandKind.FORBIDS,
        state=state,
        why="",
        applies=True,
    )


@pytest.mark.parametrize(
    ("outcome", "rules", "why"),
    [
        pytest.param(Outcome.CORRECT, [], "", id="right, without contract"),
        pytest.param(Outcome.CORRECT, [rule("a", HELD)], "", id="right, and it holds"),
        pytest.param(
            Outcome.CORRECT,
            [rule("a", RuleState.BROKEN), rule("b", HELD), rule("c", RuleState.BROKEN)],
            "breaks a, c",
            id="right, and it does not hold",
        ),
        pytest.param(Outcome.WRONG, [], "wrong", id="wrong"),
        pytest.param(Outcome.NO_ANSWER, [], "no answer", id="no answer"),
        pytest.param(Outcome.TIMEOUT, [rule("a", RuleState.BROKEN)], "timeout", id="both"),
    ],
)
def test_a_refusal_says_why(outcome: Outcome, rules: Sequence[RuleResult], why: str) -> None:
    assert why == refusal(outcome, rules)


def recorded(arguments: Any) -> RunRecord:
    task = Task(domain="d", id="t", line=2, inputs={}, expected={}, results={}, hash="")
    calls = (ToolCall(name="a", arguments=arguments), ToolCall(name="b", arguments={}))
    trace = Trace(ending=Ending.RETURNED, calls=calls)
    return record_of(JudgingRules(fields=()), task, trace, Verdict(outcome=Outcome.CORRECT))


def test_arguments_that_a_record_had_to_cut_cannot_be_approved_from_it() -> None:
    assert record_refusal(recorded({"text": "x" * 3_000})) == CUT


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"text": "x"}, id="short"),
        pytest.param({"sha256": "x", "characters": 1}, id="names of a cut one"),
        pytest.param({"sha256": 1, "characters": 1}, id="a number as hash"),
        pytest.param("text", id="no object"),
    ],
)
def test_arguments_in_full_can(arguments: Any) -> None:
    record = recorded(arguments)

    assert record_refusal(record) == ""
    assert Call(name="a", arguments=arguments) == recorded_trajectory(record)[0]


def test_a_recorded_run_that_is_wrong_is_refused_for_that() -> None:
    record = RunRecord(domain="d", task="t", outcome=Outcome.WRONG, calls=())

    assert record_refusal(record) == "wrong"


def test_the_recorded_trajectory_is_that_of_the_calls() -> None:
    calls = (CallRecord(name="a", arguments={"x": 1}), CallRecord(name="b", arguments={}))
    record = RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls)

    expected = Trajectory(calls=(Call(name="a", arguments={"x": 1}), Call(name="b", arguments={})))
    assert expected == recorded_trajectory(record)


def test_what_overlapped_is_in_the_line_of_a_run_and_nothing_is_where_nothing_did() -> None:
    calls = (CallRecord(name="a", arguments={}, overlaps=1), CallRecord(name="b", arguments={}))
    record = RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls)

    line = to_line(record)

    assert 1 == line.count('"overlaps"')
    assert record == from_line(line)
    assert [1, 0] == [call.overlaps for call in recorded_trajectory(from_line(line))]
    assert [1, 0] == [call.overlaps for call in trace_of(from_line(line)).calls]


def test_a_line_of_before_has_calls_one_after_the_other() -> None:
    calls = (CallRecord(name="a", arguments={}, overlaps=1), CallRecord(name="b", arguments={}))
    line = to_line(RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls))

    read = from_line(line.replace(',"overlaps":1', ""))

    assert [0, 0] == [call.overlaps for call in read.calls]
