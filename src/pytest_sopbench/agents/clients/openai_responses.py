"""OpenAI's Responses API: items in, items out, reasoning among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
)
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import Unavailable

from .openai_chat import read_arguments
from .openai_sdk import OpenAISdk, count
from .scrub import scrubbed

_AWAY: Final = frozenset({"server_error", "rate_limit_exceeded"})
_STOPS: Final = {
    "max_output_tokens": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
}


class FailedResponseError(Exception):
    """The provider answered that it could not make a response."""


class OpenAIResponses:
    """`openai-responses/MODEL`."""

    takes = frozenset(
        {"temperature", "top_p", "max_tokens", "reasoning_effort", "base_url", "api_key"}
    )
    """The settings that this provider knows."""

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        self._model = model
        self._sdk = OpenAISdk(connection)
        self._sdk.check()
        given = dict(parameters)
        if "max_tokens" in given:
            given["max_output_tokens"] = given.pop("max_tokens")
        if "reasoning_effort" in given:
            # Only models that reason can say their reasoning so that nothing need be stored.
            given["reasoning"] = {"effort": given.pop("reasoning_effort")}
            given |= {"store": False, "include": ["reasoning.encrypted_content"]}
        self._parameters = given

    def complete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._sdk.secrets):
            return _reply(self._sdk.client.responses.create(**self._body(request)))

    async def acomplete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._sdk.secrets):
            return _reply(await self._sdk.aclient.responses.create(**self._body(request)))

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        # The API knows no stop sequences; who needs one cuts the text.
        system = [one.text for one in request.messages if one.role == "system"]
        body: dict[str, Any] = {
            "model": self._model,
            "instructions": "\n\n".join(system),
            "input": [item for message in request.messages for item in _items(message)],
            **self._parameters,
        }
        if request.tools:
            # Strict mode asks for a part of JSON schema that domains need not keep to.
            body["tools"] = [{"type": "function", "strict": False, **one} for one in request.tools]
        if request.reply_schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(request.reply_schema)}
            body["text"] = {"format": {"type": "json_schema", **schema}}
        return body


def _items(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "system":
        return
    for result in message.results:
        output = json.dumps(result.content, ensure_ascii=False)
        yield {"type": "function_call_output", "call_id": result.request.id, "output": output}
    if message.native is not None:
        yield from message.native
    elif not message.results:
        yield {"role": message.role, "content": message.text}


def _reply(response: Any) -> Reply:
    data: dict[str, Any] = response.to_dict(mode="json", warnings=False)
    if data.get("status") == "failed":
        raise _failure(data.get("error") or {})
    items: list[dict[str, Any]] = data.get("output") or []
    parts: list[dict[str, Any]] = [
        part
        for item in items
        if item.get("type") == "message"
        for part in item.get("content") or ()
    ]
    refusal = _joined(parts, "refusal", "refusal")
    requests = tuple(_request(item) for item in items if item.get("type") == "function_call")
    incomplete: dict[str, Any] = data.get("incomplete_details") or {}
    reason = incomplete.get("reason")
    stop = StopReason.TOOL_REQUESTS if requests else StopReason.END
    return Reply(
        message=Message(
            role="assistant",
            text=_joined(parts, "output_text", "text"),
            requests=requests,
            native=items or None,
        ),
        stop=StopReason.REFUSAL if refusal else _STOPS.get(str(reason), stop),
        usage=_usage(data.get("usage")),
        refusal=refusal,
    )


def _failure(error: Mapping[str, Any]) -> Exception:
    told = f"{error.get('code')}: {error.get('message')}"
    return Unavailable(told) if error.get("code") in _AWAY else FailedResponseError(told)


def _joined(parts: Iterable[Mapping[str, Any]], kind: str, name: str) -> str:
    return "".join(str(one.get(name) or "") for one in parts if one.get("type") == kind)


def _request(item: Mapping[str, Any]) -> ToolRequest:
    return ToolRequest(
        id=str(item.get("call_id") or ""),
        name=str(item.get("name") or ""),
        arguments=read_arguments(item.get("arguments")),
    )


def _usage(usage: Mapping[str, Any] | None) -> ModelUsage:
    return ModelUsage(
        input_tokens=count(usage, "input_tokens"),
        cached_tokens=count(usage, "cached_tokens", "input_tokens_details"),
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens", "output_tokens_details"),
    )
