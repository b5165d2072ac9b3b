"""Amazon Bedrock, by boto3's `converse`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final

from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
)
from pytest_sopbench.agents.sdk import load_sdk
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError, Unavailable

from .in_thread import in_thread
from .scrub import scrubbed
from .shared import environment, shared

_NAMES: Final = {"temperature": "temperature", "top_p": "topP", "max_tokens": "maxTokens"}
_STOPS: Final = {
    "tool_use": StopReason.TOOL_REQUESTS,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "content_filtered": StopReason.CONTENT_FILTER,
    "guardrail_intervened": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
}
_BEARER: Final = "AWS_BEARER_TOKEN_BEDROCK"
_CONNECT_S: Final = 20


class Bedrock:
    """`bedrock/MODEL`."""

    takes = frozenset({*_NAMES, "base_url", "region"})
    """The settings that this provider knows."""

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        self._model = model
        self._parameters = {_NAMES[name]: value for name, value in parameters.items()}
        make = partial(_make, connection)
        key = ("bedrock", connection, environment("AWS_"))
        self._client, self._secrets = shared(key, make)

    def complete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._secrets):
            return _reply(self._client.converse(**self._body(request)))

    async def acomplete(self, request: ModelRequest) -> Reply:
        return await in_thread(partial(self.complete, request))

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system = [{"text": one.text} for one in request.messages if one.role == "system"]
        config = dict(self._parameters)
        if request.stop:
            config["stopSequences"] = list(request.stop)
        body: dict[str, Any] = {"modelId": self._model, "messages": _turns(request.messages)}
        if system:
            body["system"] = system
        if config:
            body["inferenceConfig"] = config
        if request.tools:
            body["toolConfig"] = {"tools": [{"toolSpec": _spec(one)} for one in request.tools]}
        return body


def _make(connection: Connection) -> tuple[Any, Collection[str]]:
    boto3 = load_sdk("boto3")
    # They come with boto3, and only with it.
    config: Any = import_module("botocore.config").Config
    errors: Any = import_module("botocore.exceptions").BotoCoreError
    try:
        session = boto3.session.Session()
        bearer = os.environ.get(_BEARER, "")
        credentials = None if bearer else session.get_credentials()
        if credentials is None and not bearer:
            msg = "bedrock: there are no AWS credentials"
            hint = f"set AWS_PROFILE, AWS_ACCESS_KEY_ID and its secret, or {_BEARER}"
            raise AgentSpecError(msg, hint=hint)
        client = session.client(
            "bedrock-runtime",
            region_name=connection.region,
            endpoint_url=connection.base_url,
            config=config(
                max_pool_connections=connection.connections,
                read_timeout=connection.timeout,
                connect_timeout=min(_CONNECT_S, connection.timeout),
                retries={"total_max_attempts": connection.max_retries + 1, "mode": "standard"},
            ),
        )
    except errors as fault:
        msg = f"bedrock: {fault}"
        hint = "set AWS_REGION, or give --sop-agent-arg region=NAME"
        raise AgentSpecError(msg, hint=hint) from None
    return client, [bearer, *_parts(credentials)]


def _parts(credentials: Any) -> list[str]:
    if credentials is None:
        return []
    frozen = credentials.get_frozen_credentials()
    return [str(one) for one in (frozen.access_key, frozen.secret_key, frozen.token) if one]


def _spec(tool: Mapping[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": tool["name"], "inputSchema": {"json": tool["parameters"]}}
    # Bedrock refuses an empty description.
    return {**spec, "description": tool["description"]} if tool["description"] else spec


def _turns(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages, with those of one side after another as one, as Bedrock wants them."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Message) -> list[dict[str, Any]]:
    if message.native is not None:
        return list(message.native)
    results = [
        {"toolResult": {"toolUseId": one.request.id, "content": [{"json": dict(one.content)}]}}
        for one in message.results
    ]
    return results or [{"text": message.text}]


def _reply(response: Mapping[str, Any]) -> Reply:
    if "stopReason" not in response:
        # botocore takes a body that breaks off for one that is empty.
        msg = "bedrock: the connection broke off within the response"
        raise Unavailable(msg)
    output: dict[str, Any] = response.get("output") or {}
    said: list[dict[str, Any]] = output.get("message", {}).get("content", [])
    # What is blank is refused where it goes back.
    blocks = [block for block in said if block.get("text", "-").strip()]
    text = "\n".join(block["text"] for block in blocks if "text" in block)
    requests = tuple(
        ToolRequest(id=use["toolUseId"], name=use["name"], arguments=use.get("input"))
        for block in blocks
        if (use := block.get("toolUse"))
    )
    return Reply(
        message=Message(role="assistant", text=text, requests=requests, native=blocks or None),
        stop=_STOPS.get(str(response.get("stopReason")), StopReason.END),
        usage=_usage(response.get("usage") or {}),
    )


def _usage(usage: Mapping[str, Any]) -> ModelUsage:
    read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    fresh = usage.get("inputTokens")
    # Bedrock counts what it has in its cache beside the input, and others count it in.
    return ModelUsage(
        input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
        cached_tokens=read,
        cache_write_tokens=written,
        output_tokens=usage.get("outputTokens"),
    )
