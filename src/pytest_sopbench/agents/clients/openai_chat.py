"""OpenAI's chat completions, which most other servers speak as well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

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

from .openai_sdk import OpenAISdk, count
from .scrub import scrubbed

_STOPS: Final = {
    "length": StopReason.LENGTH,
    "content_filter": StopReason.CONTENT_FILTER,
    "tool_calls": StopReason.TOOL_REQUESTS,
}


class OpenAIChat:
    """`openai/MODEL`."""

    takes = frozenset(
        {
            "temperature",
            "top_p",
            "max_tokens",
            "seed",
            "reasoning_effort",
            "base_url",
            "api_key",
        }
    )
    """The settings that this provider knows."""

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        self._model = model
        self._sdk = OpenAISdk(connection)
        self._sdk.check()
        self._parameters = dict(parameters)
        if "max_tokens" in self._parameters and not self._sdk.is_own_server:
            # OpenAI's newer models refuse the old name, which is all that other servers know.
            self._parameters["max_completion_tokens"] = self._parameters.pop("max_tokens")

    def complete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._sdk.secrets):
            return _reply(self._sdk.client.chat.completions.create(**self._body(request)))

    async def acomplete(self, request: ModelRequest) -> Reply:
        with scrubbed(self._sdk.secrets):
            return _reply(await self._sdk.aclient.chat.completions.create(**self._body(request)))

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [one for message in request.messages for one in _spoken(message)],
            **self._parameters,
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": {**one}} for one in request.tools]
        if request.stop:
            body["stop"] = list(request.stop)
        if request.reply_schema is not None:
            schema = {"name": "reply", "strict": True, "schema": dict(request.reply_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body


def _spoken(message: Message) -> Iterator[dict[str, Any]]:
    for result in message.results:
        content = json.dumps(result.content, ensure_ascii=False)
        yield {"role": "tool", "tool_call_id": result.request.id, "content": content}
    if message.native is not None:
        yield message.native
    elif not message.results:
        yield {"role": message.role, "content": message.text}


def _reply(completion: Any) -> Reply:
    data: dict[str, Any] = completion.to_dict(mode="json", warnings=False)
    choices: list[dict[str, Any]] = data.get("choices") or [{}]
    choice = choices[0]
    said: dict[str, Any] = choice.get("message") or {}
    text = _text(said.get("content"))
    calls: list[dict[str, Any]] = said.get("tool_calls") or []
    requests = tuple(map(_request, calls))
    native: dict[str, Any] | None = None
    if requests:
        native = {"role": "assistant", "content": text or None, "tool_calls": calls}
    refusal = said.get("refusal") or ""
    stop = _STOPS.get(str(choice.get("finish_reason")), StopReason.END)
    return Reply(
        message=Message(role="assistant", text=text, requests=requests, native=native),
        stop=StopReason.REFUSAL if refusal else stop,
        usage=_usage(data.get("usage")),
        refusal=refusal,
    )


def _request(call: Mapping[str, Any]) -> ToolRequest:
    function: Mapping[str, Any] = call.get("function") or {}
    return ToolRequest(
        id=str(call.get("id") or ""),
        name=str(function.get("name") or ""),
        arguments=read_arguments(function.get("arguments")),
    )


def read_arguments(text: object) -> object:
    """Return the arguments as a dict, or as they were written where they are no JSON object."""
    if text is None or (isinstance(text, str) and not text.strip()):
        # So some models call a tool without parameters.
        return {}
    try:
        read: object = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text
    found = as_object(read)
    return text if found is None else found


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = map(as_object, cast("list[object]", content))
        return "".join(str(one.get("text") or "") for one in parts if one is not None)
    return content if isinstance(content, str) else ""


def _usage(usage: Mapping[str, Any] | None) -> ModelUsage:
    return ModelUsage(
        input_tokens=count(usage, "prompt_tokens"),
        cached_tokens=count(usage, "cached_tokens", "prompt_tokens_details"),
        output_tokens=count(usage, "completion_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens", "completion_tokens_details"),
    )
