"""Requests and replies of a made-up provider."""

from __future__ import annotations

import json
from typing import Any

from pytest_sopbench._replay.exchange import Request, Response

SOP = "\n".join(f"Step {n}: weigh the parcel, and write its weight down." for n in range(1, 200))
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Returns the {name} of a parcel, as the register has it.",
            "parameters": {
                "type": "object",
                "properties": {"parcel_id": {"type": "string", "description": "its number"}},
                "required": ["parcel_id"],
            },
        },
    }
    for name in ("weight", "size", "owner", "value")
]


def request(body: Any, url: str = "https://api.example.com/v1/chat/completions") -> Request:
    headers = (("authorization", "Bearer not-for-disk-0123456789"), ("date", "today"))
    return Request(method="POST", url=url, headers=headers, body=json.dumps(body).encode())


def reply(value: Any) -> Response:
    headers = (("content-type", "application/json"), ("set-cookie", "session=not-for-disk-1"))
    return Response(status=200, headers=headers, chunks=(json.dumps(value).encode(),))


def conversation(turns: int, task: str = "P_1", **more: Any) -> list[tuple[Request, Response]]:
    """Return a conversation over a long SOP, in which each turn is one tool call."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": f"Follow this procedure.\n\n{SOP}\n\nAnswer in JSON."},
        {"role": "user", "content": json.dumps({"parcel_id": task, "sender": "Ms. Roe"})},
    ]
    exchanges: list[tuple[Request, Response]] = []
    for turn in range(1, turns + 1):
        body = {"model": "small-1", "messages": [*messages], "tools": TOOLS, **more}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{task}_{turn}",
                    "type": "function",
                    "function": {"name": "weight", "arguments": json.dumps({"parcel_id": task})},
                }
            ],
        }
        if turn == turns:
            message = {"role": "assistant", "content": '{"class": "C"}'}
        exchanges.append((request(body), reply(_completion(task, turn, message))))
        result = {"role": "tool", "tool_call_id": f"call_{task}_{turn}", "content": f"{turn} kg"}
        messages += [message, result]
    return exchanges


def _completion(task: str, turn: int, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{task}-{turn}",
        "object": "chat.completion",
        "created": 1_760_000_000 + turn,
        "model": "small-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3_000, "completion_tokens": 20, "total_tokens": 3_020},
    }
