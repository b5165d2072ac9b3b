"""`replayed:FILE` returns what was recorded of each task, and refuses a file that is not whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._running.agents.spec import resolve_agent
from pytest_sopbench.errors import AgentSpecError

TWO = [{"id": "a", "output": '{"x": 1}'}, {"id": "b", "model_response": None}]


def resolved(folder: Path, text: str) -> Any:
    (folder / "out.jsonl").write_text(text, encoding="utf-8")
    domain = Domain(
        name="desk",
        folder=folder,
        data_file=folder,
        sop="s",
        tool_specs=(),
        fields=(),
        tasks=(),
        task_ids=("a", "b"),
        input_columns=(),
    )
    return resolve_agent("replayed:out.jsonl", path=folder, domains={"desk": domain})


def lines(*values: object) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


def test_a_task_is_given_what_was_recorded_of_it(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO))

    assert '{"x": 1}' == agent(task_id="a", domain="desk")
    assert agent(task_id="b", domain="desk") is None


def test_a_line_of_a_domain_goes_before_one_of_all(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO, {"id": "a", "domain": "desk", "output": "mine"}))

    assert "mine" == agent(task_id="a", domain="desk")


def test_a_number_may_be_an_id_and_other_keys_may_stand_beside(tmp_path: Path) -> None:
    agent = resolved(tmp_path, lines(*TWO, {"id": "a", "domain": "x", "output": 1, "score": 0.2}))

    assert '{"x": 1}' == agent(task_id="a", domain="desk")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "line 1: it is empty", id="empty"),
        pytest.param("{\n", "line 1: no JSON", id="no JSON"),
        pytest.param("[]\n", "line 1: no object", id="a list"),
        pytest.param(lines({"output": "x"}), "'id' is missing", id="no id"),
        pytest.param(lines({"id": True, "output": "x"}), "'id' is missing", id="no text"),
        pytest.param(lines({"id": "a"}), "neither 'output' nor 'model_response'", id="no output"),
        pytest.param(
            lines({"id": "a", "output": "x", "model_response": "y"}), "both 'output'", id="two"
        ),
        pytest.param(lines(*TWO, TWO[0]), "line 3: the id 'a' stands in line 1", id="twice"),
        pytest.param(
            lines(*TWO, {"id": "c", "output": "x"}), "line 3: there is no task 'c'", id="stranger"
        ),
        pytest.param(lines(TWO[0]), "no output of b, of 2 tasks of desk", id="one task is missing"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        resolved(tmp_path, text)

    assert problem in str(caught.value)
    assert "out.jsonl" in str(caught.value)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"nothing\.jsonl"):
        resolve_agent("replayed:nothing.jsonl", path=tmp_path)
