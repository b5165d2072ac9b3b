"""The Responses API: a call must come back together with the reasoning that led to it."""

from __future__ import annotations

import json
from typing import Any

from .competent import Move
from .seen import Call, Seen, in_text, read
from .spoken import action_text, refuse

REASONS = {"length": "max_output_tokens", "filter": "content_filter"}


def seen(body: dict[str, Any]) -> Seen:
    items = body["input"]
    _check(items)
    if "tools" not in body:
        turns = [(one["role"], _text(one)) for one in items if "role" in one]
        return in_text(body["instructions"], turns, [])
    calls: dict[str, Call] = {}
    said = []
    for item in items:
        kind = item.get("type")
        if kind == "function_call":
            calls[item["call_id"]] = Call(item["name"], read(item["arguments"]))
        elif kind == "function_call_output":
            calls[item["call_id"]].result = item["output"]
        elif item.get("role") == "user":
            said.append(_text(item))
    tools = {one["name"]: one["parameters"] for one in body["tools"]}
    return Seen(body["instructions"], said, tools, [*calls.values()])


def _text(item: dict[str, Any]) -> str:
    content = item["content"]
    return content if isinstance(content, str) else "".join(one["text"] for one in content)


def _check(items: list[dict[str, Any]]) -> None:
    answered = {one["call_id"] for one in items if one.get("type") == "function_call_output"}
    reasoned = {one["id"]: one for one in items if one.get("type") == "reasoning"}
    for item in items:
        if item.get("type") == "function_call":
            number = item["id"].removeprefix("fc_").partition("_")[0]
            reasoning = reasoned.get(f"rs_{number}")
            if reasoning is None or reasoning["encrypted_content"] != f"sealed {number}":
                refuse("a function call came without its required reasoning item")
            if item["call_id"] not in answered:
                refuse("no output for a function call")


def reply(move: Move, asked: Seen, body: dict[str, Any], number: int) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": [],
            "encrypted_content": f"sealed {number}",
        }
    ]
    text = action_text(move, asked) if move.calls and not asked.native else move.text
    if text:
        kind, name = ("refusal",) * 2 if move.stop == "refusal" else ("output_text", "text")
        part = {"type": kind, name: text, **({} if kind == "refusal" else {"annotations": []})}
        items.append(
            {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    if asked.native:
        items += [
            {
                "type": "function_call",
                "id": f"fc_{number}_{place}",
                "call_id": f"call_{number}_{place}",
                "name": call.name,
                "arguments": call.arguments
                if isinstance(call.arguments, str)
                else json.dumps(call.arguments),
                "status": "completed",
            }
            for place, call in enumerate(move.calls)
        ]
    reason = REASONS.get(move.stop)
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": items,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 40},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 120,
        },
    }
