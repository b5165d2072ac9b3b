"""The three clients with the real SDKs, against the stub of their servers."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import requires
from typing import Any

import pytest
from model_stub import chat, responses
from pydantic import TypeAdapter

from pytest_sopbench.agents import FunctionCalling, Message, ModelRequest, ReAct, StopReason
from pytest_sopbench.agents.clients import make_client
from pytest_sopbench.agents.clients.openai_chat import read_arguments
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError
from tests.builders.judged import is_unavailable

ASKED = ModelRequest(
    messages=(
        Message(role="system", text="You follow no procedure."),
        Message(role="user", text='{"product_id": "P_1"}'),
    )
)
SETTINGS: Mapping[str, Any] = {"temperature": "0.5", "top_p": 0.9, "max_tokens": "300"}


def client_of(model: str, parameters: Mapping[str, object] | None = None, **more: Any) -> Any:
    return make_client(model, parameters or {}, Connection(**{"max_retries": 0, **more}))


def reply_of(model: str) -> Any:
    return client_of(model).complete(ASKED)


def test_a_text_comes_back(stub: Any, model: str) -> None:
    reply = client_of(model).complete(ASKED)

    assert ("I cannot go on: I was given no procedure.", StopReason.END) == (
        reply.message.text,
        reply.stop,
    )


def test_the_same_comes_back_on_an_event_loop(stub: Any, model: str) -> None:
    client = client_of(model)

    async def both() -> list[Any]:
        return await asyncio.gather(*(client.acomplete(ASKED) for _ in range(12)))

    texts = {reply.message.text for reply in asyncio.run(both())}

    # Another loop has connections of its own.
    texts |= {reply.message.text for reply in asyncio.run(both())}
    assert {client.complete(ASKED).message.text} == texts


def test_usage_means_the_same_everywhere(stub: Any, model: str) -> None:
    """Cached tokens are a part of the input, whatever the provider's own counts are."""
    usage = reply_of(model).usage

    assert (100, 40, 20) == (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    assert (None if "bedrock" in model else 5) == usage.reasoning_tokens
    assert (10 if "bedrock" in model else None) == usage.cache_write_tokens


@pytest.mark.parametrize(
    ("kind", "stop"),
    [
        ("refusal", StopReason.REFUSAL),
        ("filtered", StopReason.CONTENT_FILTER),
        ("truncated", StopReason.LENGTH),
        ("empty", StopReason.END),
    ],
)
def test_a_model_that_stops_otherwise_is_known_for_it(
    stub: Any, model: str, kind: str, stop: StopReason
) -> None:
    stub.err(kind)

    assert stop is reply_of(model).stop


def test_the_settings_reach_the_model(stub: Any, model: str, desk: Any) -> None:
    desk.run(FunctionCalling(model=model, **SETTINGS))

    body = stub.requests[0].body
    given = body.get("inferenceConfig", body)
    names = {"openai": "max_tokens", "openai-responses": "max_output_tokens"}
    longest = names.get(model.partition("/")[0], "maxTokens")
    assert (0.5, 0.9, 300) == (
        given["temperature"],
        given.get("top_p", given.get("topP")),
        given[longest],
    )


def test_openai_itself_is_told_the_newer_name_of_max_tokens(
    stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    client = client_of("openai/m", {"max_tokens": 9})

    body = client._body(ASKED)

    assert (9, False) == (body["max_completion_tokens"], "max_tokens" in body)


def test_a_seed_and_an_effort_reach_the_model(stub: Any, desk: Any) -> None:
    desk.run(FunctionCalling(model="openai/m", seed="7", reasoning_effort="low"))
    desk.run(FunctionCalling(model="openai-responses/m", reasoning_effort="low"))

    chat, responses = stub.requests[0].body, stub.requests[-1].body
    assert (7, "low") == (chat["seed"], chat["reasoning_effort"])
    assert ({"effort": "low"}, False) == (responses["reasoning"], responses["store"])
    assert ["reasoning.encrypted_content"] == responses["include"]


@pytest.mark.parametrize("agent", [FunctionCalling, ReAct])
def test_every_request_body_is_what_the_sdk_allows(
    stub: Any, model: str, desk: Any, agent: Any
) -> None:
    """Bedrock's own SDK checks each; of OpenAI's, the types say what a body is."""
    stub.err("malformed", first=1)
    stub.err("prose", first=1)
    settings = {} if "bedrock" in model else {"reasoning_effort": "low"}

    desk.run(agent(model=model, **SETTINGS, **settings))

    types = {
        "/v1/chat/completions": "chat.completion_create_params.CompletionCreateParamsNonStreaming",
        "/v1/responses": "responses.response_create_params.ResponseCreateParamsNonStreaming",
    }
    assert 7 <= len(stub.requests)
    for request in stub.requests:
        if request.path in types:
            known, adapter = adapted(types[request.path])
            adapter.validate_python(request.body)
            assert set() == request.body.keys() - known


@cache
def adapted(path: str) -> tuple[set[str], TypeAdapter[Any]]:
    """Return the keys of one of the SDK's types, and what checks values against it."""
    module, _, name = path.rpartition(".")
    kind = getattr(importlib.import_module(f"openai.types.{module}"), name)
    return {*kind.__required_keys__, *kind.__optional_keys__}, TypeAdapter(kind)


def test_a_provider_that_is_asked_too_much_is_away(stub: Any, model: str) -> None:
    for status in ("429", "500"):
        stub.faults.clear()
        stub.err(status)
        with pytest.raises(Exception, match=status) as raised:
            reply_of(model)
        assert is_unavailable(raised.value)
    assert 2 == len(stub.requests)


def test_a_connection_that_breaks_is_a_provider_that_is_away(stub: Any, model: str) -> None:
    stub.err("cut")

    with pytest.raises(Exception, match=r"(?s).*") as raised:
        reply_of(model)

    assert is_unavailable(raised.value)


def test_a_server_that_says_nothing_is_given_up(stub: Any, model: str) -> None:
    stub.err("slow")

    with pytest.raises(Exception, match=r"(?i)time") as raised:
        client_of(model, timeout=0.2).complete(ASKED)

    assert is_unavailable(raised.value)


def test_the_sdk_repeats_a_request_where_it_is_asked_to(stub: Any, model: str) -> None:
    stub.err("500", first=1)

    reply = client_of(model, max_retries=1).complete(ASKED)

    assert ("I cannot", 2) == (reply.message.text[:8], len(stub.requests))


def test_a_response_that_failed_is_no_answer(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"code": "server_error", "message": "lost"}
    failed = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": []}
    failed |= {"status": "failed", "error": error, "tools": [], "tool_choice": "auto"}
    monkeypatch.setattr(responses, "reply", lambda *_: {**failed, "parallel_tool_calls": True})

    with pytest.raises(Exception, match="server_error: lost") as raised:
        reply_of("openai-responses/m")
    assert is_unavailable(raised.value)

    error["code"] = "invalid_prompt"
    with pytest.raises(Exception, match="invalid_prompt: lost") as raised:
        reply_of("openai-responses/m")
    assert not is_unavailable(raised.value)


def test_all_agents_with_one_connection_share_one_client(stub: Any, model: str) -> None:
    """Two hundred clients would be two hundred pools of connections."""
    with ThreadPoolExecutor(16) as pool:
        clients = [*pool.map(lambda _: client_of(model), range(64))]

    sdks = {id(one._client) if "bedrock" in model else id(one.client) for one in clients}
    assert 1 == len(sdks)


def test_the_pool_holds_a_connection_for_each_run_in_flight(stub: Any) -> None:
    bedrock = client_of("bedrock/m", connections=77)._client
    openai = client_of("openai/m", connections=177).client

    assert 77 == bedrock.meta.config.max_pool_connections
    assert 177 == openai._client._transport._pool._max_keepalive_connections


@pytest.mark.parametrize(
    ("model", "parameters", "connection", "told"),
    [
        ("gpt-5", {}, {}, "the provider or the model is missing\na model is openai/MODEL, "),
        ("openai/", {}, {}, "the provider or the model is missing"),
        ("openia/gpt-5", {}, {}, "no provider 'openia'\ndid you mean openai"),
        ("bedrock/m", {"seed": 1}, {}, "'seed': bedrock does not take it\nit takes base_url, "),
        ("openai-responses/m", {"seed": 1}, {}, "'seed': openai-responses does not take it"),
        ("bedrock/m", {}, {"api_key": "k"}, "'api_key': bedrock does not take it"),
        ("openai/m", {}, {"region": "r"}, "'region': openai does not take it"),
    ],
)
def test_what_a_provider_does_not_know_is_told(
    stub: Any, model: str, parameters: Any, connection: Any, told: str
) -> None:
    with pytest.raises(AgentSpecError, match=told):
        client_of(model, parameters, **connection)


@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("temperature", "warm", "a number, 0 or more"),
        ("temperature", "-1", "a number, 0 or more"),
        ("top_p", "nan", "a number, 0 or more"),
        ("max_tokens", "0", "a whole number, 1 or more"),
        ("max_tokens", "1.5", "a whole number, 1 or more"),
        ("seed", "x", "a whole number"),
        ("timeout", "0", "a number above 0"),
        ("max_retries", "-1", "a whole number, 0 or more"),
        ("connections", "0", "a whole number, 1 or more"),
        ("max_turns", "0", "a whole number, 1 or more"),
    ],
)
def test_a_setting_that_is_none_is_told(stub: Any, setting: str, value: str, told: str) -> None:
    given: dict[str, Any] = {setting: value}

    with pytest.raises(AgentSpecError, match=f"{setting}={value}: it must be {told}"):
        FunctionCalling(model="openai/m", **given)


def test_an_agent_without_a_model_is_told(scripted: Any) -> None:
    with pytest.raises(AgentSpecError, match="neither a model nor a client"):
        ReAct()


@pytest.mark.parametrize(("library", "extra"), [("openai", "openai"), ("boto3", "bedrock")])
def test_a_library_that_is_not_there_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, library: str, extra: str
) -> None:
    def missing(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == library:
            msg = f"No module named {name!r}"
            raise ModuleNotFoundError(msg, name=name)
        return importing(name, *rest)

    importing = importlib.import_module
    monkeypatch.setattr("pytest_sopbench.agents.clients.shared.import_module", missing)
    provider = {"openai": "openai/m", "boto3": "bedrock/m"}[library]

    with pytest.raises(AgentSpecError) as raised:
        client_of(provider, connections=3)

    said = (
        f"{library} is not installed: "
        f"pip install {library} jinja2; the extra {extra!r} brings these"
    )
    assert said == str(raised.value)


@pytest.mark.parametrize("library", ["openai", "boto3"])
def test_the_extra_of_a_library_brings_the_prompts_as_well(library: str) -> None:
    extra = {"openai": "openai", "boto3": "bedrock"}[library]
    needed = [one for one in requires("pytest-sopbench") or () if f"extra == '{extra}'" in one]

    assert all(any(one.startswith(name) for one in needed) for name in (library, "jinja2"))


def test_a_library_that_is_broken_says_so_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        msg = "No module named 'other'"
        raise ModuleNotFoundError(msg, name="other")

    monkeypatch.setattr("pytest_sopbench.agents.clients.shared.import_module", broken)

    with pytest.raises(ModuleNotFoundError, match="other"):
        client_of("openai/m", connections=4)


def test_a_missing_key_is_told_before_the_first_run(
    stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")

    with pytest.raises(AgentSpecError, match=r"(?s)api_key.*set OPENAI_API_KEY"):
        client_of("openai/m", connections=5)


def test_a_server_of_ones_own_needs_no_key(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL")

    reply = client_of("openai/m", base_url=f"{stub.url}/v1").complete(ASKED)

    assert "I cannot" == reply.message.text[:8]
    assert "Bearer no-key" == stub.requests[0].headers["authorization"]


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (("AWS_DEFAULT_REGION",), "bedrock: .*region.*\nset AWS_REGION"),
        (("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "there are no AWS credentials"),
    ],
    ids=["region", "credentials"],
)
def test_what_bedrock_lacks_is_told_before_the_first_run(
    stub: Any, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...], told: str, tmp_path: Any
) -> None:
    for name in missing:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))

    with pytest.raises(AgentSpecError, match=told):
        client_of("bedrock/m", connections=6)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [('{"a": 1}', {"a": 1}), ("", {}), (None, {}), ("[1]", "[1]"), ('{"a"', '{"a"')],
)
def test_arguments_are_a_dict_or_stay_as_they_were_written(text: Any, arguments: object) -> None:
    assert arguments == read_arguments(text)


def test_servers_that_leave_things_out_are_understood(
    stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compatible servers send no usage, or content in parts."""
    said: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    nothing = {"index": 0, "message": {"role": "assistant", "content": ""}}
    monkeypatch.setattr(chat, "reply", lambda *_: {**said, "choices": [nothing]})
    empty = reply_of("openai/m")
    message = {"role": "assistant", "content": [{"type": "text", "text": "B"}]}
    choice = {"index": 0, "finish_reason": "eos", "message": message}
    monkeypatch.setattr(chat, "reply", lambda *_: {**said, "choices": [choice]})
    parts = reply_of("openai/m")

    assert ("", None) == (empty.message.text, empty.usage.input_tokens)
    assert "B" == parts.message.text


def test_nothing_of_a_provider_is_imported_with_the_room() -> None:
    code = (
        "import sys, pytest_sopbench.agents.sources\n"
        "print([m for m in ('openai', 'boto3', 'jinja2', 'pydantic') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == out.stdout.strip()
