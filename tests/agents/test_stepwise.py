"""The stepwise agent without a provider: what each step is told, where it goes on, who approves."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from pytest_sopbench import ApprovalDecision, split_sop
from pytest_sopbench.agents import Message, Reply, Stepwise, StopReason, ToolRequest
from pytest_sopbench.errors import AgentSpecError
from tests.builders.running import AgentCaller, deny_all

ANSWER = '<final_output>{"hazard_class": "Hazard Class B"}</final_output>'
SOP = """# Goods

Be quick.

## 1. Look
Look at it.

## 2. Pay
[APPROVAL REQUIRED] Pay for it.

## 3. Send
[PRE-APPROVAL REQUIRED] Send it, or go back to step 1.

## Annex
Stamps are blue.
"""


def asking(*requests: ToolRequest, text: str = "") -> Reply:
    message = Message(role="assistant", text=text, requests=requests)
    return Reply(message=message, stop=StopReason.TOOL_REQUESTS)


def completing(summary: str = "done", text: str = "", **more: object) -> Reply:
    given = {"summary": summary, **more}
    return asking(ToolRequest(id="c", name="complete_step", arguments=given), text=text)


def sds(task: Any, **changes: Any) -> ToolRequest:
    names = ("product_id", "sds_label_text")
    arguments = {name: task.inputs[name] for name in names} | changes
    return ToolRequest(id="1", name="calculate_sds_label_score", arguments=arguments)


@pytest.fixture
def post(desk: Any) -> Any:
    """A desk whose SOP has three steps, of which two need an approval."""
    return replace(desk, domain=replace(desk.domain, sop=SOP, contract=None, expected_calls={}))


def steps_of(client: Any) -> list[str]:
    """Which step each request was about, in a row once."""
    found: list[str] = []
    for request in client.asked:
        text = request.messages[1].text
        step = text.partition('<step number="')[2].partition('"')[0] or "answer"
        if not found or found[-1] != step or len(request.messages) == 2:
            found.append(step)
    return found


def test_each_step_is_told_of_itself_and_of_what_holds_for_all(post: Any, scripted: Any) -> None:
    client = scripted(completing("it is red"), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    first, second = client.asked[0].messages, client.asked[1].messages
    assert "correct" == ran.verdict.outcome.value
    assert first[0] == second[0]
    assert "Be quick." in first[0].text
    assert "Stamps are blue." in first[0].text
    assert "Look at it." in first[1].text
    assert "Pay for it." not in first[1].text
    assert "Step 1, Look: it is red" in second[1].text
    assert "Look at it." not in second[1].text
    assert ["1", "2", "3", "answer"] == steps_of(client)


def test_calls_of_earlier_steps_are_told_with_their_results(
    post: Any, scripted: Any, goods: Any
) -> None:
    client = scripted(asking(sds(goods.tasks[0])), completing(), completing(), completing(), ANSWER)

    post.run(Stepwise(client=client))

    told = client.asked[2].messages[1].text
    assert '"name": "calculate_sds_label_score"' in told
    assert '"result": {"sds_label_score": 1}' in told


def test_an_answer_of_a_step_may_be_taken_back_when_it_is_asked_for(
    post: Any, scripted: Any
) -> None:
    early = replace(completing(), message=replace(completing().message, text=ANSWER))
    replies = (early, completing(), completing())

    kept = post.run(Stepwise(client=scripted(*replies, "It is done.", "It is done.")))
    taken_back = post.run(Stepwise(client=scripted(*replies, "It is Class C.", "Disregard that.")))

    assert "correct" == kept.verdict.outcome.value
    assert "no_answer" == taken_back.verdict.outcome.value


def test_a_step_that_is_completed_once_too_often_is_no_call(post: Any, scripted: Any) -> None:
    client = scripted(*[completing()] * 4, ANSWER)

    ran = post.run(Stepwise(client=client))

    assert ((), "correct") == (ran.trace.calls, ran.verdict.outcome.value)


def test_the_agents_own_tool_is_no_call_of_the_domain(post: Any, scripted: Any, goods: Any) -> None:
    client = scripted(asking(sds(goods.tasks[0])), completing(), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    assert ["calculate_sds_label_score"] == [call.name for call in ran.trace.calls]
    assert ("steps: 1 > 2 > 3",) == ran.trace.notes
    told = [one["tool_calls"][0]["name"] for one in ran.trace.messages if "tool_calls" in one]
    assert ["calculate_sds_label_score", *["complete_step"] * 3] == told


def test_a_jump_is_followed_and_the_end_is_one(post: Any, scripted: Any) -> None:
    replies = [completing(next="3"), completing(next="Step 1"), completing(next="answer"), ANSWER]
    client = scripted(*replies)

    ran = post.run(Stepwise(client=client))

    assert ["1", "3", "1", "answer"] == steps_of(client)
    assert ("steps: 1 > 3 > 1",) == ran.trace.notes


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param(
            completing(next="7"), "there is no step '7'; the steps are 1, 2, 3", id="step"
        ),
        pytest.param(completing(" "), "the summary is missing", id="summary"),
        pytest.param(
            asking(ToolRequest(id="c", name="complete_step", arguments="{")),
            "must be one JSON object",
            id="malformed",
        ),
        pytest.param(
            asking(*completing().message.requests, *completing().message.requests),
            "call it alone",
            id="twice",
        ),
    ],
)
def test_a_completion_that_is_none_is_explained_back(
    post: Any, scripted: Any, reply: Reply, told: str
) -> None:
    client = scripted(reply, completing(), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    results = client.asked[1].messages[-1].results
    assert all(one.failed and told in one.content["error"] for one in results)
    assert len(reply.message.requests) == len(results)
    assert ("correct", ()) == (ran.verdict.outcome.value, ran.trace.calls)


def test_a_step_is_not_complete_before_the_results_are_seen(
    post: Any, scripted: Any, goods: Any
) -> None:
    both = asking(*completing().message.requests, sds(goods.tasks[0]))
    client = scripted(both, completing(), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    own, other = client.asked[1].messages[-1].results
    assert (True, False) == (own.failed, other.failed)
    assert "1" == steps_of(client)[0]
    assert 1 == len(ran.trace.calls)


def test_a_model_that_calls_nothing_is_reminded_once(post: Any, scripted: Any) -> None:
    client = scripted("Hm.", completing(), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    assert "Step 1 is not completed." in client.asked[1].messages[-1].text
    assert "reminded in step 1 to complete it" in ran.trace.notes
    assert "correct" == ran.verdict.outcome.value


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("Hm.", "step 1 was not completed: no tool and no complete_step", id="text"),
        pytest.param("", "empty reply", id="empty"),
        pytest.param(
            Reply(message=Message(role="assistant", text="Hm"), stop=StopReason.LENGTH),
            "cut off",
            id="cut-off",
        ),
        pytest.param(
            Reply(message=Message(role="assistant"), stop=StopReason.REFUSAL, refusal="no"),
            "refusal: no",
            id="refusal",
        ),
    ],
)
def test_a_step_that_is_not_completed_ends_the_run(
    post: Any, scripted: Any, reply: Reply | str, reason: str
) -> None:
    ran = post.run(Stepwise(client=scripted(completing(), reply)))

    expected = reason.replace("step 1", "step 2")
    assert "error" == ran.verdict.outcome.value
    assert expected in ran.verdict.reason


def test_an_answer_beside_a_step_counts_where_none_follows(post: Any, scripted: Any) -> None:
    client = scripted(completing(text=ANSWER), completing(), completing(), "I am done.")

    ran = post.run(Stepwise(client=client))

    assert "correct" == ran.verdict.outcome.value
    assert ["1", "2", "3", "answer"] == steps_of(client)


def test_an_answer_at_the_end_wins_over_an_earlier_one(post: Any, scripted: Any) -> None:
    early = ANSWER.replace("Class B", "Class D")
    client = scripted(completing(text=early), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    assert "correct" == ran.verdict.outcome.value


def test_an_answer_in_place_of_a_completion_is_asked_for_the_step_and_then_taken(
    post: Any, scripted: Any
) -> None:
    ran = post.run(Stepwise(client=scripted(completing(), ANSWER)))

    assert "correct" == ran.verdict.outcome.value
    assert "the answer was given in step 2, which was not completed" in ran.trace.notes
    assert ["2"] == [approval.step for approval in ran.trace.approvals]


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_endless_steps_are_a_call_limit(post: Any, scripted: Any, turns: int) -> None:
    client = scripted(completing(next="1", text=ANSWER))

    ran = post.run(Stepwise(client=client, max_turns=turns))

    assert "call_limit" == ran.verdict.outcome.value
    assert f"passed its limit of {turns} turns in step 1, after {turns} step" in ran.verdict.reason
    assert turns == len(client.asked)


def test_without_a_turn_for_the_answer_it_is_a_call_limit(post: Any, scripted: Any) -> None:
    ran = post.run(Stepwise(client=scripted(completing(text=ANSWER)), max_turns=3))

    assert "call_limit" == ran.verdict.outcome.value
    assert "passed its limit of 3 turns before the answer" == ran.verdict.reason


def test_a_model_that_goes_round_in_a_circle_is_told(post: Any, scripted: Any, goods: Any) -> None:
    same = asking(sds(goods.tasks[0]))
    client = scripted(same, same, same, completing(), completing(), completing(), ANSWER)

    ran = post.run(Stepwise(client=client))

    assert "exactly this call 3 times" in client.asked[3].messages[-1].text
    assert any("again and again" in note for note in ran.trace.notes)


def test_approvals_are_asked_for_before_and_after_and_recorded(post: Any, scripted: Any) -> None:
    asked: list[Any] = []

    def approver(request: Any) -> ApprovalDecision:
        asked.append(request)
        return ApprovalDecision(approved=True, by="the lead")

    client = scripted(completing("seen"), completing("paid"), completing("sent"), ANSWER)

    ran = post.run(Stepwise(client=client), approver=approver)

    assert [("2", "after", "paid"), ("3", "before", "paid")] == [
        (one.step, one.moment, one.summary) for one in asked
    ]
    assert [("2", True), ("3", True)] == [(one.step, one.granted) for one in ran.trace.approvals]
    assert "correct" == ran.verdict.outcome.value


@pytest.mark.parametrize(
    ("denied", "reason", "steps"),
    [
        pytest.param("2", "approval denied after step 2 by the lead: no", ["1", "2"], id="after"),
        pytest.param("3", "approval denied before step 3 by the lead: no", ["1", "2"], id="before"),
    ],
)
def test_a_denial_ends_the_run_and_is_no_success(
    post: Any, scripted: Any, denied: str, reason: str, steps: list[str]
) -> None:
    def approver(request: Any) -> ApprovalDecision:
        approved = request.step != denied
        return ApprovalDecision(approved=approved, by="the lead", reason="" if approved else "no")

    client = scripted(completing(text=ANSWER))

    ran = post.run(Stepwise(client=client), approver=approver)

    assert "error" == ran.verdict.outcome.value
    assert reason in ran.verdict.reason
    assert steps == steps_of(client)
    assert denied == ran.trace.approvals[-1].step
    assert not ran.trace.approvals[-1].granted


def test_async_code_runs_it_as_well(post: Any, scripted: Any, goods: Any) -> None:
    task = goods.tasks[0]
    client = scripted(asking(sds(task), sds(task)), completing())
    toolbox = post.factory.open(task, max_calls=9, clock=lambda: 0.0)

    made: Any = AgentCaller(Stepwise(client=client).aexecute).asking(deny_all)
    made = made.call(post.domain, task, toolbox.tools)
    returned = asyncio.run(made)

    assert "approval denied after step 2 by deny: every approval is denied" == returned["error"]
    assert [1, 0] == [call.overlaps for call in toolbox.log.calls]
    assert [False] == [one.granted for one in toolbox.told.approvals]


def test_an_sop_without_steps_is_refused_with_the_command_that_helps(
    desk: Any, scripted: Any
) -> None:
    domain = replace(desk.domain, sop="Be kind.")

    ran = replace(desk, domain=domain).run(Stepwise(client=scripted(ANSWER)))

    assert "error" == ran.verdict.outcome.value
    assert "the SOP shows no steps: no numbered headings" in ran.trace.problem.message
    assert "sopbench list DOMAIN --steps --propose" in ran.trace.problem.message


def test_a_tool_of_the_same_name_is_refused(goods: Any, scripted: Any) -> None:
    class Tools:
        def json_schema(self) -> Any:
            return [{"name": "complete_step", "description": "", "parameters": {}}]

    agent: Any = Stepwise(client=scripted(ANSWER))

    with pytest.raises(AgentSpecError, match="has a tool 'complete_step'"):
        agent.execute(SOP, {}, Tools(), {}, split_sop(SOP), None)
