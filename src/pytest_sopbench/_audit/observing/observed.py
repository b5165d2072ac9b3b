"""What the code of a domain did when it was run, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_sopbench._core.model.trace import ToolCall
from pytest_sopbench._core.values.json import JsonValue


class IncidentKind(StrEnum):
    """How code of a domain can end, or disturb, the process that runs it."""

    HANGS = "hangs"
    SLOW = "slow"
    EXITS = "exits"
    CRASHES = "crashes"
    FORKS = "forks"
    PRINTS = "prints"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One such end: what was done then, such as a tool and a row, and more words about it."""

    kind: IncidentKind
    tool: str = ""
    position: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRun:
    """What the reference policy did on one row; `error` is what it raised."""

    position: int
    answer: Mapping[str, JsonValue] | None
    error: str
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """What a tool of the domain's own code answered on one row.

    Attributes:
        position: the number of the row, from 0.
        result: what it returned, as JSON has it.
        error: what it raised; empty where it did not.
        not_json: what JSON has no word for in the result; empty where it has.
        again: the same call again, by fresh instances, each as a text.
    """

    position: int
    result: JsonValue
    error: str = ""
    not_json: str = ""
    again: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What the implementation of a tool accepts: names, those it must get, and whether any."""

    accepts: tuple[str, ...]
    required: tuple[str, ...]
    anything: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSight:
    """What was seen of one tool of the domain's own code.

    Attributes:
        name: the name of the tool.
        answers: one for each row on which it could be called.
        uncallable: a required parameter that no column of a row has a value for.
        ignored: required parameters that no answer depended on, though others were given.
        blind: how many answers stayed with the id when all other columns were exchanged.
        followed: how many answers went with the columns then.
        unknown: whether it answers as it answers to a name that there is not.
        signature: what its implementation accepts, where that is a method of its name.
    """

    name: str
    answers: Sequence[ToolAnswer] = ()
    uncallable: str = ""
    ignored: tuple[str, ...] = ()
    blind: int = 0
    followed: int = 0
    unknown: bool = False
    signature: Signature | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """All that was seen; empty where a domain has no code, or it must not be run."""

    policy: Mapping[int, PolicyRun] = field(default_factory=dict[int, PolicyRun])
    tools: Mapping[str, ToolSight] = field(default_factory=dict[str, ToolSight])
    extra_tools: tuple[str, ...] = ()
    incidents: tuple[Incident, ...] = ()
