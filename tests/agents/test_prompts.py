"""Prompts are files: readable, replaceable, and known by a hash."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.agents import FunctionCalling, ReAct
from pytest_sopbench.agents.model_agent import load_prompt
from pytest_sopbench.errors import AgentSpecError

BLOCKS = "".join(f"{{% block {name} %}}{name}{{% endblock %}}" for name in ("system", "user"))
AGAIN = "{% block again %}again{% endblock %}"
VALUES = {
    "sop": "1. Weigh <it>.",
    "inputs": {"id": "Ä<1>", "kg": 1.5},
    "tools": (),
    "output_fields": {"shelf": ["A", "B"], "note": "text"},
    "text": "x",
    "cut_off": False,
}


@pytest.mark.parametrize("name", ["function_calling", "react"])
def test_our_prompts_say_all_that_a_model_needs(name: str) -> None:
    prompt = load_prompt(name)

    system, user = prompt.render("system", VALUES), prompt.render("user", VALUES)

    assert "1. Weigh <it>." in system
    assert '- shelf: exactly one of ["A", "B"]\n- note: text' in system
    assert '<final_output>{"shelf": ..., "note": ...}</final_output>' in system
    assert '"id": "Ä<1>"' in user


@pytest.mark.parametrize("name", ["function_calling", "react"])
def test_without_tools_none_is_spoken_of(name: str) -> None:
    system = load_prompt(name).render("system", VALUES)

    assert "There are no tools." in system
    assert "Action" not in system


@pytest.mark.parametrize("name", ["function_calling", "react"])
def test_with_tools_they_are_explained(name: str) -> None:
    tool = {"name": "look", "description": "Look.", "parameters": {"type": "object"}}

    system = load_prompt(name).render("system", {**VALUES, "tools": (tool,)})

    assert "There are no tools." not in system
    assert ("look: Look." in system) == (name == "react")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param({"text": ""}, "was empty", id="empty"),
        pytest.param({"cut_off": True}, "was cut off", id="cut-off"),
        pytest.param({}, "no answer|neither an action nor an answer", id="no-answer"),
    ],
)
@pytest.mark.parametrize("name", ["function_calling", "react"])
def test_asking_again_says_what_was_wrong_and_names_the_fields(
    name: str, changes: dict[str, Any], told: str
) -> None:
    again = load_prompt(name).render("again", {**VALUES, **changes})

    assert re.search(told, again)
    assert "shelf, note" in again


def test_a_file_of_ones_own_replaces_ours(tmp_path: Path, desk: Any, scripted: Any) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(BLOCKS.replace("%}user{", "%}{{ inputs.product_id }}{") + AGAIN)
    client = scripted("x")

    ran = desk.run(FunctionCalling(client=client, prompt=str(path)))

    assert ["system", ran.task.id] == [one.text for one in client.asked[0].messages]
    assert "again" == client.last.text


def test_the_hash_is_that_of_the_text(tmp_path: Path, scripted: Any) -> None:
    path = tmp_path / "mine.jinja"
    agents = [FunctionCalling(client=scripted("")), ReAct(client=scripted(""))]
    hashes = [agent.prompt_hash for agent in agents]
    for text in (BLOCKS + AGAIN, f"{BLOCKS}{AGAIN} "):
        path.write_text(text)
        hashes.append(FunctionCalling(client=scripted(""), prompt=path).prompt_hash)

    assert 4 == len({*hashes})
    assert hashes[-1] == ReAct(client=scripted(""), prompt=path).prompt_hash


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(BLOCKS, "it has no block 'again'", id="no-block"),
        pytest.param("{% block system %}\n{{ ", r"line 2: ", id="syntax"),
    ],
)
def test_a_prompt_that_cannot_be_used_says_why(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(text)

    with pytest.raises(AgentSpecError, match=told):
        load_prompt("react", path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"no\.jinja: No such file"):
        load_prompt("react", tmp_path / "no.jinja")


def test_a_misspelled_value_is_told_and_no_empty_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(BLOCKS.replace("%}user{", "%}{{ input }}{") + AGAIN)

    with pytest.raises(AgentSpecError, match=r"'input' is undefined\na prompt may use .*inputs"):
        load_prompt("react", path).render("user", VALUES)
