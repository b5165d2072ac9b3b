"""Which tools a reply asks for, in the words of each provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_sopbench._replay.tape.exchange import Response, asked_tools

CHAT = {"index": 0, "id": "call_1", "type": "function"}
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weigh"}
TOOL = {"type": "function", "name": "weigh", "parameters": {"properties": {"name": {}}}}


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def events(*values: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + body(one) + b"\n\n" for one in values) + b"data: [DONE]\n"


def messages(*values: Any) -> bytes:
    """The event stream of AWS; its checksums are for its clients."""
    header = b"\x05:type\x07\x00\x05event"
    framed = ((header, body(one)) for one in values)
    return b"".join(
        (len(head) + len(data) + 16).to_bytes(4) + len(head).to_bytes(4) + b"\n{}\n" + head + data
        + b"crc!" for head, data in framed
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        pytest.param(
            body({"choices": [{"message": {"tool_calls": [
                {**CHAT, "function": {"name": "weigh", "arguments": '{"name": "x"}'}},
                {**CHAT, "id": "call_2", "function": {"name": "label", "arguments": "{}"}},
            ]}}]}), ("weigh", "label"), id="OpenAI, chat",
        ),
        pytest.param(
            events(
                {"choices": [{"delta": {"tool_calls": [
                    {**CHAT, "function": {"name": "weigh", "arguments": ""}}]}}]},
                {"choices": [{"delta": {"tool_calls": [
                    {"index": 0, "function": {"arguments": '{"a'}}]}}]},
                {"choices": [{"delta": {"tool_calls": [
                    {**CHAT, "id": "call_2", "function": {"name": "weigh", "arguments": ""}}]}}]},
            ), ("weigh", "weigh"), id="OpenAI, chat, streamed",
        ),
        pytest.param(
            events(
                {"response": {"id": "resp_1", "tools": [TOOL], "output": []}},
                {"item": {**ITEM, "arguments": ""}},
                {"item_id": "fc_1", "name": "weigh", "arguments": "{}"},
                {"item": {**ITEM, "arguments": "{}"}},
                {"response": {"tools": [TOOL], "output": [{**ITEM, "arguments": "{}"}]}},
            ), ("weigh",), id="OpenAI, responses, streamed",
        ),
        pytest.param(
            body({"id": "msg_1", "content": [
                {"type": "text", "text": "Both."},
                {"type": "tool_use", "id": "t_1", "name": "weigh", "input": {"name": "label"}},
                {"type": "tool_use", "id": "t_2", "name": "label", "input": {}},
            ]}), ("weigh", "label"), id="Anthropic",
        ),
        pytest.param(
            events(
                {"content_block": {"type": "tool_use", "id": "t_1", "name": "weigh", "input": {}}},
                {"delta": {"type": "input_json_delta", "partial_json": '{"name": "label"}'}},
            ), ("weigh",), id="Anthropic, streamed",
        ),
        pytest.param(
            body({"output": {"message": {"content": [
                {"toolUse": {"toolUseId": "t_1", "name": "weigh", "input": {}}},
                {"toolUse": {"toolUseId": "t_2", "name": "weigh", "input": {}}},
            ]}}}), ("weigh", "weigh"), id="Bedrock",
        ),
        pytest.param(
            messages(
                {"start": {"toolUse": {"toolUseId": "t_1", "name": "weigh"}}},
                {"delta": {"toolUse": {"input": '{"name"'}}},
                {"start": {"toolUse": {"toolUseId": "t_2", "name": "label"}}},
            ), ("weigh", "label"), id="Bedrock, streamed",
        ),
        pytest.param(
            body({"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "weigh"}}, {"functionCall": {"name": "weigh", "args": {}}}
            ]}}]}), ("weigh", "weigh"), id="Gemini",
        ),
        pytest.param(
            body({"message": {"tool_calls": [{"function": {"name": "weigh", "arguments": {}}}]}})
            + b"\n" + body({"done": True}), ("weigh",), id="Ollama, streamed",
        ),
        pytest.param(body({"content": "weigh it", "name": "ann"}), (), id="no call"),
        pytest.param(b"\xff\x00 weigh", (), id="no JSON"),
        pytest.param(b"[" * 100_000, (), id="deeper than any reply"),
        pytest.param(b"", (), id="nothing"),
    ],
)  # fmt: skip
def test_tools_that_a_reply_asks_for(sent: bytes, asked: tuple[str, ...]) -> None:
    halves = sent[: len(sent) // 2], sent[len(sent) // 2 :]

    found = asked_tools(Response(status=200, chunks=halves))

    assert asked == found
