"""Whatever a provider does, a run is right or its provider was away: never the agent's failure.

The SDKs are the real ones, and the network is the loopback.

`SOPBENCH_ERRING=300` makes as many runs of each agent with each client as that, in place of a few;
`SOPBENCH_ERRING_SEED` throws other dice.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from erring_provider import (
    CHAT,
    CONVERSE,
    OF_BEDROCK,
    OF_THE_MODEL,
    OF_THE_SERVER,
    REPLIES,
    RESPONSES,
    Erring,
)
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench.agents import Message, ModelRequest, StopReason, ToolRequest, ToolResult
from pytest_sopbench.agents.clients import make_client
from pytest_sopbench.agents.clients.broken import NAME, FailedResponseError, valid_ids, valid_name
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import Unavailable
from tests.builders.judged import is_unavailable
from tests.builders.lab import write_lab

RUNS = int(os.environ.get("SOPBENCH_ERRING", "4"))
SEED = int(os.environ.get("SOPBENCH_ERRING_SEED", "7"))
PROCEDURE = """# Grading

## 1. Measure

Measure the sample.

## 2. Grade

Above 70 is pass, above 40 is retest, else it is fail.
"""
CLIENTS = ("openai/m", "openai-responses/m", "bedrock/vendor.m-1:0")
KEY = "sk-nobody-4711-0815"
TOOL = {"name": "measure", "description": "Measure.", "parameters": {"type": "object"}}
ASKED = ModelRequest(
    messages=(
        Message(role="system", text="Measure the sample."),
        Message(role="user", text='{"sample_id": "T_01"}'),
    ),
    tools=(TOOL,),
)
STATUSES = tuple(kind for kind in (*OF_THE_SERVER, *OF_BEDROCK) if kind.isdigit())
LOST = ("dropped", "reset", "trickle then cut", "cut short", "slow")
BROKEN = tuple(kind for kind in OF_THE_SERVER if kind not in (*STATUSES, *LOST))
PATIENT = 60
"""Seconds that a client waits where no test wants it to give up: a loaded machine is slow."""


@pytest.fixture(autouse=True)
def keys_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set keys and a region, and nothing that leads a client elsewhere."""
    for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("OPENAI_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIANOBODY000000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody-at-all-4711-0815")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("TEAM", '{"X-Team": "t-4711-0815-nobody"}')


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The domain `lab`, with a procedure that has steps."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    write_lab(pytester.path, tasks=max(RUNS, 6))
    (pytester.path / "lab" / "sop.md").write_text(PROCEDURE, "utf-8")
    return pytester.path


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the SDKs repeat at once what they repeat after a while."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.001)
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)


def client_of(server: Erring, model: str, parameters: Any = None, **more: Any) -> Any:
    base = server.url if "bedrock" in model else f"{server.url}/v1"
    connection = Connection(**{"base_url": base, "timeout": PATIENT, "max_retries": 1, **more})
    return make_client(model, parameters or {}, connection)


def runs_of(
    pytester: pytest.Pytester,
    server: Erring,
    agent: str,
    *options: str,
    timeout: int = PATIENT,
    settings: tuple[str, ...] | None = None,
) -> list[dict[str, Any]]:
    """Make a session, and return the runs that it has saved."""
    base = server.url if "bedrock" in agent else f"{server.url}/v1"
    given = (f"base_url={base}", f"timeout={timeout}") if settings is None else settings
    pytester.runpytest_inprocess(
        "--sop-domain=./lab",
        f"--agent={agent}",
        *(f"--sop-agent-arg={one}" for one in given),
        "--sop-save=kept.jsonl",
        "--sop-concurrency=8",
        *options,
    )
    lines = (pytester.path / "kept.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one.get("outcome")]


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
@pytest.mark.parametrize("agent", ["function-calling", "react", "stepwise"])
def test_a_run_is_right_or_its_provider_was_away(
    pytester: pytest.Pytester, project: Path, agent: str, model: str
) -> None:
    with Erring(SEED) as server:
        runs = runs_of(
            pytester, server, f"{agent}:{model}", f"--sop-sample=first:{RUNS}", timeout=2
        )

    assert [] == server.refused
    assert RUNS == len(runs)
    others = [one for one in runs if one["outcome"] not in ("correct", "unavailable")]
    assert [] == [(one["outcome"], one.get("problem")) for one in others], server.happened
    assert "correct" in {one["outcome"] for one in runs}


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
@pytest.mark.parametrize("kind", [*OF_THE_SERVER, *OF_BEDROCK])
def test_a_fault_that_stays_is_a_provider_that_is_away_once_it_was_asked_again(
    kind: str, model: str
) -> None:
    if kind in OF_BEDROCK and "bedrock" not in model:
        pytest.skip("a status of Bedrock's alone")
    with Erring(rate=1, kinds=(kind,)) as server:
        client = client_of(server, model, timeout=0.3 if kind == "slow" else PATIENT)
        with pytest.raises(Exception, match=r"(?s).*") as raised:
            client.complete(ASKED)

        with pytest.raises(Exception, match=r"(?s).*") as awaited:
            asyncio.run(client.acomplete(ASKED))

    assert is_unavailable(raised.value)
    assert is_unavailable(awaited.value)
    assert 4 == server.happened[kind]


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("html", "HTTP 200, text/html; charset=utf-8: no JSON: <!DOCTYPE html>"),
        ("half json", 'HTTP 200, application/json: no whole JSON (*): {"*'),
        ("empty body", "HTTP 200, application/json: the body is empty"),
        ("error object", "HTTP 200, application/json: an error: 502: the upstream is down"),
        ("error text", "HTTP 200, application/json: an error: the model is loading"),
        ("event stream", "HTTP 200, text/event-stream: no JSON: data: {*"),
    ],
)
def test_what_came_in_place_of_a_reply_is_told(model: str, kind: str, told: str) -> None:
    form = re.escape(f"the reply is broken: {told}").replace(r"\*", ".*")
    with Erring(rate=1, kinds=(kind,)) as server, pytest.raises(Unavailable, match=form):
        client_of(server, model).complete(ASKED)


OWN_AGENT = """
import json, openai

def agent(sop, inputs, tools):
    with openai.OpenAI(base_url="URL/v1", max_retries=0) as client:
        said = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": json.dumps(inputs)}]
        )
    return json.loads(said.choices[0].message.content)
"""


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("half json", "unavailable"),
        ("empty body", "unavailable"),
        ("503", "unavailable"),
        ("cut short", "unavailable"),
        # From here on, nothing in what is raised tells the server's fault from the agent's.
        ("html", "error"),
        ("nothing in it", "error"),
        ("error object", "error"),
        # The agent's own way to read what a model wrote.
        ("", "error"),
    ],
)
def test_of_an_agent_of_ones_own_counts_what_can_be_known_for_sure(
    pytester: pytest.Pytester, project: Path, kind: str, outcome: str
) -> None:
    with Erring(rate=1, kinds=(kind,)) as server:
        pytester.makepyfile(own=OWN_AGENT.replace("URL", server.url))
        runs = runs_of(pytester, server, "own:agent", "--sop-sample=first:1", settings=())

    assert [outcome] == [one["outcome"] for one in runs]


def answering(monkeypatch: pytest.MonkeyPatch, api: str, reply: dict[str, Any]) -> None:
    monkeypatch.setitem(REPLIES, api, lambda *_: reply)


def test_a_server_that_quotes_the_key_in_a_broken_reply_tells_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the key would be cut in two by the end of what is quoted."""
    answering(monkeypatch, CHAT, {"error": {"message": "x" * 190 + KEY + " was used"}})

    with Erring(rate=0) as server, pytest.raises(Unavailable) as raised:
        client_of(server, "openai/m").complete(ASKED)

    assert "xxx***" in str(raised.value)
    assert KEY[:5] not in str(raised.value)


@pytest.mark.parametrize("code", [400, 401, "402", 404, "invalid_request_error"])
def test_an_error_of_the_request_is_no_provider_that_is_away(
    monkeypatch: pytest.MonkeyPatch, code: object
) -> None:
    """Gateways say so with status 200 as well; the same request would meet it again."""
    answering(monkeypatch, CHAT, {"error": {"code": code, "message": "no credit"}})

    with Erring(rate=0) as server, pytest.raises(FailedResponseError, match="no credit") as raised:
        client_of(server, "openai/m").complete(ASKED)

    assert not is_unavailable(raised.value)
    assert 1 == len(server.bodies)


AZURE = {
    "message": "The response was filtered.",
    "type": None,
    "param": "prompt",
    "code": "content_filter",
    "status": 400,
    "innererror": {
        "code": "ResponsibleAIPolicyViolation",
        "content_filter_result": {
            "hate": {"filtered": False, "severity": "safe"},
            "jailbreak": {"filtered": True, "detected": True},
            "violence": {"filtered": True, "severity": "medium"},
        },
    },
}


@pytest.mark.parametrize("status", [400, 200])
@pytest.mark.parametrize("model", CLIENTS[:2], ids=lambda one: one.partition("/")[0])
def test_a_prompt_that_a_filter_refuses_is_an_error_with_its_reason(
    pytester: pytest.Pytester,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    status: int,
) -> None:
    with Erring(rate=0) as server:
        server.answer = (status, {"error": AZURE})
        runs = runs_of(pytester, server, f"function-calling:{model}", "--sop-sample=first:1")

    assert ["error"] == [one["outcome"] for one in runs]
    told = "content filter: the provider refused the request (jailbreak, violence: medium)"
    assert told in json.dumps(runs)
    assert 1 == len(server.bodies)


def test_a_reply_that_a_filter_cut_off_is_no_answer_though_one_stands_in_it(
    pytester: pytest.Pytester, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = '<final_output>{"grade": "retest"}</final_output>'
    choice = {"index": 0, "message": {"role": "assistant", "content": answer}}
    choice["finish_reason"] = "content_filter"
    choice["content_filter_results"] = {"violence": {"filtered": True, "severity": "high"}}
    answering(monkeypatch, CHAT, {"choices": [choice]})

    with Erring(rate=0) as server:
        runs = runs_of(pytester, server, "react:openai/m", "--sop-sample=first:3")

    assert {"error"} == {one["outcome"] for one in runs}
    assert "content filter: the provider withheld the reply (violence: high)" in json.dumps(runs)


def test_a_reply_with_two_choices_is_none(
    pytester: pytest.Pytester, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [f'<final_output>{{"grade": "{grade}"}}</final_output>' for grade in ("retest", "pass")]
    choices = [{"message": {"role": "assistant", "content": one}} for one in said]
    answering(monkeypatch, CHAT, {"choices": choices})

    with Erring(rate=0) as server:
        runs = runs_of(pytester, server, "react:openai/m", "--sop-sample=first:1")

    assert ["unavailable"] == [one["outcome"] for one in runs]
    assert "it has 2 choices where one was asked for" in json.dumps(runs)


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
def test_a_history_is_valid_whatever_the_model_wrote(model: str) -> None:
    for kind in OF_THE_MODEL:
        with Erring(rate=1, kinds=(kind,)) as server:
            client = client_of(server, model)
            first = client.complete(ASKED)
            history = (*ASKED.messages, first.message, *results_of(first))
            second = client.complete(ModelRequest(messages=history, tools=(TOOL,)))
            history = (*history, second.message, *results_of(second))
            client.complete(ModelRequest(messages=history, tools=(TOOL,)))

        assert (kind, []) == (kind, server.refused)


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
@pytest.mark.parametrize(
    ("kind", "name"), [("bad name", "functions.measure "), ("half arguments", "measure")]
)
def test_what_a_model_wrote_wrong_is_recorded_and_the_model_goes_on(
    pytester: pytest.Pytester, project: Path, kind: str, name: str, model: str
) -> None:
    with Erring(rate=1, kinds=(kind,)) as server:
        server.most = 1
        runs = runs_of(pytester, server, f"function-calling:{model}", "--sop-sample=first:1")

    assert [] == server.refused
    assert ["correct"] == [one["outcome"] for one in runs]
    assert [(name, True), ("measure", False)] == [
        (one["name"], one.get("error") is not None) for one in runs[0]["calls"]
    ]


JUNK = (None, -1, "x", "\ud800", [], {}, [None], {"x": None})


def places_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value in a document."""
    yield place
    inside = value if isinstance(value, dict) else {}
    inside = dict(enumerate(value)) if isinstance(value, list) else inside
    for key, inner in inside.items():
        yield from places_in(inner, (*place, key))


def with_junk(value: Any, place: tuple[Any, ...], junk: object) -> Any:
    """Return a document with something else in one place."""
    if not place:
        return junk
    copied = value.copy()
    copied[place[0]] = with_junk(value[place[0]], place[1:], junk)
    return copied


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
@pytest.mark.parametrize("said", ["a text", [("measure", {"sample_id": "T_01"})]], ids=type)
def test_whatever_stands_in_a_reply_is_a_reply_or_a_provider_that_is_away(
    model: str, said: Any
) -> None:
    """Each value of a reply in turn is something else, and no client breaks over it."""
    api = CHAT if model == CLIENTS[0] else RESPONSES if model == CLIENTS[1] else CONVERSE
    whole = REPLIES[api](said, "")
    accepted: list[Any] = []
    with Erring(rate=0) as server:
        client = client_of(server, model, max_retries=0)
        for place, junk in product(places_in(whole), JUNK):
            if place[-1:] == ("reasoning_content",):
                # The server of this test wants it back in any case.
                continue
            server.answer = (200, with_junk(whole, place, junk))
            try:
                reply = client.complete(ASKED)
                history = (*ASKED.messages, reply.message, *results_of(reply))
                if history in accepted:
                    continue
                accepted.append(history)
                server.answer = (200, whole)
                client.complete(ModelRequest(messages=history, tools=(TOOL,)))
            except (Unavailable, FailedResponseError):
                continue
            except Exception as error:
                raise AssertionError((place, junk)) from error
        assert [] == server.refused


def results_of(reply: Any) -> list[Message]:
    results = tuple(
        ToolResult(request=one, content={"reading": 90}, failed=False)
        for one in reply.message.requests
    )
    # A dialogue keeps no message in which nothing stands.
    return [Message(role="tool", results=results)] if results else []


@given(st.text(), st.lists(st.one_of(st.none(), st.text(max_size=80), st.integers()), max_size=6))
def test_names_and_ids_that_go_back_are_valid_and_each_id_stands_once(
    name: str, ids: list[object]
) -> None:
    earlier = tuple(ToolRequest(name="t", arguments={}, id=f"call{n:05d}") for n in range(3))
    asked = ModelRequest(messages=(Message(role="assistant", requests=earlier),))

    valid = valid_ids(ids, asked, NAME)

    assert NAME.fullmatch(valid_name(name))
    assert len(ids) == len(valid) == len({*valid} - {one.id for one in earlier})
    assert all(map(NAME.fullmatch, valid))
    assert valid == valid_ids(ids, asked, NAME)


def test_bedrock_is_told_of_tools_wherever_one_was_called() -> None:
    """It refuses a history with calls where no tools are offered."""
    with Erring(rate=0) as server:
        client = client_of(server, CLIENTS[2])
        called = client.complete(ASKED).message
        result = ToolResult(request=called.requests[0], content={"reading": 90}, failed=False)
        history = (*ASKED.messages, called, Message(role="tool", results=(result,)))

        reply = client.complete(ModelRequest(messages=history))

    assert StopReason.END is reply.stop
    assert [] == server.refused


def test_the_thoughts_of_a_model_go_back_with_its_calls() -> None:
    with Erring(rate=0) as server:
        client = client_of(server, CLIENTS[0])
        called = client.complete(ASKED).message
        result = ToolResult(request=called.requests[0], content={"reading": 90}, failed=False)
        history = (*ASKED.messages, called, Message(role="tool", results=(result,)))
        client.complete(ModelRequest(messages=history, tools=(TOOL,)))

    assert "the procedure asks for it" == server.bodies[1]["messages"][2]["reasoning_content"]


def test_runs_that_are_made_again_leave_the_sdk_its_own_repeats(
    pytester: pytest.Pytester, project: Path
) -> None:
    """One request that is lost costs one request, and not a run."""
    with Erring(rate=1, kinds=("503",)) as server:
        server.most = 2
        runs = runs_of(
            pytester, server, "function-calling:openai/m", "--sop-sample=first:1", "--sop-retries=3"
        )

    assert ["correct"] == [one["outcome"] for one in runs]
    assert "attempt" not in json.dumps(runs[0]["notes"])
    assert 4 == len(server.bodies)


@pytest.mark.parametrize(
    ("given", "region"),
    [
        ({"AWS_REGION": "eu-north-1"}, "eu-north-1"),
        ({"AWS_DEFAULT_REGION": "eu-south-1"}, "eu-south-1"),
        ({"AWS_REGION": "eu-north-1", "AWS_DEFAULT_REGION": "eu-south-1"}, "eu-north-1"),
    ],
)
def test_the_region_is_read_where_other_tools_of_aws_read_it(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], region: str
) -> None:
    monkeypatch.delenv("AWS_REGION")
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    with Erring(rate=0) as server:
        client_of(server, CLIENTS[2]).complete(ASKED)
        client_of(server, CLIENTS[2], region="eu-west-3").complete(ASKED)

    signed = [one["authorization"] for one in server.headers]
    assert f"/{region}/bedrock/" in signed[0]
    assert "/eu-west-3/bedrock/" in signed[1]


@pytest.mark.parametrize("model", CLIENTS, ids=lambda one: one.partition("/")[0])
def test_headers_and_fields_of_ones_own_are_sent_and_no_header_is_recorded(
    pytester: pytest.Pytester, project: Path, model: str
) -> None:
    with Erring(rate=0) as server:
        runs = runs_of(
            pytester,
            server,
            f"function-calling:{model}",
            "--sop-sample=first:1",
            '--sop-agent-arg=extra_body={"top_k": 5}',
            "--sop-agent-arg=extra_headers=env:TEAM",
        )

    assert ["correct"] == [one["outcome"] for one in runs]
    body = server.bodies[0]
    assert {"top_k": 5} == {"top_k": body.get("additionalModelRequestFields", body).get("top_k")}
    assert "t-4711-0815-nobody" == server.headers[0]["x-team"]
    saved = (project / "kept.jsonl").read_text()
    assert "t-4711" not in saved
    assert "top_k" in saved


@pytest.mark.parametrize("model", CLIENTS[:2], ids=lambda one: one.partition("/")[0])
def test_parallel_calls_are_asked_for_or_forbidden_where_there_are_tools(model: str) -> None:
    """OpenAI refuses the field in a request without tools."""
    with Erring(rate=0) as server:
        client = client_of(server, model, {"parallel_tool_calls": False})
        client.complete(ASKED)
        client.complete(ModelRequest(messages=ASKED.messages))

    assert [False, None] == [one.get("parallel_tool_calls") for one in server.bodies]


@pytest.mark.parametrize(
    ("agent", "most", "outcome"),
    [
        ("function-calling", 58, "call_limit"),
        ("function-calling", 59, "correct"),
        ("react", 58, "call_limit"),
        ("stepwise", 58, "call_limit"),
    ],
)
def test_a_conversation_that_grows_too_long_ends_its_run_and_says_so(
    pytester: pytest.Pytester, project: Path, agent: str, most: int, outcome: str
) -> None:
    """Each reply of the server counts 59 tokens."""
    bound = f"--sop-agent-arg=max_context={most}"

    with Erring(rate=0) as server:
        runs = runs_of(pytester, server, f"{agent}:openai/m", "--sop-sample=first:1", bound)

    assert [outcome] == [one["outcome"] for one in runs]
    told = "passed its limit of 58 tokens of context (max_context): the conversation has come to 59"
    assert (most == 58) == (told in json.dumps(runs))


def test_a_server_that_counts_no_tokens_holds_no_bound_and_that_is_said(
    pytester: pytest.Pytester, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = REPLIES[CHAT]
    monkeypatch.setitem(REPLIES, CHAT, lambda *asked: {**counted(*asked), "usage": None})

    with Erring(rate=0) as server:
        runs = runs_of(
            pytester,
            server,
            "function-calling:openai/m",
            "--sop-sample=first:1",
            "--sop-agent-arg=max_context=9",
        )

    assert ["max_context=9 was not held: the server counts no tokens"] == runs[0]["notes"]
