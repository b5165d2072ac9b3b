"""The reference agents as a source of agents: their room is loaded where one of them is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_sopbench._core.agent_source import (
    MODEL_AGENT_KINDS,
    AgentContext,
    AgentSource,
    names_model_agent,
)

_BASE: Final = "pytest_sopbench.agents.model_agent"
"""The module of the class that all reference agents have as a base."""


class _ModelAgents:
    """Specs of the form `KIND:PROVIDER/MODEL`."""

    form = " or ".join(f"{kind}:PROVIDER/MODEL" for kind in MODEL_AGENT_KINDS)

    def claims(self, spec: str) -> bool:
        return names_model_agent(spec)

    def resolve(self, spec: str, context: AgentContext) -> object:
        from pytest_sopbench.agents.sources import resolve  # noqa: PLC0415 - used from here on

        return resolve(spec, context)


MODEL_AGENTS: Final[AgentSource] = _ModelAgents()


def told_of(agent: object) -> tuple[str, Mapping[str, Any]]:
    """Return the hash of an agent's prompt and what it says of itself; both are empty elsewhere."""
    kind = agent if isinstance(agent, type) else type(agent)
    if all(getattr(base, "__module__", None) != _BASE for base in kind.__mro__):
        return "", {}
    from pytest_sopbench.agents.sources import prompt_hash_of, setup_of  # noqa: PLC0415 - of its room

    return prompt_hash_of(agent), setup_of(agent)
