"""The work on one step: the model calls tools until it says that the step is done.

It says so with a tool of the agent's own, which tells what the step has found and where to go on.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    Reply,
    ToolRequest,
    ToolResult,
    as_object,
)
from pytest_sopbench.agents.dialogue import Repeats, Step, has_answer, missing, withheld


@dataclass(slots=True)
class Turns:
    """The replies that a run may still ask for."""

    left: int

    def take(self) -> bool:
        """Count one more, and tell whether there was one left."""
        self.left -= 1
        return self.left >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """How the work on a step ended: it is completed, or `error` or `is_over_limit` says why not.

    `answer` is a text of the model that holds the answer; if the model would say nothing else,
    `is_final` holds and the step counts as the last one.
    """

    messages: tuple[Message, ...]
    completion: Completion | None = None
    calls: tuple[ToolResult, ...] = ()
    answer: str = ""
    is_final: bool = False
    error: str = ""
    is_over_limit: bool = False
    notes: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class StepWork:
    """One dialogue on one step: what is said, the tools, all steps, and the output fields."""

    turns: Turns
    number: str
    opening: tuple[Message, ...]
    reminder: str
    tools: tuple[Mapping[str, Any], ...]
    numbers: Sequence[str]
    output_fields: Mapping[str, object]
    _messages: list[Message] = field(default_factory=list[Message])
    _calls: list[ToolResult] = field(default_factory=list[ToolResult])
    _notes: list[str] = field(default_factory=list[str])
    _repeats: Repeats = field(default_factory=Repeats)
    _answer: str = ""

    def steps(self) -> Generator[Step, Any, Worked]:
        """Yield what to do, and return how it ended."""
        self._messages += self.opening
        reminded = False
        while self.turns.take():
            reply: Reply = yield self._request()
            self._keep(reply)
            refused = withheld(reply)
            if refused:
                return self._ended(error=refused)
            if reply.message.requests:
                reminded = False
                completion = yield from self._served(reply.message.requests)
                if completion is not None:
                    return self._ended(completion=completion)
            elif reminded:
                return self._silent(reply)
            else:
                reminded = True
                self._notes.append(f"reminded in step {self.number} to complete it")
                self._messages.append(Message(role="user", text=self.reminder))
        return self._ended(is_over_limit=True)

    def _request(self) -> ModelRequest:
        own = _completion_spec(self.numbers)
        return ModelRequest(messages=tuple(self._messages), tools=(*self.tools, own))

    def _keep(self, reply: Reply) -> None:
        message = reply.message
        # An empty message is refused by some providers, and tells a model nothing.
        if message.text or message.requests or message.native:
            self._messages.append(message)
        if has_answer(message.text, self.output_fields):
            self._answer = message.text

    def _served(self, requests: tuple[ToolRequest, ...]) -> Generator[Step, Any, Completion | None]:
        """Make the calls of a reply; return the completion if it is one."""
        others = tuple(one for one in requests if one.name != COMPLETE)
        made: tuple[ToolResult, ...] = ()
        if others:
            made = yield others
            self._calls += made
        fault = "call it alone, once you have seen the results of the other calls"
        if len(requests) == 1 and not others:
            try:
                return _read_completion(requests[0], self.numbers)
            except _IncompleteError as incomplete:
                fault = str(incomplete)
        results = {id(one.request): one for one in made}
        told = (
            results.get(id(one))
            or ToolResult(request=one, content={"error": f"not done: {fault}"}, failed=True)
            for one in requests
        )
        self._messages.append(Message(role="tool", results=tuple(told)))
        self._complain(requests)
        return None

    def _complain(self, requests: tuple[ToolRequest, ...]) -> None:
        complaint = self._repeats.complaint(requests)
        if complaint:
            self._notes += self._repeats.note(requests)
            self._messages.append(Message(role="user", text=complaint))

    def _silent(self, reply: Reply) -> Worked:
        """End with a model that was reminded, and calls nothing."""
        text = reply.message.text
        if has_answer(text, self.output_fields):
            told = f"the answer was given in step {self.number}, which was not completed"
            self._notes.append(told)
            done = Completion(summary=text.strip(), following=END)
            return self._ended(completion=done, is_final=True)
        unread = missing(reply, text)
        told = f"step {self.number} was not completed: no tool and no {COMPLETE} was called"
        return self._ended(error=unread or told)

    def _ended(self, **how: Any) -> Worked:
        return Worked(
            messages=tuple(self._messages),
            calls=tuple(self._calls),
            answer=self._answer,
            notes=tuple(self._notes),
            **how,
        )


# The tool that completes a step.

COMPLETE: Final = "complete_step"
END: Final = "answer"
"""What stands in the place of a step when the procedure is at its end."""


class _IncompleteError(Exception):
    """A call of the tool that does not complete the step; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A step that is done: what it has found, and where the SOP goes on, if it says so."""

    summary: str
    following: str = ""


def _completion_spec(numbers: Sequence[str]) -> Mapping[str, Any]:
    """Return the tool spec, for an SOP with these steps."""
    return {
        "name": COMPLETE,
        "description": "Say that the current step is done. Call it alone, after all results.",
        "parameters": {
            "type": "object",
            "properties": {
                "summary": {
                    "type": "string",
                    "description": "What this step has found, decided or done: every value that a "
                    "later step may need.",
                },
                "next": {
                    "type": "string",
                    "enum": [*numbers, END],
                    "description": "Only if the procedure orders to go on elsewhere than at the "
                    f"next step: the number of that step, or {END!r} if it ends here.",
                },
            },
            "required": ["summary"],
            "additionalProperties": False,
        },
    }


def _read_completion(request: ToolRequest, numbers: Sequence[str]) -> Completion:
    """Read a call of the tool.

    Raises:
        _IncompleteError: it has no summary, or names a step that there is not.
    """
    given = as_object(request.arguments)
    if given is None:
        msg = f"the arguments of {COMPLETE} must be one JSON object with a summary"
        raise _IncompleteError(msg)
    summary = given.get("summary")
    if not isinstance(summary, str) or not summary.strip():
        msg = "the summary is missing: say in words what this step has found"
        raise _IncompleteError(msg)
    wanted = given.get("next")
    if wanted is None or wanted == "":
        return Completion(summary=summary.strip())
    named = str(wanted).strip().removeprefix("Step ").removeprefix("step ")
    if named not in (*numbers, END):
        msg = f"there is no step {wanted!r}; the steps are {', '.join(numbers)}, or {END!r}"
        raise _IncompleteError(msg)
    return Completion(summary=summary.strip(), following=named)
