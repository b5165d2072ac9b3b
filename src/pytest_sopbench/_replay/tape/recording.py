"""What was recorded of one trial: its exchanges, in the order in which requests were sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage

from .asked import asked_tools
from .exchange import Response
from .shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One exchange; `key` is that of its shape."""

    key: str
    shape: Shape
    response: Response

    @property
    def asked(self) -> tuple[str, ...]:
        """The names of the tools that the reply asks for, in its order."""
        return asked_tools(self.response)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The exchanges of one trial.

    Attributes:
        exchanges: in the order in which their requests were sent.
        recorded: when, in UTC, as ISO 8601; empty while it is being made.
        usage: what the run consumed then.
    """

    exchanges: tuple[Recorded, ...] = ()
    recorded: str = ""
    usage: Usage = field(default=UNKNOWN_USAGE)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, each once."""
        return tuple(dict.fromkeys(filter(None, map(model_of, self.exchanges))))


def model_of(one: Recorded) -> str:
    """Return which model a request asks, by its body or its path; empty where neither says."""
    body = one.shape.body
    named = body.get("model") or body.get("modelId") if isinstance(body, dict) else None
    if isinstance(named, str):
        return named
    parts = one.shape.path.split("/")
    for before, part in pairwise(parts):
        if before in {"model", "models"}:
            return part.partition(":generateContent")[0].partition(":streamGenerateContent")[0]
    return ""
