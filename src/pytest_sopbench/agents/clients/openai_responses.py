"""OpenAI's Responses API: items in, items out, reasoning among them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from pytest_sopbench.agents.clients.broken import (
    FILTERED,
    NAME,
    FailedResponseError,
    counts_output,
    sent_arguments,
    valid_ids,
    valid_name,
)
from pytest_sopbench.agents.clients.openai_chat import read_arguments
from pytest_sopbench.agents.clients.openai_sdk import OpenAISdk, count
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

_AWAY: Final = frozenset({"server_error", "rate_limit_exceeded"})
_INCOMPLETE_REASONS: Final = {
    "max_output_tokens": StopReason.LENGTH,
    FILTERED: StopReason.CONTENT_FILTER,
}
_NOT_ENDED: Final = ("queued", "in_progress", "cancelled")


class OpenAIResponses(OpenAISdk):
    """`openai-responses/MODEL`."""

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        super().__init__(connection, "responses", find_fault, _reply)
        self._model = model
        given = dict(parameters)
        if "max_tokens" in given:
            given["max_output_tokens"] = given.pop("max_tokens")
        if "reasoning_effort" in given:
            # Only models that reason can say their reasoning so that nothing need be stored.
            given["reasoning"] = {"effort": given.pop("reasoning_effort")}
            given |= {"store": False, "include": ["reasoning.encrypted_content"]}
        self._parameters = given

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
        else:
            body.pop("parallel_tool_calls", None)
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


def find_fault(data: Mapping[str, Any]) -> str:
    """Say what a document lacks that a response must have."""
    status: object = data.get("status")
    if status == "failed":
        code = (as_object(data.get("error")) or {}).get("code")
        return "" if code and code not in _AWAY else "the response has failed"
    if status in _NOT_ENDED:
        return f"its status is {status}"
    items: object = data.get("output")
    if not isinstance(items, list) or not all(map(_is_item, cast("list[object]", items))):
        return "it has no output"
    silent = not items and status != "incomplete"
    counted = counts_output(data.get("usage"), "output_tokens")
    return "its output is empty" if silent and not counted else ""


def _is_item(item: object) -> bool:
    found = as_object(item)
    if found is None:
        return False
    content: object = found.get("content") or []
    return found.get("type") != "message" or isinstance(content, list)


def _reply(data: Mapping[str, Any], asked: ModelRequest) -> Reply:
    if data.get("status") == "failed":
        error: Mapping[str, Any] = data["error"]
        msg = f"{error.get('code')}: {error.get('message')}"
        raise FailedResponseError(msg)
    items: list[dict[str, Any]] = data["output"]
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in map(as_object, item.get("content") or ())
        if part is not None
    ]
    refusal = _joined(parts, "refusal", "refusal")
    calls = [item for item in items if item.get("type") == "function_call"]
    ids = valid_ids((one.get("call_id") for one in calls), asked, NAME)
    requests = tuple(map(_request, calls, ids))
    told = dict(zip(map(id, calls), map(_told, calls, requests), strict=True))
    incomplete = as_object(data.get("incomplete_details")) or {}
    reason = incomplete.get("reason")
    stop = StopReason.TOOL_REQUESTS if requests else StopReason.END
    return Reply(
        message=Message(
            role="assistant",
            text=_joined(parts, "output_text", "text"),
            requests=requests,
            native=[told.get(id(item), item) for item in items] or None,
        ),
        stop=StopReason.REFUSAL if refusal else _INCOMPLETE_REASONS.get(str(reason), stop),
        usage=_usage(as_object(data.get("usage"))),
        refusal=refusal,
    )


def _joined(parts: Iterable[Mapping[str, Any]], kind: str, name: str) -> str:
    return "".join(str(one.get(name) or "") for one in parts if one.get("type") == kind)


def _request(item: Mapping[str, Any], key: str) -> ToolRequest:
    return ToolRequest(
        id=key,
        name=str(item.get("name") or ""),
        arguments=read_arguments(item.get("arguments")),
    )


def _told(item: Mapping[str, Any], request: ToolRequest) -> dict[str, Any]:
    """Return a call as it goes back, with all that its server has put beside it."""
    valid = sent_arguments(item.get("arguments"), request.arguments)
    return {**item, "call_id": request.id, "name": valid_name(request.name), "arguments": valid}


def _usage(usage: Mapping[str, Any] | None) -> ModelUsage:
    return ModelUsage(
        input_tokens=count(usage, "input_tokens"),
        cached_tokens=count(usage, "cached_tokens", "input_tokens_details"),
        output_tokens=count(usage, "output_tokens"),
        reasoning_tokens=count(usage, "reasoning_tokens", "output_tokens_details"),
    )
