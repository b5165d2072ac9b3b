"""A domain whose answer is a document gives its schema to the model, and no fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_sopbench.agents import FunctionCalling, ReAct
from pytest_sopbench.agents.conversation import Message, ModelRequest, Reply, StopReason
from pytest_sopbench.agents.dialogue import has_answer
from pytest_sopbench.agents.model_agent import BLOCKS, load_prompt

SCHEMA = {"type": "object", "properties": {"step": {"enum": ["4.1"]}}}
VALUES = {
    "sop": "4.1 Greet.",
    "inputs": {"said": "hello"},
    "tools": (),
    "output_fields": {},
    "output_schema": SCHEMA,
    "text": "x",
    "cut_off": False,
}


class Toolbox:
    """A toolbox without tools, of a domain with a schema."""

    def json_schema(self) -> Sequence[Mapping[str, Any]]:
        return ()

    def output_schema(self) -> Mapping[str, Any]:
        return SCHEMA

    def report(self, **_: object) -> None: ...


class Says:
    """A model client that says one text after the other, and keeps what it was asked."""

    def __init__(self, *texts: str) -> None:
        self.texts = [*texts]
        self.asked: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> Reply:
        self.asked.append(request)
        message = Message(role="assistant", text=self.texts.pop(0))
        return Reply(message=message, stop=StopReason.END)


@pytest.mark.parametrize("name", ["function_calling", "react"])
def test_the_prompt_holds_the_schema(name: str) -> None:
    prompt = load_prompt(name, blocks=BLOCKS)

    system, again = prompt.render("system", VALUES), prompt.render("again", VALUES)

    assert '"enum": ["4.1"]' in system
    assert "final_output" not in system
    assert "satisfies the schema" in again


def test_the_answer_of_a_stepwise_agent_is_asked_for_by_the_schema() -> None:
    blocks = ("system", "user", "remind", "answer", "again")
    prompt = load_prompt("stepwise", blocks=blocks)

    answer = prompt.render("answer", {**VALUES, "found": (), "steps": (), "general": ""})

    assert '"enum": ["4.1"]' in answer
    assert "final_output" not in answer


def test_the_text_is_returned_as_the_model_wrote_it() -> None:
    client = Says("I think so.", '{"step": "4.1"}')

    returned: Any = FunctionCalling(client=client).execute("4.1 Greet.", {}, Toolbox(), {})

    assert '{"step": "4.1"}' == returned
    assert 2 == len(client.asked)


def test_of_a_react_agent_what_follows_the_label_is_returned() -> None:
    client = Says('Thought: it is {easy}\nFinal Answer: {"step": "4.1"}')

    returned: Any = ReAct(client=client).execute("4.1 Greet.", {}, Toolbox(), {})

    assert '{"step": "4.1"}' == returned


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param('{"a": 1}', True, id="a document"),
        pytest.param('<think>{"a": 1}</think> hm', False, id="a thought"),
        pytest.param("nothing", False, id="words"),
    ],
)
def test_without_fields_a_document_is_looked_for(text: str, found: bool) -> None:
    assert found == has_answer(text, {})
