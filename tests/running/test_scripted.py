"""An agent that does what a file says, task by task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import resolve_agent
from pytest_sopbench._running.runner import run_task
from pytest_sopbench.errors import AgentSpecError

CALL = {"name": "get_score", "arguments": {"parcel_id": "PX1"}}
LINE = {"task": "PX1", "calls": [CALL], "answer": {"shelf": "A"}}


def scripted(bench: Any, text: str) -> Any:
    (bench.folder / "script.jsonl").write_text(text, encoding="utf-8")
    domain = bench.domain()
    return resolve_agent("scripted:script.jsonl", path=bench.folder, domains=[domain])


def traced(bench: Any, text: str, **task: Any) -> Any:
    caller, toolbox = AgentCaller(scripted(bench, text)), bench.toolbox()
    return run_task(
        caller,
        bench.domain(),
        bench.task(**task),
        toolbox,
        clock=lambda: 0.0,
        unavailable=lambda _: False,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(LINE), id="a-line"),
        pytest.param(json.dumps([LINE]), id="a-list"),
        pytest.param(json.dumps([LINE], indent=2), id="a-list-over-lines"),
        pytest.param(json.dumps({**LINE, "domain": "parcels"}) + "\n\n", id="with-its-domain"),
        pytest.param(
            json.dumps({**LINE, "domain": "others", "answer": None}) + "\n" + json.dumps(LINE),
            id="two-domains",
        ),
    ],
)
def test_it_calls_and_answers_as_the_file_says(bench: Any, text: str) -> None:
    trace = traced(bench, text)

    assert [("get_score", {"parcel_id": "PX1"}, {"score": 4})] == [
        (call.name, call.arguments, call.result) for call in trace.calls
    ]
    assert {"shelf": "A"} == trace.returned.mapping


def test_a_call_that_fails_is_recorded_and_the_script_goes_on(bench: Any) -> None:
    calls = [{"name": "no_such_tool"}, {"name": "get_score", "arguments": "prose"}, CALL]

    trace = traced(bench, json.dumps({**LINE, "calls": calls}))

    assert [True, True, False] == [call.error is not None for call in trace.calls]
    assert {"shelf": "A"} == trace.returned.mapping


def test_it_raises_and_tells_usage_as_the_file_says(bench: Any) -> None:
    text = json.dumps({"task": "PX1", "raises": "out of ideas", "usage": {"input_tokens": 3}})

    trace = traced(bench, text)

    assert (Ending.RAISED, "out of ideas", 3) == (
        trace.ending,
        trace.problem.message,
        trace.usage.input_tokens,
    )


def test_a_task_that_the_file_does_not_name_is_an_error_of_its_run(bench: Any) -> None:
    trace = traced(bench, json.dumps({**LINE, "task": "PX2"}))

    assert Ending.RAISED is trace.ending
    assert "script.jsonl: it says nothing of task 'PX1' of parcels" in trace.problem.message
    assert () == trace.calls


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("", 1, "it is empty", id="empty"),
        pytest.param("[]", 1, "it is empty", id="empty-list"),
        pytest.param('{"task": "PX1",}', 1, "no JSON", id="no-json"),
        pytest.param(json.dumps(LINE) + "\nprose", 2, "no JSON", id="prose-behind"),
        pytest.param("[" + json.dumps(LINE), 1, "the list does not end", id="open-list"),
        pytest.param("[" + json.dumps(LINE) + "] x", 1, "the list does not end", id="after-it"),
        pytest.param('{"task": "PX1", "answer": NaN}', 1, "NaN", id="nan"),
        pytest.param("7", 1, "no object", id="number"),
        pytest.param('\n{"answer": {}}', 2, "'task' is missing", id="no-task"),
        pytest.param('{"task": 7, "answer": {}}', 1, "'task' is no text", id="task-number"),
        pytest.param('{"task": "PX1"}', 1, "neither 'answer' nor 'raises'", id="no-answer"),
        pytest.param('{"task": "PX1", "anser": 1}', 1, "unknown key 'anser'", id="slip"),
        pytest.param(json.dumps({**LINE, "calls": {}}), 1, "'calls' is no list", id="calls-object"),
        pytest.param(json.dumps({**LINE, "calls": ["x"]}), 1, "a call is no", id="call-text"),
        pytest.param(json.dumps({**LINE, "calls": [{}]}), 1, "has no 'name'", id="call-nameless"),
        pytest.param(
            json.dumps({**LINE, "calls": [{"name": "a", "args": {}}]}),
            1,
            "unknown key 'args'",
            id="call-slip",
        ),
        pytest.param(
            f"{json.dumps(LINE)}\n{json.dumps(LINE)}", 2, "stands in line 1 already", id="twice"
        ),
        pytest.param(
            json.dumps({**LINE, "task": "PX3"}), 1, "there is no task 'PX3'", id="unknown-task"
        ),
        pytest.param(
            f"[{json.dumps(LINE)},\n\n{json.dumps({**LINE, 'task': 'PX3'})}]",
            3,
            "there is no task 'PX3'",
            id="line-in-a-list",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(bench: Any, text: str, line: int, said: str) -> None:
    with pytest.raises(AgentSpecError) as caught:
        scripted(bench, text)

    assert f"script.jsonl, line {line}: " in str(caught.value)
    assert said in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentSpecError, match=r"none\.jsonl: No such file"):
        resolve_agent("scripted:none.jsonl", path=tmp_path)
