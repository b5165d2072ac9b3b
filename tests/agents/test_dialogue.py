"""The loop without a provider: a client that says what it is told to, and a real toolbox."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_sopbench.agents import (
    FunctionCalling,
    Message,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
)
from pytest_sopbench.errors import TurnLimitError

ANSWER = '<final_output>{"hazard_class": "Hazard Class B"}</final_output>'


def asking(*requests: ToolRequest, text: str = "") -> Reply:
    return Reply(
        message=Message(role="assistant", text=text, requests=requests),
        stop=StopReason.TOOL_REQUESTS,
    )


def sds(task: Any, **changes: Any) -> ToolRequest:
    names = ("product_id", "sds_label_text")
    arguments = {name: task.inputs[name] for name in names} | changes
    return ToolRequest(id="1", name="calculate_sds_label_score", arguments=arguments)


def ending(text: str, stop: StopReason, **more: Any) -> Reply:
    return Reply(message=Message(role="assistant", text=text), stop=stop, **more)


def test_an_answer_at_once_is_the_answer(desk: Any, scripted: Any) -> None:
    ran = desk.run(FunctionCalling(client=scripted(ANSWER)))

    assert ("correct", ()) == (ran.verdict.outcome.value, ran.trace.calls)


def test_a_call_is_made_and_its_result_goes_back(desk: Any, scripted: Any, goods: Any) -> None:
    client = scripted(asking(sds(goods.tasks[0])), ANSWER)

    ran = desk.run(FunctionCalling(client=client))

    assert [("calculate_sds_label_score", None)] == [
        (call.name, call.error) for call in ran.trace.calls
    ]
    (result,) = client.last.results
    assert ({"sds_label_score": 1}, False) == (result.content, result.failed)


def test_calls_of_one_reply_are_all_made_and_overlap(desk: Any, scripted: Any, goods: Any) -> None:
    """A model that asks for two calls at once has seen the result of neither."""
    client = scripted(asking(sds(goods.tasks[0]), sds(goods.tasks[0])), ANSWER)

    ran = desk.run(FunctionCalling(client=client))

    assert [1, 0] == [call.overlaps for call in ran.trace.calls]
    assert 2 == len(client.last.results)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        pytest.param("look_it_up", {}, "there is no tool 'look_it_up'", id="unknown-tool"),
        pytest.param("record_class", '{"a": ', "arguments are not JSON", id="malformed"),
        pytest.param("record_class", "[1]", "one JSON object", id="no-object"),
    ],
)
@pytest.mark.parametrize("count", [1, 2], ids=["alone", "beside-another"])
def test_a_bad_call_is_recorded_and_its_error_goes_back(
    desk: Any, scripted: Any, name: str, arguments: object, told: str, count: int
) -> None:
    requests = [ToolRequest(id=str(n), name=name, arguments=arguments) for n in range(count)]
    client = scripted(asking(*requests), ANSWER)

    ran = desk.run(FunctionCalling(client=client))

    assert [True] * count == [call.bad for call in ran.trace.calls]
    assert all(result.failed for result in client.last.results)
    assert told in client.last.results[0].content["error"]
    assert "correct" == ran.verdict.outcome.value


def test_bad_arguments_come_back_as_the_tools_own_error(
    desk: Any, scripted: Any, goods: Any
) -> None:
    client = scripted(asking(sds(goods.tasks[0], product_id="P_00000")), ANSWER)

    desk.run(FunctionCalling(client=client))

    (result,) = client.last.results
    assert result.failed
    assert "P_00000" in result.content["error"]


def test_the_limit_of_turns_is_the_outcome_call_limit(desk: Any, scripted: Any, goods: Any) -> None:
    client = scripted(asking(sds(goods.tasks[0])))

    ran = desk.run(FunctionCalling(client=client, max_turns=3))

    assert "call_limit" == ran.verdict.outcome.value
    assert "passed its limit of 3 turns without an answer" == ran.verdict.reason
    assert 3 == len(client.asked)


def test_an_answer_at_the_limit_of_turns_is_no_success(
    desk: Any, scripted: Any, goods: Any
) -> None:
    client = scripted(asking(sds(goods.tasks[0]), text=ANSWER))

    ran = desk.run(FunctionCalling(client=client, max_turns=2))

    assert "call_limit" == ran.verdict.outcome.value


@pytest.mark.parametrize("count", [1, 2], ids=["alone", "beside-another"])
def test_past_the_limit_of_calls_the_model_is_asked_no_more(
    desk: Any, scripted: Any, goods: Any, count: int
) -> None:
    client = scripted(asking(*[sds(goods.tasks[0])] * count))

    ran = desk.run(FunctionCalling(client=client), max_calls=2)

    assert "call_limit" == ran.verdict.outcome.value
    assert "passed its limit of tool calls, after 3" == ran.verdict.reason
    assert (3 if count == 1 else 2) == len(client.asked)


def test_an_answer_beside_a_call_is_not_lost(desk: Any, scripted: Any, goods: Any) -> None:
    client = scripted(asking(sds(goods.tasks[0]), text=ANSWER), "That is all.")

    ran = desk.run(FunctionCalling(client=client))

    assert "correct" == ran.verdict.outcome.value
    assert 1 == len(ran.trace.calls)


def test_a_later_answer_stands_for_one_beside_a_call(desk: Any, scripted: Any, goods: Any) -> None:
    early = ANSWER.replace("Class B", "Class A")
    client = scripted(asking(sds(goods.tasks[0]), text=early), ANSWER)

    assert "correct" == desk.run(FunctionCalling(client=client)).verdict.outcome.value


def test_without_an_answer_it_is_asked_for_once_by_the_fields(desk: Any, scripted: Any) -> None:
    client = scripted("I am done.", ANSWER)

    ran = desk.run(FunctionCalling(client=client))

    assert "correct" == ran.verdict.outcome.value
    assert "hazard_class" in client.last.text
    assert ("asked once more for the answer: the reply had no answer",) == ran.trace.notes


def test_it_is_asked_for_no_more_than_once(desk: Any, scripted: Any) -> None:
    client = scripted("I am done.")

    ran = desk.run(FunctionCalling(client=client))

    assert ("no_answer", 2) == (ran.verdict.outcome.value, len(client.asked))


CUT = '<final_output>{"hazard_class": "Haz'


@pytest.mark.parametrize(
    ("reply", "reason", "asked"),
    [
        pytest.param(
            ending("No.", StopReason.REFUSAL, refusal="I must not."),
            "refusal: I must not.",
            1,
            id="refusal",
        ),
        pytest.param(ending("", StopReason.CONTENT_FILTER), "content filter", 1, id="filter"),
        pytest.param(ending("The cl", StopReason.LENGTH), "cut off", 2, id="length"),
        pytest.param(ending(CUT, StopReason.LENGTH), "cut off", 2, id="length in its mark"),
        pytest.param(ending("", StopReason.END), "empty reply", 2, id="empty"),
    ],
)
def test_each_kind_of_silence_has_its_reason(
    desk: Any, scripted: Any, reply: Reply, reason: str, asked: int
) -> None:
    client = scripted(reply)

    ran = desk.run(FunctionCalling(client=client))

    assert "error" == ran.verdict.outcome.value
    assert reason in ran.verdict.reason
    assert asked == len(client.asked)


def test_a_reply_that_is_cut_off_behind_its_answer_has_one(desk: Any, scripted: Any) -> None:
    client = scripted(ending(f"{ANSWER} And now", StopReason.LENGTH))

    assert "correct" == desk.run(FunctionCalling(client=client)).verdict.outcome.value


@pytest.mark.parametrize(
    "later", ["Disregard my earlier answer.", "So it is Hazard Class C after all.", f"{CUT}"]
)
def test_an_answer_beside_a_call_may_be_taken_back_later(
    desk: Any, scripted: Any, goods: Any, later: str
) -> None:
    client = scripted(asking(sds(goods.tasks[0]), text=ANSWER), later)

    assert "no_answer" == desk.run(FunctionCalling(client=client)).verdict.outcome.value


def test_an_answer_beside_a_call_counts_if_none_follows(
    desk: Any, scripted: Any, goods: Any
) -> None:
    client = scripted(asking(sds(goods.tasks[0]), text=ANSWER), "The case is closed.")

    assert "correct" == desk.run(FunctionCalling(client=client)).verdict.outcome.value


def test_an_empty_reply_is_not_sent_back(desk: Any, scripted: Any) -> None:
    """Some providers refuse a conversation that holds one."""
    client = scripted(ending("", StopReason.END), ANSWER)

    desk.run(FunctionCalling(client=client))

    assert ["system", "user", "user"] == [one.role for one in client.asked[-1].messages]
    assert "was empty" in client.last.text


def test_the_same_call_again_and_again_is_noticed(desk: Any, scripted: Any, goods: Any) -> None:
    same = asking(sds(goods.tasks[0]))
    client = scripted(same, same, same, ANSWER)

    ran = desk.run(FunctionCalling(client=client))

    assert "exactly this call 3 times" in client.last.text
    assert 1 == sum("again and again" in note for note in ran.trace.notes)


def test_other_arguments_are_no_repetition(desk: Any, scripted: Any, goods: Any) -> None:
    calls = [asking(sds(goods.tasks[0], product_id=f"P_0000{n}")) for n in range(4)]

    ran = desk.run(FunctionCalling(client=scripted(*calls, ANSWER)))

    assert () == ran.trace.notes


def test_usage_is_told_for_each_reply(desk: Any, scripted: Any, goods: Any) -> None:
    usage = ModelUsage(input_tokens=10, cached_tokens=4, output_tokens=3, reasoning_tokens=1)
    reply = asking(sds(goods.tasks[0]))
    replies = [Reply(message=reply.message, stop=reply.stop, usage=usage), ANSWER]

    ran = desk.run(FunctionCalling(client=scripted(*replies)))

    told = ran.trace.usage
    assert (10, 3, 2) == (told.input_tokens, told.output_tokens, told.model_calls)
    assert (4, None, 1) == (told.cached_tokens, told.cache_write_tokens, told.reasoning_tokens)


def test_usage_that_no_reply_tells_stays_unknown(desk: Any, scripted: Any) -> None:
    ran = desk.run(FunctionCalling(client=scripted(ANSWER)))

    assert (None, 1) == (ran.trace.usage.input_tokens, ran.trace.usage.model_calls)


def test_every_message_stands_in_the_trace_once(desk: Any, scripted: Any, goods: Any) -> None:
    ran = desk.run(FunctionCalling(client=scripted(asking(sds(goods.tasks[0])), ANSWER)))

    roles = [message["role"] for message in ran.trace.messages]
    assert ["system", "user", "assistant", "tool", "assistant"] == roles


def test_it_runs_on_an_event_loop_as_well(desk: Any, scripted: Any, goods: Any) -> None:
    requests = asking(sds(goods.tasks[0]), sds(goods.tasks[0]))
    broken = asking(ToolRequest(id="2", name="record_class", arguments="{"))
    agent = FunctionCalling(client=scripted(requests, broken, ANSWER))

    ran = desk.run(agent.aexecute)

    assert "correct" == ran.verdict.outcome.value
    assert [1, 0, 0] == [call.overlaps for call in ran.trace.calls]


def test_a_limit_of_turns_holds_on_an_event_loop(desk: Any, scripted: Any, goods: Any) -> None:
    agent = FunctionCalling(client=scripted(asking(sds(goods.tasks[0]))), max_turns=2)

    assert "call_limit" == desk.run(agent.aexecute).verdict.outcome.value


def test_an_agent_may_be_called_without_a_session(scripted: Any) -> None:
    class Tools:
        def json_schema(self) -> list[Any]:
            return []

        def report(self, **told: Any) -> None: ...

    agent = FunctionCalling(client=scripted("nothing"), max_turns=1)

    with pytest.raises(TurnLimitError, match="1 turns"):
        agent.execute("the SOP", {"a": 1}, Tools(), {"x": "text"})
    with pytest.raises(TurnLimitError, match="1 turns"):
        asyncio.run(agent.aexecute("the SOP", {"a": 1}, Tools(), {"x": "text"}))
