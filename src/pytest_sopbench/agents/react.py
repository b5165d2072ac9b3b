"""The ReAct agent: thoughts, actions and observations as text, for any model that writes text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from .conversation import Message, Reply, ToolResult
from .dialogue import Protocolled, Turn
from .model_agent import DialogueAgent
from .react_text import read_actions

STOP: Final[tuple[str, ...]] = ("\nObservation:",)
"""Where a model should stop; one that goes on has invented what follows."""


_FINAL: Final = re.compile(
    r"^[ \t>#*_`-]*Final Answer[*_`]*[ \t]*:[*_`]*", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class ReAct(DialogueAgent):
    """An agent whose model writes `Action:` and `Action Input:`, and is given `Observation:`."""

    name: ClassVar[str] = "react"

    def protocol(self, tools: tuple[Mapping[str, Any], ...]) -> Protocolled:
        return TextProtocol(tools)

    def document(self, text: str) -> str:
        # What stands before the label is the thought that the prompt asks for.
        return _FINAL.split(text)[-1].strip()


class TextProtocol:
    """Tools stand in the prompt, and calls in what the model writes."""

    tools: tuple[Mapping[str, Any], ...] = ()

    def __init__(self, specs: tuple[Mapping[str, Any], ...]) -> None:
        self._without_input = frozenset(
            str(spec["name"]) for spec in specs if not spec["parameters"].get("required")
        )
        # Without tools nothing is observed, and an answer may well speak of observations.
        self.stop: tuple[str, ...] = STOP if specs else ()

    def read(self, reply: Reply) -> Turn:
        read = read_actions(reply.message.text, self._without_input)
        # What was cut off goes back to nobody, so the reply is told anew and not as it came.
        return Turn(
            message=Message(role="assistant", text=read.text),
            text=read.beside,
            requests=read.requests,
            complaint=read.complaint,
            notes=read.notes,
        )

    def results(self, results: tuple[ToolResult, ...]) -> Message:
        lines = [f"Observation: {_spelled(one)}" for one in results]
        if len(results) > 1:
            lines = [f"Observation of {one.request.name}: {_spelled(one)}" for one in results]
        return Message(role="user", text="\n".join(lines))


def _spelled(result: ToolResult) -> str:
    return json.dumps(result.content, ensure_ascii=False)
