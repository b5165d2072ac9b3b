"""The same few words in the shapes of the providers' APIs, whole and in events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .eventstream import message

JSON = "application/json"
EVENTS = "text/event-stream"
AWS_EVENTS = "application/vnd.amazon.eventstream"


def asked(body: dict[str, Any]) -> str:
    """The text of the last message."""
    found = (body.get("messages") or body.get("input") or [{"content": ""}])[-1]
    content = found if isinstance(found, str) else found["content"]
    return content if isinstance(content, str) else str(content[0]["text"])


def pieces(text: str) -> tuple[str, ...]:
    return tuple(f"{word} " for word in text.split())


def chat(text: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None,
                     "message": {"role": "assistant", "content": text, "refusal": None}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def chat_events(text: str) -> Iterator[bytes]:
    start = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for piece in pieces(text):
        choice = {"index": 0, "delta": {"content": piece}, "finish_reason": None}
        yield _event({**start, "choices": [choice]})
    yield b"data: [DONE]\n\n"


def response(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
        "output": [{"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
                    "content": content}],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0},
                  "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 0},
                  "total_tokens": 2},
    }  # fmt: skip


def response_events(text: str) -> Iterator[bytes]:
    number = 0
    for number, piece in enumerate(pieces(text)):
        yield _named(
            "response.output_text.delta",
            {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": piece,
             "sequence_number": number, "logprobs": []},
        )  # fmt: skip
    yield _named("response.completed", {"response": response(text), "sequence_number": number + 1})


def anthropic(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def anthropic_events(text: str) -> Iterator[bytes]:
    begun = {**anthropic(""), "content": [], "stop_reason": None}
    yield _named("message_start", {"message": begun})
    yield _named("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    for piece in pieces(text):
        delta = {"type": "text_delta", "text": piece}
        yield _named("content_block_delta", {"index": 0, "delta": delta})
    yield _named("content_block_stop", {"index": 0})
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _named("message_delta", {"delta": stop, "usage": {"output_tokens": 1}})
    yield _named("message_stop", {})


def converse(text: str) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def converse_events(text: str) -> Iterator[bytes]:
    yield message("messageStart", {"role": "assistant"})
    for piece in pieces(text):
        yield message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
    yield message("contentBlockStop", {"contentBlockIndex": 0})
    yield message("messageStop", {"stopReason": "end_turn"})


def _event(payload: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def _named(kind: str, payload: dict[str, Any]) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **payload})
