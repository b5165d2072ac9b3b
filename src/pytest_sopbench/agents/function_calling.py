"""The function-calling agent: the model asks for tools in its provider's own way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_sopbench.agents.conversation import Message, Reply, ToolResult
from pytest_sopbench.agents.dialogue import Protocolled, Turn
from pytest_sopbench.agents.model_agent import DialogueAgent


@dataclass(frozen=True, kw_only=True)
class FunctionCalling(DialogueAgent):
    """An agent whose model calls tools natively, several in one reply where it likes."""

    name: ClassVar[str] = "function_calling"

    def protocol(self, tools: tuple[Mapping[str, Any], ...]) -> Protocolled:
        return NativeProtocol(tools)


@dataclass(frozen=True, slots=True)
class NativeProtocol:
    """Tools go with every request, and replies are taken as they are."""

    tools: tuple[Mapping[str, Any], ...]
    stop: tuple[str, ...] = ()

    def read(self, reply: Reply) -> Turn:
        message = reply.message
        return Turn(message=message, text=message.text, requests=message.requests)

    def results(self, results: tuple[ToolResult, ...]) -> Message:
        return Message(role="tool", results=results)
