"""A model proposes where the steps of an SOP are: once, by line numbers, and for review."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.agents import Message, Reply, StopReason
from pytest_sopbench.agents.stepwise import proposing
from pytest_sopbench.agents.stepwise.proposing import propose_steps, read_proposal
from pytest_sopbench.cli import main
from pytest_sopbench.errors import AgentSpecError

SOP = "Be kind.\n\nFirst look at it.\nTwice.\n\nThen pay.\n"
STEPS = [
    {"title": "Look", "first_line": 3, "last_line": 4},
    {"title": "Pay", "first_line": 6, "last_line": 6},
]
REPLY = f"Here you are:\n```json\n{json.dumps({'steps': STEPS})}\n```"


def test_the_text_of_the_steps_is_that_of_the_sop(scripted: Any) -> None:
    client = scripted(REPLY)

    proposed = propose_steps(SOP, "", client)

    assert [
        {"number": "1", "title": "Look", "text": "First look at it.\nTwice."},
        {"number": "2", "title": "Pay", "text": "Then pay."},
    ] == proposed
    assert "3: First look at it." in client.last.text


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        pytest.param("I cannot see any.", "the reply has no list of steps", id="prose"),
        pytest.param('{"steps": []}', "the reply has no list of steps", id="none"),
        pytest.param('{"steps": ["Look"]}', "step 1 goes from line 0 to line 0", id="text"),
        pytest.param(
            json.dumps({"steps": [*STEPS, STEPS[0]]}),
            "step 3 goes from line 3 to line 4, after line 6 of 7",
            id="a-line-twice",
        ),
        pytest.param(
            '{"steps": [{"first_line": 6, "last_line": 9}]}',
            "line 6 to line 9, after line 0 of 7",
            id="outside",
        ),
        pytest.param('{"steps": [{"first_line": 2, "last_line": 2}]}', "has no text", id="blank"),
    ],
)
def test_what_cannot_be_used_is_told(reply: str, told: str) -> None:
    with pytest.raises(AgentSpecError) as error:
        read_proposal(reply, SOP.split("\n"))

    assert told in str(error.value)
    assert "write steps.json yourself" in str(error.value)


def test_a_refusal_is_told(scripted: Any) -> None:
    refused = Reply(message=Message(role="assistant"), stop=StopReason.REFUSAL, refusal="no")

    with pytest.raises(AgentSpecError, match="refusal: no"):
        propose_steps(SOP, "", scripted(refused))


@pytest.fixture
def folder(goods: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A domain of the project whose SOP shows no steps."""
    path = tmp_path / "domains" / "goods"
    shutil.copytree(goods.folder, path)
    (path / "sop.md").write_text(SOP)
    monkeypatch.chdir(tmp_path)
    return path


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


def test_the_proposal_is_written_and_used_by_nobody_before_it_is_renamed(
    folder: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = scripted(REPLY)
    monkeypatch.setattr(proposing, "make_client", lambda *_: client)

    proposed = sopbench("list", "--steps", "./domains/goods", "--propose=openai/m")
    before = sopbench("list", "--steps", "./domains/goods")
    (folder / "steps.proposed.json").rename(folder / "steps.json")
    after = sopbench("list", "--steps", "./domains/goods")

    assert 0 == proposed.exit_code
    assert 1 == len(client.asked)
    assert "  2  Pay" in proposed.output
    assert "Proposed by openai/m. Nothing uses it yet: read and change it" in proposed.output
    assert (1, 0) == (before.exit_code, after.exit_code)
    assert "2 steps, from steps.json; 1 line holds for all of them" in after.output


def test_a_proposal_that_is_there_is_not_replaced(folder: Path, stub: Any) -> None:
    (folder / "steps.proposed.json").write_text("mine")

    result = sopbench("list", "--steps", "./domains/goods", "--propose=openai/m")

    assert 2 == result.exit_code
    assert "exists, and is not replaced" in result.output
    assert "mine" == (folder / "steps.proposed.json").read_text()
    assert [] == stub.requests


def test_a_provider_that_is_away_is_told_in_a_line(
    folder: Path, stub: Any, secrets: tuple[str, ...]
) -> None:
    stub.err("401")

    result = sopbench("list", "--steps", "./domains/goods", "--propose=openai/m")

    assert 2 == result.exit_code
    assert "openai/m could not be asked: AuthenticationError" in result.output
    assert not any(secret in result.output for secret in secrets)
    assert not (folder / "steps.proposed.json").exists()
