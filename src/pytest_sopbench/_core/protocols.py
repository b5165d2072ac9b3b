"""The shapes through which rooms meet that must not import one another.

An agent and a policy call tools, a wrapper stands around each attempt at a run, and a source of
agents is given the session's options and domains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from pytest_sopbench._core.values.json import JsonValue

from .domain import Domain


class ToolCaller(Protocol):
    """The part of a toolbox that an agent or a reference policy needs."""

    def call(self, name: str, /, **arguments: object) -> JsonValue:
        """Return the tool's value.

        Raises:
            ToolError: what was asked is impossible; recorded, and the run may go on.
        """
        ...

    @property
    def names(self) -> tuple[str, ...]: ...


class Policy(Protocol):
    """The SOP of a domain as a function of inputs and tool results."""

    def __call__(
        self, inputs: Mapping[str, JsonValue], call: Callable[..., JsonValue], /
    ) -> Mapping[str, JsonValue]: ...


# Where agents come from: the shape of a source, and what it is given.

MODEL_AGENT_KINDS: Final = ("function-calling", "react", "stepwise")
"""The kinds of the reference agents, which give a domain to a model: `KIND:PROVIDER/MODEL`."""


def names_model_agent(spec: str) -> bool:
    """Whether an agent is one of the reference agents; none of them is loaded for that."""
    return spec.partition(":")[0] in MODEL_AGENT_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """What the session's options say of its agents.

    `arguments` are those of `--sop-agent-arg`; a value `env:NAME` is not read yet. `in_flight` runs
    may be made at a time in this process. A run may take `timeout` seconds, `None` is no limit.
    `tool_address` is where agents elsewhere call tools: the address to listen on, and the host that
    they are told.
    """

    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    in_flight: int = 1
    timeout: float | None = None
    tool_address: tuple[str, str] = ("127.0.0.1", "127.0.0.1")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """What a source of agents is given.

    `path` is the folder that is made importable, `domains` are those selected by their names, and
    `policy` returns the reference policy of one of them. `forms` says how an agent may be named.
    """

    path: Path
    domains: Mapping[str, Domain]
    policy: Callable[[str], Policy]
    options: AgentOptions
    forms: str


class AgentSource(Protocol):
    """One kind of agent spec; the first source that claims a spec resolves it."""

    @property
    def form(self) -> str:
        """How its specs are written, for messages."""
        ...

    def claims(self, spec: str, /) -> bool: ...

    def resolve(self, spec: str, context: AgentContext, /) -> object:
        """Return the object that the spec names; no run is made.

        Raises:
            AgentSpecError: there is no such agent, or it cannot be used as it is asked for.
            LoadingError: a domain lacks what the agent needs of it.
        """
        ...
