"""What an agent is given to ask for approvals, and what a run keeps of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench import ApprovalDecision, ApprovalRequest
from pytest_sopbench._core.steps.approving import deny_all
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench.errors import AgentSpecError


@pytest.fixture
def ask(bench: Any) -> Callable[..., Any]:
    """Have an agent ask once; return what it was told, and what the run has kept."""

    def asked(*approver: Callable[[ApprovalRequest], Any]) -> Any:
        def agent(approver: Any) -> Any:
            return approver("7", title="Pay", moment="before", summary="500 pounds")

        toolbox = bench.toolbox()
        caller = AgentCaller(agent)
        for one in approver:
            caller = caller.asking(one)
        decision = caller.call(bench.domain(), bench.task(), toolbox.tools)
        return decision, toolbox.approvals

    return asked


def test_where_nobody_is_named_everything_is_approved_and_recorded(ask: Any) -> None:
    decision, (kept,) = ask()

    assert decision
    assert ("7", "auto", True, "") == (kept.step, kept.by, kept.granted, kept.reason)


def test_a_denial_is_recorded_as_one(ask: Any) -> None:
    decision, (kept,) = ask(deny_all)

    assert not decision
    assert ("deny", False, "every approval is denied") == (kept.by, kept.granted, kept.reason)


def test_the_users_approver_sees_what_is_asked_and_decides(ask: Any) -> None:
    seen: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> ApprovalDecision:
        seen.append(request)
        return ApprovalDecision(approved=False, by="the lead", reason="too dear")

    decision, (kept,) = ask(approver)

    assert "too dear" == decision.reason
    assert ("the lead", False, "too dear") == (kept.by, kept.granted, kept.reason)
    assert [
        ApprovalRequest(
            step="7",
            title="Pay",
            moment="before",
            summary="500 pounds",
            domain="parcels",
            task_id="PX1",
        )
    ] == seen


@pytest.mark.parametrize("answer", [True, False])
def test_a_truth_value_is_a_decision(ask: Any, answer: bool) -> None:
    decision, (kept,) = ask(lambda _: answer)

    assert answer is decision.approved is kept.granted
    assert "sop_approver" == kept.by


@pytest.mark.parametrize("answer", [None, "yes", 1, object()], ids=["none", "text", "1", "object"])
def test_anything_else_approves_nothing(ask: Any, answer: object) -> None:
    with pytest.raises(AgentSpecError, match=r"returned a value of type .*\nit must return True"):
        ask(lambda _: answer)


def test_an_agent_may_ask_for_the_steps_of_the_sop(bench: Any) -> None:
    sop = "In general.\n\n1. Weigh it.\n2. Send it.\n"

    def agent(steps: Any) -> Any:
        return steps.general, [(step.number, step.title) for step in steps.steps]

    told = AgentCaller(agent).call(bench.domain(sop=sop), bench.task(), bench.toolbox().tools)

    assert ("In general.", [("1", "Weigh it."), ("2", "Send it.")]) == told
