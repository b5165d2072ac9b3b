"""The doors of the room that runs agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.protocols import AgentContext, AgentOptions, Policy
from pytest_sopbench._core.steps import deny_all
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import SOURCES, forms_of
from pytest_sopbench._running.tools.domain_code import load_policy

__all__ = [
    "AgentCaller",
    "deny_all",
    "resolve_agent",
]


def resolve_agent(
    spec: str,
    *,
    path: Path,
    domains: Sequence[Domain] = (),
    policies: Callable[[str], Policy] | None = None,
) -> object:
    """Return the object that an agent spec names, as a session with these domains does."""
    known = {domain.name: domain for domain in domains}
    context = AgentContext(
        path=path,
        domains=known,
        policy=policies or (lambda name: load_policy(known[name])),
        options=AgentOptions(),
        forms=forms_of(SOURCES),
    )
    return next(source for source in SOURCES if source.claims(spec)).resolve(spec, context)
