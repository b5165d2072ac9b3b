"""What real models write for an action is read, or explained back to them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench.agents import ReAct
from pytest_sopbench.agents.react import NO_ACTION, NO_NAME, read_actions

PLAIN = 'Thought: I look\nAction: look\nAction Input: {"id": "P 1"}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param('Action: look\nAction Input: {"id": "P 1"} as the SOP says', id="prose-after"),
        pytest.param('Action: look\nAction Input:\n```json\n{"id": "P 1"}\n```', id="fence"),
        pytest.param('**Action:** `look`\n**Action Input:** {"id": "P 1"}', id="markdown"),
        pytest.param('- Action: "look"\n- Action Input: {"id": "P 1"}', id="list"),
        pytest.param('action: look.\naction_input: {"id": "P 1"}', id="lower-case"),
        pytest.param("Action: look\nAction Input: {'id': 'P 1'}", id="python-dict"),
        pytest.param('Action: look({"id": "P 1"})', id="call"),
        pytest.param('Action: look\nAction Input: {\n  "id": "P 1"\n}\n', id="lines"),
        pytest.param('Action 1: look\nAction Input 1: {"id": "P 1"}', id="numbered"),
        pytest.param('Action: look\r\nAction Input: {"id": "P 1"}\r\n', id="carriage-returns"),
    ],
)
def test_an_action_is_read(text: str) -> None:
    (request,) = read_actions(text).requests

    assert ("look", {"id": "P 1"}) == (request.name, request.arguments)


def test_several_actions_of_a_turn_are_read_in_their_order() -> None:
    read = read_actions(f'{PLAIN}\nAction: send\nAction Input: {{"to": "x"}}')

    assert ["look", "send"] == [request.name for request in read.requests]


def test_an_invented_observation_and_all_behind_it_is_cut_off() -> None:
    read = read_actions(f'{PLAIN}\nObservation: {{"score": 1}}\nFinal Answer: B')

    assert (PLAIN, 1) == (read.message.text, len(read.requests))
    assert ("the model invented an observation, which was cut off",) == read.notes


@pytest.mark.parametrize(
    "begins",
    [
        ' Observation: {"score": 1}',
        '\n"Observation": {"score": 1}',
        "\nObservation (calculate): 1",
        "\nObservation of calculate: 1",
        "\n[Observation] 1",
        "\nObservation\uff1a 1",
        "\n### Observation\n1",
        "\n<observation>1</observation>",
    ],
)
def test_an_observation_is_cut_off_however_it_is_written(begins: str) -> None:
    read = read_actions(f"{PLAIN}{begins}\nFinal Answer: B")

    assert "Final Answer" not in read.message.text
    assert read_actions(PLAIN).requests == read.requests


def test_a_sentence_about_an_observation_stays() -> None:
    said = f"Thought: the last observation was short.\nObservations of this kind are rare.\n{PLAIN}"

    assert said == read_actions(said).message.text


def test_an_observation_that_was_only_begun_is_no_invention() -> None:
    assert () == read_actions(f"{PLAIN}\nObservation:").notes


def test_a_missing_input_is_none_where_the_tool_needs_none() -> None:
    assert {} == read_actions("Action: look", {"look"}).requests[0].arguments
    assert "" == read_actions("Action: look").requests[0].arguments


@pytest.mark.parametrize("told", ["{'id': }", '{"id": "P', "the id", "[1]"])
def test_an_input_that_cannot_be_read_stays_as_it_is(told: str) -> None:
    assert told == read_actions(f"Action: look\nAction Input: {told}").requests[0].arguments


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param('Action Input: {"a": 1}', NO_ACTION, id="no-action"),
        pytest.param("Action:\nAction Input: {}", NO_NAME, id="no-name"),
    ],
)
def test_what_is_no_action_is_explained(text: str, complaint: str) -> None:
    read = read_actions(text)

    assert ((), complaint) == (read.requests, read.complaint)


def test_a_text_that_speaks_of_actions_asks_for_none() -> None:
    read = read_actions("The action I took was right. Final Answer: B")

    assert ((), "") == (read.requests, read.complaint)


def test_what_a_call_is_given_is_no_answer(desk: Any, scripted: Any) -> None:
    """An argument may be called like an output field."""
    act = 'Action: record_class\nAction Input: {"hazard_class": "B"}'

    ran = desk.run(ReAct(client=scripted(act, "I am done.")))

    assert "no_answer" == ran.verdict.outcome.value


def test_an_answer_below_an_action_is_kept(desk: Any, scripted: Any) -> None:
    act = 'Action: record_class\nAction Input: {"hazard_class": "D"}'

    ran = desk.run(ReAct(client=scripted(f"{act}\n{ANSWER}", "That is all.")))

    assert ("correct", 1) == (ran.verdict.outcome.value, len(ran.trace.calls))


@given(st.text(alphabet=st.sampled_from("Action Input:Observat\n{}[]\"'`* 1,a")))
def test_any_text_is_read(text: str) -> None:
    read = read_actions(text)

    assert text.startswith(read.message.text)


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none(), max_size=3))
def test_any_arguments_come_through(arguments: dict[str, Any]) -> None:
    (request,) = read_actions(f"Action: look\nAction Input: {json.dumps(arguments)}").requests

    assert arguments == request.arguments


def action(task: Any) -> str:
    names = ("product_id", "sds_label_text")
    arguments = json.dumps({name: task.inputs[name] for name in names})
    return f"Action: calculate_sds_label_score\nAction Input: {arguments}"


ANSWER = 'Final Answer: <final_output>{"hazard_class": "Hazard Class B"}</final_output>'


def test_what_the_model_invented_is_neither_sent_back_nor_believed(
    desk: Any, scripted: Any, goods: Any
) -> None:
    act = action(goods.tasks[0])
    client = scripted(f"{act}\nObservation: 5\n{ANSWER.replace('Class B', 'Class D')}", ANSWER)

    ran = desk.run(ReAct(client=client))

    assert "correct" == ran.verdict.outcome.value
    assert act == client.asked[-1].messages[2].text
    assert 'Observation: {"sds_label_score": 1}' == client.last.text


def test_results_of_several_actions_are_told_apart(desk: Any, scripted: Any, goods: Any) -> None:
    act = action(goods.tasks[0])
    client = scripted(f"{act}\n{act}", ANSWER)

    desk.run(ReAct(client=client))

    assert 2 == client.last.text.count("Observation of calculate_sds_label_score: {")


def test_a_malformed_action_is_recorded_and_explained_back(desk: Any, scripted: Any) -> None:
    client = scripted('Action: record_class\nAction Input: {"a": ', ANSWER)

    ran = desk.run(ReAct(client=client))

    assert [True] == [call.bad for call in ran.trace.calls]
    assert "not JSON" in client.last.text


def test_a_complaint_goes_back_and_costs_no_call(desk: Any, scripted: Any) -> None:
    client = scripted("Action Input: {}", ANSWER)

    ran = desk.run(ReAct(client=client))

    assert ("correct", ()) == (ran.verdict.outcome.value, ran.trace.calls)
    assert NO_ACTION == client.last.text


def test_the_model_is_told_of_the_tools_in_text_only(desk: Any, scripted: Any) -> None:
    client = scripted(ANSWER)

    desk.run(ReAct(client=client))

    (request,) = client.asked
    assert ((), ("\nObservation:",)) == (request.tools, request.stop)
    assert '"sds_label_text": {"type": "string"' in request.messages[0].text
