"""The agents in whole sessions, as a user starts them."""

from __future__ import annotations

import json
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench.agents import model_agent
from tests.builders.commands import ran

KEPT = "kept.jsonl"


@pytest.fixture(autouse=True)
def as_a_user(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, stub: Any) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist")


def options_of(agent: str, *options: str) -> tuple[str, ...]:
    usual = ("--sop-domain=dangerous_goods", "--sop-concurrency=32", f"--sop-save={KEPT}")
    return (f"--agent={agent}", *usual, *options)


def session(pytester: pytest.Pytester, agent: str, *options: str) -> pytest.RunResult:
    """A process of its own, which takes the better part of a second to import the client."""
    return pytester.run(sys.executable, "-m", "pytest", *options_of(agent, *options))


def session_here(pytester: pytest.Pytester, agent: str, *options: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*options_of(agent, *options))


def told(result: pytest.RunResult) -> str:
    return "\n".join([*result.outlines, *result.errlines])


def saved(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    lines = (pytester.path / KEPT).read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("agent", "start"),
    [
        # One of them as a process of its own, which imports the client itself.
        pytest.param("function-calling:openai/m", session, id="function calling"),
        pytest.param("react:bedrock/m", session_here, id="react"),
        pytest.param("stepwise:openai/m", session_here, id="stepwise"),
    ],
)
def test_a_competent_model_is_right_on_every_task(
    pytester: pytest.Pytester, stub: Any, agent: str, start: Any
) -> None:
    """No agent looks into a row, each only writes it down: some rows stand for the domain."""
    result = start(pytester, agent, "--sop-sample=24@7")

    assert "100.0% correct, 24 of 24" in told(result), told(result)
    assert 0 == result.ret
    runs = [line for line in saved(pytester) if line["type"] == "run"]
    assert {(100, 20)} == {
        (
            run["usage"]["input_tokens"] // run["usage"]["model_calls"],
            run["usage"]["output_tokens"] // run["usage"]["model_calls"],
        )
        for run in runs
    }
    assert len(stub.requests) == sum(run["usage"]["model_calls"] for run in runs)


def test_an_erring_model_and_a_bad_provider_cost_what_arithmetic_says(
    pytester: pytest.Pytester, stub: Any, goods: Any
) -> None:
    """Of every ten tasks one is refused, one wrong, one without an answer and one unavailable."""
    kinds = {0: "refusal", 1: "wrong", 2: "prose", 3: "500"}
    place = {task.id: number % 10 for number, task in enumerate(goods.tasks)}
    for digit, kind in kinds.items():
        stub.err(kind, when=lambda seen, digit=digit: place.get(seen.task) == digit)
    # Each task is refused once, which the session's own retry makes good.
    stub.err("429", when=lambda seen: place.get(seen.task) == 9, first=1)
    counts = [sum(one % 10 == digit for one in range(60)) for digit in range(10)]

    result = session_here(
        pytester, "function-calling:openai/m", "--sop-sample=first:60", "--sop-retries=1", "--tb=no"
    )

    ended = [line["outcome"] for line in saved(pytester) if line["type"] == "run"]
    assert {
        "error": counts[0],
        "wrong": counts[1],
        "no_answer": counts[2],
        "unavailable": counts[3],
        "correct": sum(counts[4:]),
    } == {outcome: ended.count(outcome) for outcome in set(ended)}
    assert 1 == result.ret


@pytest.mark.parametrize("how", [(), ("-n1",)], ids=["plain", "a worker"])
def test_a_changed_prompt_and_setting_are_named_by_a_comparison(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    ours = Path(model_agent.__file__).parent / "prompts" / "function_calling.md.jinja"
    mine = pytester.path / "mine.jinja"
    pytester.makeconftest(
        """
        import pytest
        from pytest_sopbench.agents import FunctionCalling

        @pytest.fixture(scope="session")
        def sop_agent():
            return FunctionCalling(model="openai/m", prompt="mine.jinja", seed=SEED, api_key="abc")
        """.replace("SEED", "3")
    )
    options = ("--sop-domain=dangerous_goods", "--sop-sample=first:1", *how)
    mine.write_text(ours.read_text())
    first = pytester.runpytest_inprocess(*options, "--sop-save=before.jsonl")
    conftest = pytester.path / "conftest.py"
    # Longer as well: Python tells two files of one second apart by their size alone.
    conftest.write_text(conftest.read_text().replace("seed=3", "seed=40"))
    mine.write_text(ours.read_text() + "\n")

    result = pytester.runpytest_inprocess(*options, "--sop-compare=before.jsonl")

    before, now = (one.read_bytes() for one in (ours, mine))
    hashes = [sha256(one).hexdigest()[:4] for one in (before, now)]
    assert (0, 0) == (first.ret, result.ret), told(result)
    assert f"setup  prompt mine.jinja: {hashes[0]} -> {hashes[1]}, seed: 3 -> 40" in told(result)
    again = ran("compare", "before.jsonl", "last", "--json")
    changes = json.loads("\n".join(again.outlines))["compared"][0]["setups"]
    assert ["prompt mine.jinja", "seed"] == [one["what"] for one in changes]
    assert "abc" not in (pytester.path / "before.jsonl").read_text().splitlines()[0]


def test_a_session_is_not_resumed_with_another_prompt(pytester: pytest.Pytester) -> None:
    ours = Path(model_agent.__file__).parent / "prompts" / "function_calling.md.jinja"
    mine = pytester.path / "mine.jinja"
    mine.write_text(ours.read_text())
    agent = (
        "function-calling:openai/m",
        "--sop-sample=first:2",
        "--sop-agent-arg=prompt=mine.jinja",
    )
    session_here(pytester, *agent, "--sop-budget=.001s")
    mine.write_text(ours.read_text() + "\n")

    result = session_here(pytester, *agent, f"--sop-resume={KEPT}", "--sop-save=again.jsonl")

    assert pytest.ExitCode.USAGE_ERROR == result.ret, told(result)
    assert "prompt mine.jinja: " in told(result)


def test_what_it_was_told_is_recorded(pytester: pytest.Pytester, stub: Any) -> None:
    result = session_here(
        pytester,
        "react:openai/m",
        "--sop-sample=first:2",
        "--sop-agent-arg=temperature=0.25",
        "--sop-agent-arg=seed=11",
    )

    header = saved(pytester)[0]
    assert 0 == result.ret, told(result)
    assert {"temperature": "0.25", "seed": "11"} == header["agent_args"]
    assert 16 == len(header["options"]["prompts"]["react:openai/m"])
    setup = header["options"]["setups"]["react:openai/m"]
    assert ("react", "openai/m", "react.md.jinja") == (
        setup["agent"],
        setup["model"],
        setup["prompt"],
    )
    assert ("0.25", "11") == (setup["settings"]["temperature"], setup["settings"]["seed"])
    assert (0.25, 11) == (stub.requests[0].body["temperature"], stub.requests[0].body["seed"])


@pytest.mark.parametrize(
    ("agent", "argument", "lines"),
    [
        pytest.param(
            "function-calling:openai/m",
            "temprature=1",
            ["*it has no argument 'temprature'", "did you mean temperature? it takes *max_turns,*"],
            id="unknown-argument",
        ),
        pytest.param(
            "react:bedrock/m",
            "seed=1",
            ["*agent 'react:bedrock/m': *'seed': bedrock does not take it", "it takes *region*"],
            id="not-of-this-provider",
        ),
        pytest.param(
            "react:openai/m", "top_p=much", ["*top_p=much: it must be a number*"], id="no-number"
        ),
        pytest.param(
            "react:openai/m", "prompt=none.md", ["*none.md: No such file*"], id="no-prompt"
        ),
        pytest.param(
            "react:claude", "top_p=1", ["*provider or the model is missing"], id="no-provider"
        ),
        pytest.param(
            "react:opnai/m", "top_p=1", ["*no provider 'opnai'", "did you mean openai*"], id="near"
        ),
    ],
)
def test_what_cannot_be_is_a_usage_error_before_the_first_run(
    pytester: pytest.Pytester, stub: Any, agent: str, argument: str, lines: list[str]
) -> None:
    result = pytester.runpytest_inprocess(
        "--sop-domain=dangerous_goods", f"--agent={agent}", f"--sop-agent-arg={argument}"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(lines)
    assert [] == stub.requests


def test_an_sop_without_steps_is_a_usage_error_that_names_the_command(
    pytester: pytest.Pytester, stub: Any, goods: Any
) -> None:
    shutil.copytree(goods.folder, pytester.path / "domains" / "goods")
    (pytester.path / "domains" / "goods" / "sop.md").write_text("Be kind to the goods.")

    result = pytester.runpytest_inprocess(
        "--sop-domain=./domains/goods", "--agent=stepwise:openai/m"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "*agent 'stepwise:openai/m': domain * shows no steps: no numbered headings*",
            "write them into its steps.json, *: sopbench list * --steps --propose openai/m",
        ]
    )
    assert [] == stub.requests


def test_an_approval_that_the_sop_demands_is_asked_for_and_a_denial_is_no_success(
    pytester: pytest.Pytester, stub: Any, goods: Any
) -> None:
    folder = pytester.path / "domains" / "goods"
    shutil.copytree(goods.folder, folder)
    sop = folder / "sop.md"
    sop.write_text(sop.read_text().replace("## 7. Record", "## 7. Record [PRE-APPROVAL REQUIRED]"))
    path = folder / "metadata.json"
    metadata = json.loads(path.read_text()) | {"name": "goods"}
    rule = {"id": "signed", "severity": "must", "after_approval": {"record_class": "7"}}
    path.write_text(json.dumps({**metadata, "contract": {"rules": [rule]}}))
    pytester.makefile(".json", script=json.dumps({"7": True, "goods/P_95473": {"7": "not today"}}))

    result = pytester.runpytest_inprocess(
        "--sop-domain=goods",
        "--agent=stepwise:openai/m",
        "--sop-sample=first:2",
        "-osop_approver=scripted:script.json",
        f"--sop-save=./{KEPT}",
        "--tb=no",
    )

    runs = {line["task"]: line for line in saved(pytester) if line["type"] == "run"}
    denied = runs.pop("P_95473")
    (granted,) = runs.values()
    result.assert_outcomes(passed=1, failed=1)
    assert "error" == denied["outcome"]
    assert "approval denied before step 7 by scripted: not today" in denied["reason"]
    assert ("correct", "held") == (granted["outcome"], granted["rules"][0]["state"])
    assert "record_class" not in [call["name"] for call in denied["calls"]]


def test_a_project_may_build_the_agent_itself(pytester: pytest.Pytester, stub: Any) -> None:
    pytester.makeconftest(
        """
        import pytest
        from pytest_sopbench.agents import FunctionCalling

        @pytest.fixture(scope="session")
        def sop_agent():
            return FunctionCalling(model="openai/m", temperature=0)
        """
    )
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.sop(domain="dangerous_goods")
        def test_goods(sop_run):
            sop_run.assert_correct()
            sop_run.assert_contract()
        """
    )

    result = pytester.runpytest_inprocess("-q", "-k", "P_95473")

    assert 0 == result.ret, told(result)
    assert 0 == stub.requests[0].body["temperature"]


def test_no_key_stands_in_anything_that_a_session_leaves(
    pytester: pytest.Pytester, stub: Any, secrets: tuple[str, ...]
) -> None:
    """The stub quotes the key that it was sent, as servers do where they refuse one."""
    stub.err("401", when=lambda seen: seen.task == "P_95473")
    found: list[str] = []
    for agent in ("function-calling:openai/m", "react:bedrock/m"):
        result = session_here(
            pytester,
            agent,
            "--sop-sample=first:3",
            f"--sop-save={agent.partition(':')[0]}.jsonl",
            "--sop-report=md=page.md",
            "--junitxml=junit.xml",
            "-o",
            "sop_traces=all",
            "-vv",
        )
        assert "correct, 2 of 3" in told(result), told(result)
        texts = {"terminal": told(result)}
        texts |= {
            str(path.relative_to(pytester.path)): path.read_text(errors="replace")
            for path in pytester.path.rglob("*")
            if path.is_file()
        }
        assert any("traces" in name for name in texts)
        found += [
            f"{name}: {secret}"
            for name, text in texts.items()
            for secret in (*secrets, "Bearer", "AWS4-HMAC", "Authorization")
            if secret in text
        ]

    assert [] == found
    assert secrets[0] in stub.requests[0].headers["authorization"]
