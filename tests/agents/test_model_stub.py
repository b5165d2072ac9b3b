"""The stub is a model that can only know what it is told; else its right answers show nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest

from pytest_sopbench.agents import FunctionCalling, ReAct, Stepwise, ToolResult, model_agent

AGENTS = pytest.mark.parametrize("agent", [FunctionCalling, ReAct, Stepwise])
Change = Callable[[str], str]


def changed(tmp_path: Path, agent: Any, change: Change) -> Path:
    """Write a prompt like that of the agent, but for one change."""
    ours = (Path(model_agent.__file__).parent / "prompts" / f"{agent.name}.md.jinja").read_text()
    text = change(ours)
    assert text != ours
    path = tmp_path / "changed.jinja"
    path.write_text(text)
    return path


@AGENTS
def test_with_the_whole_prompt_it_is_right(stub: Any, model: str, desk: Any, agent: Any) -> None:
    ran = desk.run(agent(model=model))

    assert ("correct", 5) == (ran.verdict.outcome.value, len(ran.trace.calls))


def test_step_by_step_it_is_right_on_tasks_of_every_class(
    stub: Any, model: str, desk: Any, goods: Any
) -> None:
    tasks = {task.expected["hazard_class"]: task for task in goods.tasks}

    outcomes = desk.outcomes(Stepwise(model=model), [*tasks.values()])

    assert {"correct": 5} == outcomes


@pytest.mark.parametrize("agent", [FunctionCalling, ReAct])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            lambda text: text.replace("{{ sop }}", ""), "no procedure", id="without-the-sop"
        ),
        pytest.param(
            lambda text: text.replace("{{ inputs | json(indent=2) }}", "See above."),
            "does not say its un_number",
            id="without-the-inputs",
        ),
        pytest.param(
            lambda text: text.replace("inputs | json(indent=2)", "{'un_number': 'UN1'} | json"),
            "",
            id="with-other-inputs",
        ),
        pytest.param(
            lambda text: (
                text.replace("{{ name }}", "it")
                .replace("{{ name | json }}", '"it"')
                .replace('output_fields | join(", ")', '"it"')
                .replace("{{ sop }}", '{{ sop | replace("hazard_class", "it") }}')
                .replace(
                    "tool.parameters | json",
                    'tool.parameters | json | replace("hazard_class", "it")',
                )
            ),
            "it is",
            id="without-the-output-field",
        ),
    ],
)
def test_it_fails_where_the_prompt_lacks_something(
    stub: Any, desk: Any, tmp_path: Path, agent: Any, change: Change, told: str
) -> None:
    path = changed(tmp_path, agent, change)

    ran = desk.run(agent(model="openai/m", prompt=path))

    assert "correct" != ran.verdict.outcome.value
    assert told in ran.trace.returned.text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            lambda text: text.replace("{{ general }}", ""),
            "step 4 was not completed",
            id="without-what-holds-for-all-steps",
        ),
        pytest.param(
            lambda text: text.replace("{{ inputs | json(indent=2) }}", "See above."),
            "step 4 was not completed",
            id="without-the-inputs",
        ),
        pytest.param(
            lambda text: text.replace("{{ step.text }}", "{{ step.title }}"),
            "I was offered no tool calculate_sds_label_score",
            id="without-the-text-of-the-step",
        ),
        pytest.param(
            lambda text: text.replace("{{ self.earlier() }}", ""),
            "I was offered no tool calculate_sds_label_score",
            id="without-what-earlier-steps-found",
        ),
    ],
)
def test_step_by_step_it_fails_where_the_prompt_lacks_something(
    stub: Any, desk: Any, tmp_path: Path, change: Change, told: str
) -> None:
    path = changed(tmp_path, Stepwise, change)

    ran = desk.run(Stepwise(model="openai/m", prompt=path))

    assert ran.verdict.outcome.value in ("error", "no_answer")
    assert told in f"{ran.verdict.reason} {ran.trace.returned.text}"


def test_step_by_step_it_fails_where_no_output_field_is_named(
    stub: Any, desk: Any, goods: Any, tmp_path: Path
) -> None:
    """Of a product without a class none is recorded, by the name of the field."""
    task = next(one for one in goods.tasks if one.expected["hazard_class"] == "Unable to Decide")
    path = changed(
        tmp_path,
        Stepwise,
        lambda text: (
            text.replace("{{ name }}", "it")
            .replace("{{ name | json }}", '"it"')
            .replace('output_fields | join(", ")', '"it"')
        ),
    )

    told = desk.run(Stepwise(model="openai/m"), task)
    untold = desk.run(Stepwise(model="openai/m", prompt=path), task)

    assert ("correct", "no_answer") == (told.verdict.outcome.value, untold.verdict.outcome.value)
    assert "it is" in untold.trace.returned.text


@pytest.mark.parametrize(
    ("kind", "outcome", "told"),
    [
        ("never_completes", "error", "step 4 was not completed: no tool and no complete_step"),
        ("unknown_step", "call_limit", "passed its limit of 12 turns in step 4, after 0 steps"),
        ("round_and_round", "call_limit", "passed its limit of 12 turns in step"),
        ("early_answer", "correct", ""),
    ],
)
def test_a_model_that_errs_in_the_protocol_of_steps(
    stub: Any, desk: Any, kind: str, outcome: str, told: str
) -> None:
    """The answer of the last one happens to be right; it is taken, and the run says so."""
    stub.err(kind)

    ran = desk.run(Stepwise(model="openai/m", max_turns=12))

    assert outcome == ran.verdict.outcome.value
    assert told in ran.verdict.reason
    early = "the answer was given in step 4, which was not completed" in ran.trace.notes
    assert early is (kind == "early_answer")


@pytest.mark.parametrize("kind", ["never_completes", "unknown_step", "early_answer"])
def test_a_model_that_errs_once_in_the_protocol_of_steps_is_helped_up(
    stub: Any, model: str, desk: Any, kind: str
) -> None:
    stub.err(kind, first=1)

    ran = desk.run(Stepwise(model=model))

    assert "correct" == ran.verdict.outcome.value
    assert 5 == len(ran.trace.calls)


def test_it_calls_no_tool_that_it_was_not_offered(stub: Any, desk: Any, tmp_path: Path) -> None:
    path = changed(tmp_path, ReAct, lambda text: text.replace("{{ tool.name }}", "hidden"))

    ran = desk.run(ReAct(model="openai/m", prompt=path))

    assert "no_answer" == ran.verdict.outcome.value
    assert "I was offered no tool" in ran.trace.returned.text


def test_it_fails_where_a_result_is_kept_from_it(
    stub: Any, model: str, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_sopbench.agents.driving._served", _kept_back)

    ran = desk.run(FunctionCalling(model=model))

    assert "correct" != ran.verdict.outcome.value


def _kept_back(request: Any, _: object) -> Any:
    return ToolResult(request=request, content={"sds_label_score": None}, failed=False)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("prose", "no_answer"),
        ("empty", "error"),
        ("truncated", "error"),
        ("refusal", "error"),
        ("filtered", "error"),
        ("wrong", "wrong"),
        ("malformed", "call_limit"),
        ("unknown_tool", "call_limit"),
        ("bad_arguments", "call_limit"),
        ("429", "unavailable"),
        ("500", "unavailable"),
        ("cut", "unavailable"),
        ("slow", "unavailable"),
        ("401", "error"),
    ],
)
@AGENTS
def test_each_fault_has_its_outcome(
    stub: Any, desk: Any, goods: Any, agent: Any, kind: str, outcome: str
) -> None:
    """One model, as the clients have tests of their own; every other task goes wrong."""
    tasks = [task for task in goods.tasks if task.expected["hazard_class"] != "Unable to Decide"]
    tasks = tasks[:2]
    struck = {tasks[0].id}
    stub.err(kind, when=lambda seen: seen.task in struck)
    settings = {"max_turns": 12, "max_retries": 0, "timeout": 30 if kind != "slow" else 2}

    outcomes = desk.outcomes(agent(model="openai/m", **settings), tasks)

    assert {"correct": 1, outcome: 1} == outcomes


@pytest.mark.parametrize("kind", ["malformed", "unknown_tool", "bad_arguments", "prose", "empty"])
@AGENTS
def test_a_model_that_errs_once_is_helped_up(
    stub: Any, model: str, desk: Any, agent: Any, kind: str
) -> None:
    stub.err(kind, first=1)

    ran = desk.run(agent(model=model))

    assert "correct" == ran.verdict.outcome.value


def test_calls_in_one_reply_break_an_order_that_the_contract_asks_for(
    stub: Any, model: str, desk: Any, goods: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who asks for all scores at once asks for none of them before another."""
    task = goods.tasks[0]
    before = desk.run(FunctionCalling(model=model), task).verdict
    stub.err("all_at_once", first=1)

    ran = desk.run(FunctionCalling(model=model), task)

    assert "correct" == ran.verdict.outcome.value
    assert [3, 2, 1, 0, 0] == [call.overlaps for call in ran.trace.calls]
    assert all(rule.state.value != "broken" for rule in before.rules)


def test_the_stream_says_the_same_as_the_whole(stub: Any, desk: Any, goods: Any) -> None:
    desk.run(FunctionCalling(model="openai/m"), goods.tasks[0])
    client = openai.OpenAI(max_retries=0)
    for request in list(stub.requests):
        whole = client.chat.completions.create(**request.body).choices[0].message
        with client.chat.completions.stream(**_without_strictness(request.body)) as stream:
            pieces = stream.get_final_completion().choices[0].message

        assert whole.content == (pieces.content or None)
        assert [call.function.arguments for call in whole.tool_calls or ()] == [
            call.function.arguments for call in pieces.tool_calls or ()
        ]


def _without_strictness(body: dict[str, Any]) -> dict[str, Any]:
    # The SDK's own stream insists on strict tools.
    tools = json.loads(json.dumps(body["tools"]))
    for tool in tools:
        tool["function"]["strict"] = True
    return {**body, "tools": tools}


def test_a_stream_that_is_cut_ends_in_an_error(stub: Any, desk: Any, goods: Any) -> None:
    desk.run(FunctionCalling(model="openai/m"), goods.tasks[0])
    body = _without_strictness(stub.requests[0].body)
    stub.err("cut")

    with (
        pytest.raises(Exception, match=r"(?i)closed|incomplete|connection"),
        openai.OpenAI(max_retries=0).chat.completions.stream(**body) as stream,
    ):
        stream.get_final_completion()
