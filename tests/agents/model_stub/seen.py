"""What a request says, whichever way its provider has of saying it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

ACTION = re.compile(r"^Action: (\S+)\nAction Input: (.*)$", re.MULTILINE)
OBSERVATION = re.compile(r"^Observation(?: of \S+)?: (.*)$", re.MULTILINE)
EARLIER = re.compile(r"^Call: (\{.*\})$", re.MULTILINE)
STEP = re.compile(r'<step number="([^"]*)">\n(.*?)\n</step>', re.DOTALL)
TOOL_IN_TEXT = re.compile(r"^(\w+): .*\nArguments, as a JSON schema: (\{.*\})$", re.MULTILINE)


@dataclass
class Call:
    """A call that the model asked for earlier, and the text of its result."""

    name: str
    arguments: Any
    result: str = ""


@dataclass
class Seen:
    """A conversation: instructions, what users said, the offered tools, and earlier calls."""

    instructions: str
    said: list[str]
    tools: dict[str, Any]
    calls: list[Call]
    native: bool = True
    stop: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([self.instructions, *self.said])

    @property
    def earlier(self) -> list[Call]:
        """Calls of earlier steps, which the conversation tells of."""
        told = [json.loads(one) for text in self.said for one in EARLIER.findall(text)]
        return [Call(one["name"], one["arguments"], json.dumps(one["result"])) for one in told]

    @property
    def step(self) -> tuple[str, str] | None:
        """The number and the text of the one step that is to be carried out, if one is."""
        found = STEP.search("\n".join(self.said))
        return (found[1], found[2]) if found else None

    @property
    def inputs(self) -> dict[str, Any]:
        """The first JSON object in what a user said."""
        for text in self.said:
            start = text.find("{")
            if start >= 0:
                try:
                    found: dict[str, Any] = json.JSONDecoder().raw_decode(text, start)[0]
                except ValueError:
                    continue
                return found
        return {}

    @property
    def task(self) -> str:
        return str(self.inputs.get("product_id", ""))

    @property
    def asked_again(self) -> bool:
        return any("with a value for each of" in text for text in self.said)


def in_text(instructions: str, turns: list[tuple[str, str]], stop: list[str]) -> Seen:
    """Read a conversation that speaks of its tools in text; a turn is a role and what was said."""
    calls: list[Call] = []
    waiting: list[Call] = []
    said: list[str] = []
    for role, text in turns:
        if role == "assistant":
            waiting = [Call(name, read(given)) for name, given in ACTION.findall(text)]
            calls += waiting
            continue
        results = OBSERVATION.findall(text)
        for call, result in zip(waiting, results, strict=False):
            call.result = result
        if not results:
            said.append(text)
    tools = {name: json.loads(schema) for name, schema in TOOL_IN_TEXT.findall(instructions)}
    return Seen(instructions, said, tools, calls, native=False, stop=stop)


def read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
