"""Bedrock's `converse`, which wants the sides to take turns and no text to be blank."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from .competent import Move
from .seen import Call, Seen, in_text
from .spoken import action_text, refuse

STOPS = {
    "end": "end_turn",
    "length": "max_tokens",
    "filter": "content_filtered",
    "refusal": "refusal",
}


def seen(body: dict[str, Any]) -> Seen:
    messages = body["messages"]
    _check(messages, "toolConfig" in body)
    instructions = "\n".join(one["text"] for one in body.get("system", ()))
    stop = body.get("inferenceConfig", {}).get("stopSequences", [])
    if "toolConfig" not in body:
        turns = [(one["role"], _text(one)) for one in messages]
        return in_text(instructions, turns, stop)
    calls: dict[str, Call] = {}
    said = []
    for message in messages:
        for block in message["content"]:
            if use := block.get("toolUse"):
                calls[use["toolUseId"]] = Call(use["name"], use["input"])
            elif result := block.get("toolResult"):
                told = json.dumps(result["content"][0]["json"])
                calls[result["toolUseId"]].result = told
            elif message["role"] == "user":
                said.append(block["text"])
    specs = [one["toolSpec"] for one in body["toolConfig"]["tools"]]
    tools = {one["name"]: one["inputSchema"]["json"] for one in specs}
    return Seen(instructions, said, tools, [*calls.values()], stop=stop)


def _text(message: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in message["content"] if "text" in block)


def _check(messages: list[dict[str, Any]], has_tools: bool) -> None:
    roles = [one["role"] for one in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        refuse(f"roles must alternate, and a user must speak last: {roles}")
    for before, after in pairwise(messages):
        uses = [block["toolUse"] for block in before["content"] if "toolUse" in block]
        results = [one["toolResult"] for one in after["content"] if "toolResult" in one]
        if [one["toolUseId"] for one in uses] != [one["toolUseId"] for one in results]:
            refuse("toolUse without its toolResult in the next message")
        if uses and not has_tools:
            refuse("toolConfig must be given where there are toolUse blocks")
        if uses and "reasoningContent" not in before["content"][0]:
            refuse("the reasoning before a toolUse must come back")
    for message in messages:
        if not message["content"] or any(
            not one.get("text", "-").strip() for one in message["content"]
        ):
            refuse("a message is blank")


def reply(move: Move, asked: Seen, body: dict[str, Any], number: int) -> dict[str, Any]:
    reasoning = {"text": "It stands in the procedure.", "signature": f"signed {number}"}
    content: list[dict[str, Any]] = [{"reasoningContent": {"reasoningText": reasoning}}]
    text = action_text(move, asked) if move.calls and not asked.native else move.text
    if text:
        content.append({"text": text})
    stop = STOPS[move.stop]
    if asked.native and move.calls:
        stop = "tool_use"
        content += [
            {
                "toolUse": {
                    "toolUseId": f"use_{number}_{place}",
                    "name": call.name,
                    "input": call.arguments,
                }
            }
            for place, call in enumerate(move.calls)
        ]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": {
            "inputTokens": 50,
            "cacheReadInputTokens": 40,
            "cacheWriteInputTokens": 10,
            "outputTokens": 20,
            "totalTokens": 120,
        },
        "metrics": {"latencyMs": 1},
    }
