"""Read actions in what a model wrote, also if it kept to the form only roughly."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar, Final

from pytest_sopbench.agents.conversation import Message, Reply, ToolRequest, ToolResult, as_object
from pytest_sopbench.agents.dialogue import NativeProtocol, Turn
from pytest_sopbench.agents.model_agent import DialogueAgent

_MARK: Final = r"^[ \t>#*_`-]*"
_LABEL: Final = re.compile(
    _MARK + r"(?P<label>action[ _]?input|action|final[ _]?answer|thought)"
    r"(?:[ \t]*\d+)?[*_`]*[ \t]*:[*_`]*",
    re.IGNORECASE | re.MULTILINE,
)
_INVENTED: Final = re.compile(
    r"(?:^[ \t>#*_`\"'\[<-]*|(?<=[}\])])[ \t]*)observation(?:[ \t]*\d+)?"
    r"(?:[ \t]*\([^()\n]{0,60}\)|[ \t]+of[ \t]+[\w.-]{1,80})?"
    r"(?:[\"'*_`\]>]*[ \t]*[:\uff1a]|[\]>]|[*_` \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a model goes on with the result of a tool, which only the tool can give."""

_CALL: Final = re.compile(r"(?P<name>[\w.-]+)\s*[(\[]\s*(?P<input>\{.*)", re.DOTALL)
_DECODER: Final = json.JSONDecoder()

NO_ACTION: Final = (
    "Action Input stands there without an Action. Write one line `Action: NAME` with the name of "
    "a tool, and below it one line `Action Input: {...}`."
)
NO_NAME: Final = "The Action names no tool. Write `Action: NAME` with the name of one tool."


def read_actions(text: str, without_input: Collection[str] = ()) -> Turn:
    """Read a reply, up to where the model began to invent results.

    What stands beside the actions is its text: an answer there is one, and their inputs are none.
    `without_input` are tools that may be called without arguments.
    """
    notes: tuple[str, ...] = ()
    invented = _INVENTED.search(text)
    if invented is not None:
        if text[invented.end() :].strip():
            notes = ("the model invented an observation, which was cut off",)
        text = text[: invented.start()].rstrip()
    labels = list(_LABEL.finditer(text))
    requests: list[ToolRequest] = []
    complaint = ""
    for place, label in enumerate(labels):
        if _kind(label) == "action":
            request = _request(text, label, labels[place + 1 :], without_input)
            requests += [request] if request.name else []
            complaint = complaint if request.name else NO_NAME
        elif _kind(label) == "actioninput" and not _follows_action(labels, place):
            complaint = NO_ACTION
    return Turn(
        # What was cut off goes back to nobody, so the reply is told anew and not as it came.
        message=Message(role="assistant", text=text),
        text=_beside(text, labels),
        requests=tuple(requests),
        complaint=complaint,
        notes=notes,
    )


def _beside(text: str, labels: list[re.Match[str]]) -> str:
    kept = [text[: labels[0].start()] if labels else text]
    for label, following in zip_longest(labels, labels[1:]):
        if _kind(label) not in ("action", "actioninput"):
            kept.append(text[label.start() : following.start() if following else len(text)])
    return "".join(kept)


def _kind(label: re.Match[str]) -> str:
    return re.sub(r"[ _]", "", label["label"]).lower()


def _follows_action(labels: list[re.Match[str]], place: int) -> bool:
    return place > 0 and _kind(labels[place - 1]) == "action"


def _request(
    text: str,
    label: re.Match[str],
    following: list[re.Match[str]],
    without_input: Collection[str],
) -> ToolRequest:
    end = following[0].start() if following else len(text)
    said = text[label.end() : end].strip()
    if following and _kind(following[0]) == "actioninput":
        after = following[1].start() if len(following) > 1 else len(text)
        return ToolRequest(name=_name(said), arguments=_arguments(text[following[0].end() : after]))
    call = _CALL.match(said.strip("`*_ "))
    if call is not None:
        return ToolRequest(name=call["name"], arguments=_arguments(call["input"]))
    name = _name(said)
    return ToolRequest(name=name, arguments={} if name in without_input else "")


def _name(said: str) -> str:
    first = said.partition("\n")[0]
    return first.strip().strip("`*_\"'[](). ").strip()


def _arguments(said: str) -> Any:
    """Return the first JSON object, whatever stands around it; else the text as it is."""
    start = said.find("{")
    if start < 0:
        return said.strip()
    try:
        return _DECODER.raw_decode(said, start)[0]
    except ValueError:
        return _python(said[start:])


def _python(said: str) -> Any:
    """Read a dict as Python writes it, which models do if they were shown Python."""
    whole = said[: said.rfind("}") + 1]
    try:
        read = ast.literal_eval(whole)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return said.strip().strip("`").strip()
    found = as_object(read)
    return said.strip() if found is None else found


# The ReAct agent: thoughts, actions and observations as text, for any model that writes text.

STOP: Final[tuple[str, ...]] = ("\nObservation:",)
"""Where a model should stop; one that goes on has invented what follows."""


_FINAL: Final = re.compile(
    r"^[ \t>#*_`-]*Final Answer[*_`]*[ \t]*:[*_`]*", re.MULTILINE | re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class ReAct(DialogueAgent):
    """An agent whose model writes `Action:` and `Action Input:`, and is given `Observation:`."""

    name: ClassVar[str] = "react"

    def protocol(self, tools: tuple[Mapping[str, Any], ...]) -> NativeProtocol:
        return TextProtocol(tools)

    def document(self, text: str) -> str:
        # What stands before the label is the thought that the prompt asks for.
        return _FINAL.split(text)[-1].strip()


class TextProtocol(NativeProtocol):
    """Tools stand in the prompt, and calls in what the model writes."""

    def __init__(self, specs: tuple[Mapping[str, Any], ...]) -> None:
        super().__init__(())
        self._without_input = frozenset(
            str(spec["name"]) for spec in specs if not spec["parameters"].get("required")
        )
        # Without tools nothing is observed, and an answer may well speak of observations.
        self.stop = STOP if specs else ()

    def read(self, reply: Reply) -> Turn:
        return read_actions(reply.message.text, self._without_input)

    def results(self, results: tuple[ToolResult, ...]) -> Message:
        lines = [f"Observation: {_spelled(one)}" for one in results]
        if len(results) > 1:
            lines = [f"Observation of {one.request.name}: {_spelled(one)}" for one in results]
        return Message(role="user", text="\n".join(lines))


def _spelled(result: ToolResult) -> str:
    return json.dumps(result.content, ensure_ascii=False)
