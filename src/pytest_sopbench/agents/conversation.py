"""What is said between an agent and a model, in no provider's own words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, cast

Role = Literal["system", "user", "assistant", "tool"]


def as_object(value: object) -> dict[str, Any] | None:
    """Return a JSON object as one, and `None` for every other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


class StopReason(StrEnum):
    """Why a model stopped where it did."""

    END = "end"
    TOOL_REQUESTS = "tool_requests"
    LENGTH = "length"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A call of a tool that a model asks for.

    `arguments` are a dict, or the text that the model wrote if it is no JSON object. `id` is the
    provider's, and empty if the protocol has none.
    """

    name: str
    arguments: object
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What is given back to the model for one of its requests."""

    request: ToolRequest
    content: Mapping[str, Any]
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message.

    A message of the role `tool` has the results of all requests of the assistant's message before
    it. `native` is an assistant's message as its provider gave it, and goes back unchanged.
    """

    role: Role
    text: str = ""
    requests: tuple[ToolRequest, ...] = ()
    results: tuple[ToolResult, ...] = ()
    native: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """Tokens of one reply; `None` is unknown. `model` and `server` tell which price they have.

    Tokens from and for a cache are a part of the input, and reasoning tokens are a part of the
    output, whatever the provider's own counts are.
    """

    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    model: str = ""
    server: str = ""

    def as_report(self) -> dict[str, int | str]:
        """Return what `tools.report(usage=...)` takes; unknown counts are left out."""
        counts = {
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
        }
        known = {name: count for name, count in counts.items() if count is not None}
        asked = {"model": self.model, "server": self.server}
        return {"model_calls": 1, **known, **{name: one for name, one in asked.items() if one}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The conversation so far.

    `tools` are tool specs with `name`, `description` and `parameters`, a JSON schema. `stop` are
    texts before which the model is asked to stop; a server may ignore them. `reply_schema` is a
    JSON schema that the reply is to follow; a client whose provider knows none may ignore it.
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    stop: tuple[str, ...] = ()
    reply_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said; `refusal` are its own words if it refused, or why it was filtered."""

    message: Message
    stop: StopReason
    usage: ModelUsage = ModelUsage()
    refusal: str = ""


class ModelClient(Protocol):
    """The seam under the reference agents: a conversation in, a reply out.

    It raises what the provider's own client raises, so that the session knows a provider that is
    away from an error of the agent.
    """

    def complete(self, request: ModelRequest) -> Reply: ...

    async def acomplete(self, request: ModelRequest) -> Reply:
        """As `complete`, without blocking the event loop."""
        ...
