"""A user's own tests, and what they read of a saved session."""

from __future__ import annotations

import pytest

from pytest_sopbench import (
    Call,
    Domain,
    Outcome,
    Run,
    Task,
    Tools,
    Trajectory,
    load_session,
    match_trajectory,
)


@pytest.mark.sop(domain="returns", answer="ignored")
def test_an_order_is_looked_up_once(sop_run: Run, sop_task: Task, sop_domain: Domain) -> None:
    sop_run.assert_correct()
    sop_run.assert_called("get_order", times=1, arguments={"order_id": sop_task.id})
    sop_run.assert_not_called("refund")
    assert sop_domain.name == "returns"
    assert [call.name for call in sop_run.trajectory] == ["get_order"]


def test_the_tools_answer(sop_tools: Tools, sop_task: Task) -> None:
    assert sop_tools.call("get_order", order_id=sop_task.inputs["order_id"]) is not None


def test_the_last_session_has_runs() -> None:
    session = load_session("last")
    outcomes = [run.outcome for run in session.records]
    assert Outcome.CRASH not in outcomes


def test_a_trajectory_matches_itself() -> None:
    calls = Trajectory(calls=(Call(name="get_order", arguments={"order_id": "R-1"}),))

    match = match_trajectory(calls, [("get_order", {"order_id": "R-1"})])

    assert match.held
