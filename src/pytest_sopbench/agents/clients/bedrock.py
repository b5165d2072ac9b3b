"""Amazon Bedrock, by boto3's `converse`."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from pytest_sopbench.agents.clients.broken import (
    NAME,
    counts_output,
    masked,
    scrubbed,
    valid_ids,
    valid_name,
    what_is_broken,
)
from pytest_sopbench.agents.clients.shared import environment, in_thread, load_sdk, shared
from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
    as_object,
)
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError, Unavailable

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
_OK: Final = 200
_BAD_GATEWAY: Final = 502
_BROKEN: Final = "BrokenReply"
_OTHER_SERVER_ERRORS: Final = frozenset({*range(500, 600)} - {500, 502, 503, 504})
_REPEATED: Final = frozenset({_BROKEN, "ModelErrorException", "ModelTimeoutException"})
"""Errors after which a request is repeated, beside those that botocore repeats it after."""


class Bedrock:
    """`bedrock/MODEL`."""

    takes = frozenset({*_NAMES, "base_url", "region", "extra_body", "extra_headers"})
    """The settings that this provider knows."""

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        self._model = model
        self._fields = parameters.get("extra_body")
        named = {_NAMES.get(name): value for name, value in parameters.items()}
        self._parameters = {name: value for name, value in named.items() if name}
        make = partial(_make, connection)
        key = ("bedrock", connection, environment("AWS_"))
        self._client, self._secrets = shared(key, make)

    def complete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._secrets):
            response = self._client.converse(**self._body(request))
            # It is an error to botocore's parser, but not to its client, which sees the status.
            error: Mapping[str, Any] = response.get("Error") or {}
            if error or "stopReason" not in response:
                raise Unavailable(error.get("Message") or "the reply has no stopReason")
            return _reply(response, request)

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
        if self._fields:
            body["additionalModelRequestFields"] = self._fields
        tools = request.tools or _called(request.messages)
        if tools:
            body["toolConfig"] = {"tools": [{"toolSpec": _spec(one)} for one in tools]}
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
            # boto3 itself knows AWS_DEFAULT_REGION alone, unlike AWS's other tools.
            region_name=connection.region or os.environ.get("AWS_REGION") or None,
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
    sent = [value for _, value in connection.extra_headers]
    secrets = [bearer, *_parts(credentials), *sent]
    _watch(client, connection, secrets)
    return client, secrets


def _watch(client: Any, connection: Connection, secrets: Collection[str]) -> None:
    """Have botocore send our headers, and take a broken reply for an error that may pass."""

    def refuse_broken(response_dict: dict[str, Any], operation_model: Any, **_: Any) -> None:
        if response_dict["status_code"] != _OK:
            return

        def find(data: Mapping[str, Any]) -> str:
            return find_fault(data) or _unread(response_dict, operation_model)

        headers = response_dict["headers"]
        told = what_is_broken(
            _OK,
            headers.get("content-type", ""),
            response_dict["body"],
            find,
            partial(masked, secrets=secrets),
        )
        if told:
            response_dict["status_code"] = _BAD_GATEWAY
            response_dict["body"] = json.dumps({"message": told}).encode()
            response_dict["headers"] = {"x-amzn-errortype": _BROKEN}

    def again(response: Any, attempts: int, **_: Any) -> float | None:
        if not response:
            return None
        came, parsed = response
        error: Mapping[str, Any] = parsed.get("Error") or {}
        passes = error.get("Code") in _REPEATED
        passes = passes or came.status_code in _OTHER_SERVER_ERRORS
        if not passes or attempts > connection.max_retries:
            return None
        # As botocore waits when it repeats a request by itself.
        return random.random() * min(2.0 ** (attempts - 1), 20.0)  # noqa: S311 - no secret

    def add_headers(request: Any, **_: Any) -> None:
        for name, value in connection.extra_headers:
            request.headers[name] = value

    events = client.meta.events
    events.register("before-parse.bedrock-runtime.Converse", refuse_broken)
    events.register("needs-retry.bedrock-runtime.Converse", again)
    events.register("before-sign.bedrock-runtime.Converse", add_headers)


def _unread(response: Mapping[str, Any], operation: Any) -> str:
    """Say that botocore breaks over a reply, if it does so."""
    parsers: Any = import_module("botocore.parsers")
    try:
        parser = parsers.create_parser(operation.metadata["protocol"])
        parser.parse(response, operation.output_shape)
    except Exception as error:  # noqa: BLE001 - it takes a reply for what its model says
        return f"botocore cannot read it ({error})"
    return ""


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
        if not blocks:
            continue
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
    # Bedrock refuses a text that is blank.
    return results or ([{"text": message.text}] if message.text.strip() else [])


def find_fault(data: Mapping[str, Any]) -> str:
    """Say what a document lacks that a response of `converse` must have."""
    stop: object = data.get("stopReason")
    if not isinstance(stop, str):
        return "it has no stopReason"
    if _STOPS.get(stop) is StopReason.CONTENT_FILTER:
        return ""
    message = as_object((as_object(data.get("output")) or {}).get("message"))
    content: object = (message or {}).get("content")
    if not isinstance(content, list) or not all(map(_is_block, cast("list[object]", content))):
        return "it has no message"
    silent = not content and not counts_output(data.get("usage"), "outputTokens")
    return "its message is empty" if silent else ""


def _is_block(block: object) -> bool:
    found = as_object(block)
    return found is not None and isinstance(found.get("text"), str | None)


def _reply(response: Mapping[str, Any], asked: ModelRequest) -> Reply:
    output: Mapping[str, Any] = response.get("output") or {}
    message: Mapping[str, Any] = output.get("message") or {}
    said: list[dict[str, Any]] = message.get("content") or []
    # What is blank is refused when it goes back.
    blocks = [block for block in said if str(block.get("text", "-")).strip()]
    uses: list[Mapping[str, Any]] = [one["toolUse"] for one in blocks if "toolUse" in one]
    ids = valid_ids((use.get("toolUseId") for use in uses), asked, NAME)
    requests = tuple(map(_request, uses, ids))
    valid = map(_told, uses, requests)
    native = [{"toolUse": next(valid)} if "toolUse" in one else one for one in blocks]
    return Reply(
        message=Message(
            role="assistant",
            text="\n".join(str(one["text"]) for one in blocks if "text" in one),
            requests=requests,
            native=native or None,
        ),
        stop=_STOPS.get(str(response.get("stopReason")), StopReason.END),
        usage=_usage(response.get("usage") or {}),
    )


def _request(use: Mapping[str, Any], key: str) -> ToolRequest:
    return ToolRequest(id=key, name=str(use.get("name") or ""), arguments=_input(use))


def _told(use: Mapping[str, Any], request: ToolRequest) -> dict[str, Any]:
    """Return a call as it goes back, with all that Bedrock has put beside it."""
    arguments = as_object(request.arguments) or {}
    name = valid_name(request.name)
    return {**use, "toolUseId": request.id, "name": name, "input": arguments}


def _input(use: Mapping[str, Any]) -> object:
    # So some models call a tool without parameters.
    given: object = use.get("input")
    return {} if given is None or given == "" else given


def _called(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return specs of the tools that were called: Bedrock refuses calls without specs."""
    blocks = [block for one in messages for block in one.native or ()]
    names = dict.fromkeys(one["toolUse"]["name"] for one in blocks if "toolUse" in one)
    return [{"name": name, "description": "", "parameters": {"type": "object"}} for name in names]


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
