"""Where a gate is asked: of which groups of runs, and of which of them together.

Groups are called as in a summary: `DOMAIN`, or `DOMAIN (AGENT)` where the domain had several
agents. The runs of two agents are never counted together: one rate of both says nothing of either,
and a good agent would hide a bad one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

from pytest_sopbench._core.model.agent_labels import named_agents
from pytest_sopbench._core.model.keys import agent_of

POOLED: Final = "all"
"""Where a gate on the pooled total is asked, beside the names of domains."""

Agents: TypeAlias = Mapping[str, str]
"""The agent of each group, as far as its name does not tell."""

NO_AGENTS: Final[Agents] = MappingProxyType({})


class Address(Protocol):
    """The groups that a gate names; an empty name stands for all."""

    @property
    def domain(self) -> str: ...
    @property
    def agent(self) -> str: ...


def places_of(
    spec: Address, groups: Collection[str], agents: Agents = NO_AGENTS
) -> Sequence[tuple[str, Sequence[str]]]:
    """Return each place where a gate is asked, and the groups that stand there together.

    Without a domain that is every group, and all domains of each agent. Where there is no such
    group the gate is asked of nothing, and never left out.
    """
    of = {one: agents.get(one) or agent_of(one) for one in groups}
    every = {*of.values()}
    meant = {*named_agents(spec.agent, every)} if spec.agent else every
    mine = [one for one in of if of[one] in meant and (not spec.domain or is_of(one, spec.domain))]
    if not mine:
        by = f" ({spec.agent})" if spec.agent else ""
        return [(f"{spec.domain or POOLED}{by}", ())]
    if spec.domain:
        return [(one, (one,)) for one in mine]
    if len(of) == 1:
        return [("", mine)]
    together = {agent: [one for one in mine if of[one] == agent] for agent in map(of.get, mine)}
    return [
        *((one, (one,)) for one in mine),
        *(
            (pooled_title(agent or "", several=len(every) > 1), some)
            for agent, some in together.items()
            if len(some) > 1
        ),
    ]


def pooled_title(agent: str, *, several: bool) -> str:
    """Return what all domains of an agent are called together."""
    return f"{POOLED} ({agent})" if several else POOLED


def is_of(name: str, domain: str) -> bool:
    """Tell whether a group of runs is of a domain."""
    # Where several agents ran on a domain, each has a summary of its own, `DOMAIN (AGENT)`.
    return name == domain or name.startswith(f"{domain} (")
