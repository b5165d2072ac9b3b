"""What names a run, a task or a group of runs, and what stands for a value that is not shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

MASK = "***"
"""What stands in every output for the value of a private column."""


class RunKey(NamedTuple):
    """What makes a run this run and no other: one agent on one task, once."""

    domain: str
    task: str
    trial: int = 1
    agent: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> RunKey:
        """Read what `_asdict` returns from a line that may hold more.

        Raises:
            KeyError: a part is missing.
        """
        return cls(data["domain"], data["task"], data["trial"], data["agent"])


class TaskName(NamedTuple):
    """A task by its domain and its id."""

    domain: str
    task: str

    def __str__(self) -> str:
        return f"{self.domain}/{self.task}"


class TaskKey(NamedTuple):
    """A task as two sessions have it in common; `agent` is empty where each has one agent."""

    domain: str
    task: str
    agent: str = ""

    def is_of(self, domain: str, agent: str) -> bool:
        return (self.domain, self.agent) == (domain, agent)


class GroupKey(NamedTuple):
    """The runs of one agent on one domain, which are counted together."""

    domain: str
    agent: str

    def title(self, groups: Collection[GroupKey]) -> str:
        """Return what the group is called among all groups of its session.

        That is the name of its domain, and beside it the agent where several ran on the domain.
        """
        agents = sum(group.domain == self.domain for group in groups)
        return self.domain if agents == 1 else f"{self.domain} ({self.agent})"


def agent_of(title: str) -> str:
    """Return the agent of the group that is called so; nothing where its domain had one agent."""
    return title.partition(" (")[2].removesuffix(")")


def agents_of(groups: Collection[GroupKey]) -> Mapping[str, str]:
    """Return the agent of each group by what the group is called."""
    return {group.title(groups): group.agent for group in groups}


def domain_of(title: str) -> str:
    """Return the domain of the group that is called so; the name of a domain has no blank."""
    return title.partition(" (")[0]
