"""Chat completions, plain and streamed, as strict as OpenAI's own server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .competent import Move
from .seen import Call, Seen, in_text, read
from .spoken import action_text, refuse

STOPS = {"end": "stop", "length": "length", "filter": "content_filter", "refusal": "stop"}


def seen(body: dict[str, Any]) -> Seen:
    messages = body["messages"]
    _check(messages)
    messages = [{**one, "content": _text(one.get("content"))} for one in messages]
    instructions = "\n".join(one["content"] for one in messages if one["role"] == "system")
    stop = list(body.get("stop") or [])
    if "tools" not in body:
        turns = [(one["role"], one["content"]) for one in messages if one["role"] != "system"]
        return in_text(instructions, turns, stop)
    calls: dict[str, Call] = {}
    said = []
    for message in messages:
        for call in message.get("tool_calls") or ():
            function = call["function"]
            calls[call["id"]] = Call(function["name"], read(function["arguments"]))
        if message["role"] == "tool":
            calls[message["tool_call_id"]].result = message["content"]
        if message["role"] == "user":
            said.append(message["content"])
    tools = {one["function"]["name"]: one["function"]["parameters"] for one in body["tools"]}
    return Seen(instructions, said, tools, [*calls.values()], stop=stop)


def _text(content: Any) -> str:
    """Return a text, also of the parts in which some clients send one."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _check(messages: list[dict[str, Any]]) -> None:
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                refuse("a tool message answers no tool call")
            waiting.remove(message["tool_call_id"])
        elif waiting:
            refuse("tool calls are not answered")
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    if waiting:
        refuse("tool calls are not answered")


def reply(move: Move, asked: Seen, body: dict[str, Any], number: int) -> dict[str, Any]:
    silent = "" if not move.calls and move.stop == "end" else None
    content = move.text or silent
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    stop = STOPS[move.stop]
    if move.stop == "refusal":
        message |= {"content": None, "refusal": move.text}
    if move.calls and asked.native:
        stop = "tool_calls"
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": _written(call.arguments)},
            }
            for place, call in enumerate(move.calls)
        ]
    elif move.calls:
        message["content"] = action_text(move, asked)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def streamed(whole: dict[str, Any]) -> Iterator[bytes]:
    """Say the same in pieces: each text in two, then the reason of the stop, then the usage."""
    choice = whole["choices"][0]
    message, usage = choice["message"], whole["usage"]
    start = {name: whole[name] for name in ("id", "created", "model")}
    start["object"] = "chat.completion.chunk"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    text = message["content"] or ""
    deltas += [
        {"content": part} for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part
    ]
    for place, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        half = len(arguments) // 2
        first = {**call, "index": place, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        deltas += [
            {"tool_calls": [{"index": place, "function": {"arguments": part}}]}
            for part in (arguments[:half], arguments[half:])
        ]
    chunks: list[dict[str, Any]] = [
        {**start, "choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas
    ]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks += [{**start, "choices": [end]}, {**start, "choices": [], "usage": usage}]
    for chunk in chunks:
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"
