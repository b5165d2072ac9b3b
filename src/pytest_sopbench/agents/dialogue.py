"""The loop between a model and the tools of a run; it knows no provider, and waits for nobody.

It is a generator: it yields a request to the model or requests to tools, and is sent what came of
them. So one loop serves sync and async clients, and is tested without any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.steps import ApprovalDecision, ApprovalRequest
from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    Reply,
    StopReason,
    ToolRequest,
    ToolResult,
)

SAME_CALLS: Final = 3
"""From how many equal calls in a row on a model is told that it goes round in a circle."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages of which no request will tell any more."""

    messages: tuple[Message, ...]


Step: TypeAlias = ModelRequest | tuple[ToolRequest, ...] | ApprovalRequest | Transcript
Came: TypeAlias = Reply | tuple[ToolResult, ...] | ApprovalDecision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a reply comes to: the message to keep, the calls asked for, what was said beside them.

    `complaint` tells the model what is wrong with a reply that asks for no call that can be made.
    """

    message: Message
    text: str
    requests: tuple[ToolRequest, ...] = ()
    complaint: str = ""
    notes: tuple[str, ...] = ()


class NativeProtocol:
    """How an agent and a model speak of tools: natively, unless an agent has its own way.

    Tools go with every request, and replies are taken as they are.
    """

    stop: tuple[str, ...] = ()

    def __init__(self, tools: tuple[Mapping[str, Any], ...]) -> None:
        self.tools = tools

    def read(self, reply: Reply) -> Turn:
        message = reply.message
        return Turn(message=message, text=message.text, requests=message.requests)

    def results(self, results: tuple[ToolResult, ...]) -> Message:
        return Message(role="tool", results=results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How a dialogue ended: `error` says why there is no answer, `over_limit` that it was cut."""

    text: str
    messages: tuple[Message, ...]
    error: str = ""
    over_limit: str = ""
    notes: tuple[str, ...] = ()

    @property
    def returned(self) -> object:
        """What an agent returns of it: the text, or the text beside what went wrong."""
        return {"output": self.text, "error": self.error} if self.error else self.text


class Repeats:
    """Notices a model that makes the same calls again and again."""

    def __init__(self) -> None:
        self._last: list[tuple[str, object]] = []
        self._count = 1

    def complaint(self, requests: tuple[ToolRequest, ...]) -> str:
        """Take note of calls, and return what to tell the model of them, if anything."""
        same = [(one.name, one.arguments) for one in requests]
        self._count = self._count + 1 if same == self._last else 1
        self._last = same
        if self._count < SAME_CALLS:
            return ""
        return (
            f"You have made exactly this call {self._count} times: {_names(requests)}. Its result "
            "will not change. Go on with the next step of the procedure, or give the answer."
        )

    def note(self, requests: tuple[ToolRequest, ...]) -> tuple[str, ...]:
        """Return the note of a run, once, when it begins to go round in a circle."""
        began = self._count == SAME_CALLS
        told = f"the model made the same call again and again: {_names(requests)}"
        return (told,) if began else ()


class Dialogue:
    """One dialogue on one task.

    Args:
        protocol: how tools are spoken of.
        opening: what is said first.
        again: what is said to a reply in which no answer was found; it is said once.
        output_fields: the fields of the answer.
        max_turns: replies after which the dialogue ends.
    """

    def __init__(
        self,
        protocol: NativeProtocol,
        *,
        opening: tuple[Message, ...],
        again: Callable[[Reply], str],
        output_fields: Mapping[str, object],
        max_turns: int,
    ) -> None:
        self._protocol = protocol
        self._messages = [*opening]
        self._again = again
        self._fields = output_fields
        self._max_turns = max_turns
        self._notes: list[str] = []
        self._answer = ""
        self._asked_again = False
        self._repeats = Repeats()

    def steps(self) -> Generator[Step, Any, Finding]:
        """Yield what to do, and return how it ended."""
        for _ in range(self._max_turns):
            reply: Reply = yield self._request()
            refused = withheld(reply)
            if refused:
                self._keep(reply.message)
                return self._finding(reply.message.text, error=refused)
            turn = self._protocol.read(reply)
            self._keep(turn.message)
            self._notes += turn.notes
            # What is cut off may be cut in its answer.
            is_whole = reply.stop is not StopReason.LENGTH or self._asked_again
            if is_whole and has_answer(turn.text, self._fields):
                self._answer = turn.text
            elif self._answer and self._fields and turn.text.strip():
                # What is said later may take the answer back.
                self._answer += f"\n\n{turn.text}"
            if turn.requests:
                self._take(turn.requests, (yield turn.requests))
            elif turn.complaint:
                self._say(turn.complaint)
            elif self._answer:
                return self._finding(self._answer)
            elif self._asked_again:
                return self._finding(turn.text, error=missing(reply, turn.text))
            else:
                self._ask_again(reply)
        limit = f"passed its limit of {self._max_turns} turns without an answer"
        return self._finding("", over_limit=limit)

    def _request(self) -> ModelRequest:
        return ModelRequest(
            messages=tuple(self._messages), tools=self._protocol.tools, stop=self._protocol.stop
        )

    def _keep(self, message: Message) -> None:
        # An empty message is refused by some providers, and tells a model nothing.
        if message.text or message.requests or message.native:
            self._messages.append(message)

    def _say(self, text: str) -> None:
        self._messages.append(Message(role="user", text=text))

    def _take(self, requests: tuple[ToolRequest, ...], results: tuple[ToolResult, ...]) -> None:
        self._messages.append(self._protocol.results(results))
        complaint = self._repeats.complaint(requests)
        if complaint:
            self._notes += self._repeats.note(requests)
            self._say(complaint)

    def _ask_again(self, reply: Reply) -> None:
        self._asked_again = True
        why = "was cut off" if reply.stop is StopReason.LENGTH else "had no answer"
        why = why if reply.message.text else "was empty"
        self._notes.append(f"asked once more for the answer: the reply {why}")
        self._say(self._again(reply))

    def _finding(self, text: str, *, error: str = "", over_limit: str = "") -> Finding:
        return Finding(
            text=text,
            messages=tuple(self._messages),
            error=error,
            over_limit=over_limit,
            notes=tuple(self._notes),
        )


def withheld(reply: Reply) -> str:
    """Say why a reply is no work of the model: it refused, or the provider kept it back."""
    if reply.stop is StopReason.REFUSAL:
        return f"refusal: {reply.refusal or reply.message.text or 'the model gave no reason'}"
    if reply.stop is StopReason.CONTENT_FILTER:
        return f"content filter: {reply.refusal or 'the provider withheld the reply'}"
    return ""


def _names(requests: tuple[ToolRequest, ...]) -> str:
    return ", ".join(one.name for one in requests)


def missing(reply: Reply, text: str) -> str:
    """Say why a reply has nothing that can be read, or nothing if it has a text."""
    if reply.stop is StopReason.LENGTH:
        return "cut off: the reply reached its limit of tokens, see max_tokens"
    if not text.strip():
        return "empty reply: the model said nothing, also when it was asked again"
    # Whoever judges the text says what it lacks.
    return ""


# Whether a model's text holds an answer, so that a model is asked again only if not.
#
# It decides no run: what the text is worth is judged by who runs the agent.

_REASONING: Final = re.compile(
    r"<(think|thinking|analysis|reasoning|scratchpad)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_DECODER: Final = json.JSONDecoder()


def has_answer(text: str, output_fields: Mapping[str, object]) -> bool:
    """Whether every output field has a value: in JSON, in tags, or in `Field: value` lines."""
    if not output_fields:
        # The answer is a document, of which nothing but its brackets is known here.
        return next(_objects(_REASONING.sub(" ", text)), None) is not None
    said = unescape(_REASONING.sub(" ", text))
    wanted = {_folded(name) for name in output_fields}
    if any(wanted <= {*map(_folded, found)} for found in _objects(said)):
        return True
    if all(
        _is_tagged(name, said) or _on_a_line(name, one, said) for name, one in output_fields.items()
    ):
        return True
    return len(output_fields) == 1 and _is_only_answer(said, *output_fields.values())


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    place = text.find("{")
    while place >= 0:
        try:
            found, end = _DECODER.raw_decode(text, place)
        except ValueError:
            end = place + 1
        else:
            yield cast("dict[str, Any]", found)
        place = text.find("{", end)


def _is_tagged(name: str, text: str) -> bool:
    return re.search(rf"<{_spelled(name)}(\s[^<>]*)?>\s*[^<\s]", text, re.IGNORECASE) is not None


def _on_a_line(name: str, allowed: object, text: str) -> bool:
    line = rf"^[\s>*_`#|-]*{_spelled(name)}[*_`\s]*[:=|](.*)"
    found = re.findall(line, text, re.IGNORECASE | re.MULTILINE)
    known = _labels(allowed)
    # Of a field with known values, any other words are a thought about it.
    return any(_bare(one) in known if known else _bare(one) for one in found)


def _is_only_answer(text: str, allowed: object) -> bool:
    # An object that JSON can read was found before; one in Python's spelling is read by the judge.
    if re.search(r"<(final_\w+|answer|decision)>\s*([^<\s{]|\{\s*')", text, re.IGNORECASE):
        return True
    if re.search(r"^\W*(final )?(answer|decision)\W*[:=]\W*\w", text, re.IGNORECASE | re.MULTILINE):
        return True
    return _bare(text) in _labels(allowed)


def _labels(allowed: object) -> frozenset[str]:
    values = cast("list[object]", allowed) if isinstance(allowed, list) else []
    return frozenset(_folded(str(value)) for value in values)


def _bare(text: str) -> str:
    return _folded(text.strip(" .`*|\"'\r\n"))


def _spelled(name: str) -> str:
    return r"[ _-]".join(re.escape(part) for part in re.split(r"[ _-]", name))


def _folded(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text).strip().casefold()
