"""OpenAI's chat completions, which most other servers speak as well."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pytest_sopbench.agents.clients.broken import (
    FILTERED,
    filtered_categories,
    sent_arguments,
    valid_ids,
    valid_name,
)
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

_FINISH_REASONS: Final = {
    "length": StopReason.LENGTH,
    FILTERED: StopReason.CONTENT_FILTER,
    "tool_calls": StopReason.TOOL_REQUESTS,
}
_THOUGHTS: Final = ("reasoning_content", "reasoning_details")
"""What models that think beside their text want to be given back beside their calls."""


class OpenAIChat(OpenAISdk):
    """`openai/MODEL`."""

    takes = OpenAISdk.takes | {"seed"}

    def __init__(
        self, model: str, parameters: Mapping[str, object], connection: Connection
    ) -> None:
        super().__init__(connection, "chat.completions", find_fault, _reply)
        self._model = model
        self._parameters = dict(parameters)
        if "max_tokens" in self._parameters and not self.is_own_server:
            # OpenAI's newer models refuse the old name, which is all that other servers know.
            self._parameters["max_completion_tokens"] = self._parameters.pop("max_tokens")

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [one for message in request.messages for one in _spoken(message)],
            **self._parameters,
        }
        if request.tools:
            body["tools"] = [{"type": "function", "function": {**one}} for one in request.tools]
        else:
            # OpenAI refuses it if there are no tools.
            body.pop("parallel_tool_calls", None)
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


def find_fault(data: Mapping[str, Any]) -> str:
    """Say what a document lacks that a chat completion must have."""
    choices: object = data.get("choices")
    if not isinstance(choices, list) or not choices:
        return "it has no choices"
    several = cast("list[object]", choices)
    if len(several) > 1:
        # Nobody knows which of them holds.
        return f"it has {len(several)} choices where one was asked for"
    choice = as_object(several[0])
    if choice is None:
        return "its choice is no object"
    if choice.get("finish_reason") == FILTERED:
        return ""
    said = as_object(choice.get("message"))
    is_cut_off = choice.get("finish_reason") == "length"
    return "its choice has no message" if said is None else _fault_of(said, is_cut_off=is_cut_off)


def _fault_of(said: Mapping[str, Any], *, is_cut_off: bool) -> str:
    content: object = said.get("content")
    if content is not None and not isinstance(content, str | list):
        return "its content is no text"
    calls: object = said.get("tool_calls") or []
    if not isinstance(calls, list) or not all(map(_is_call, cast("list[object]", calls))):
        return "its tool_calls are no calls"
    # A model that says nothing writes an empty text, if it is not cut off or still thinking.
    is_silent = content is None and not calls and not is_cut_off
    beside = ("refusal", "reasoning", *_THOUGHTS)
    is_empty = is_silent and not any(said.get(name) for name in beside)
    return "its message has neither a text nor calls" if is_empty else ""


def _is_call(call: object) -> bool:
    return as_object((as_object(call) or {}).get("function")) is not None


def _reply(data: Mapping[str, Any], asked: ModelRequest) -> Reply:
    choice: dict[str, Any] = data["choices"][0]
    said: dict[str, Any] = choice.get("message") or {}
    text = _text(said.get("content"))
    calls: list[dict[str, Any]] = said.get("tool_calls") or []
    ids = valid_ids((call.get("id") for call in calls), asked)
    requests = tuple(map(_request, calls, ids))
    native: dict[str, Any] | None = None
    if requests:
        told = [_told(one, call) for one, call in zip(requests, calls, strict=True)]
        native = {"role": "assistant", "content": text or None, "tool_calls": told}
        native |= {name: said[name] for name in _THOUGHTS if said.get(name)}
    refusal = str(said.get("refusal") or "")
    stop = _FINISH_REASONS.get(str(choice.get("finish_reason")), StopReason.END)
    by = filtered_categories(choice.get("content_filter_results"))
    filtered = stop is StopReason.CONTENT_FILTER and by
    why = f"the provider withheld the reply ({by})" if filtered else ""
    return Reply(
        message=Message(role="assistant", text=text, requests=requests, native=native),
        stop=StopReason.REFUSAL if refusal else stop,
        usage=_usage(as_object(data.get("usage"))),
        refusal=refusal or why,
    )


def _request(call: Mapping[str, Any], key: str) -> ToolRequest:
    function: Mapping[str, Any] = call["function"]
    return ToolRequest(
        id=key,
        name=str(function.get("name") or ""),
        arguments=read_arguments(function.get("arguments")),
    )


def _told(request: ToolRequest, call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as it goes back, with all that its server has put beside it."""
    written: object = call["function"].get("arguments")
    valid = sent_arguments(written, request.arguments)
    function = {**call["function"], "name": valid_name(request.name), "arguments": valid}
    return {**call, "id": request.id, "type": "function", "function": function}


def read_arguments(text: object) -> object:
    """Return the arguments as a dict, or as they were written if they are no JSON object."""
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
