"""Short labels for the agents of one session, which tell them apart wherever room is short."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

PARAMETER: Final = "sop_agent["
"""How the name of an agent begins that is a parameter of the fixture `sop_agent`."""


def of_parameter(label: str) -> str:
    """Return what runs are filed under whose agent is a parameter of the fixture `sop_agent`."""
    return f"{PARAMETER}{label}]"


def parameter_of(agent: str) -> str | None:
    """Return the parameter that an agent is, or `None` if it is none."""
    return agent[len(PARAMETER) : -1] if agent.startswith(PARAMETER) else None


def labels_of(agents: Collection[str]) -> Mapping[str, str]:
    """Return a label for each agent: the shortest end of its name that no other agent could have.

    `function-calling:openai/gpt-5-mini` is `gpt-5-mini`. Beside `react:openai/gpt-5-mini` it is
    `function-calling:gpt-5-mini`, and beside `function-calling:openai-responses/gpt-5-mini` it is
    `openai/gpt-5-mini`. The labels depend on nothing but the set of agents.

    Args:
        agents: their names, each once: what the user called them, or their specs.
    """
    forms = {agent: _forms(agent) for agent in agents}
    holders: dict[str, int] = {}
    for some in forms.values():
        for form in some:
            holders[form] = holders.get(form, 0) + 1
    # Where another agent could be called by each of its forms, an agent keeps its whole name: the
    # other one cannot be called so, since two could be.
    return {
        agent: next((form for form in some if holders[form] == 1), agent)
        for agent, some in forms.items()
    }


def telling_labels(agents: Collection[str]) -> Mapping[str, str]:
    """Return a label for each agent where there are several, and nothing where one goes without."""
    several = {*agents}
    return labels_of(several) if len(several) > 1 else {}


def named_agents(text: str, agents: Collection[str]) -> Sequence[str]:
    """Return the agents that a user may mean: by name, or by label; none where there is no such."""
    if text in agents:
        return (text,)
    return tuple(agent for agent, label in labels_of(agents).items() if label == text)


def _forms(agent: str) -> Sequence[str]:
    """Return what an agent may be called, the shortest first; all of it is the last."""
    inner = parameter_of(agent)
    if inner is not None:
        return (inner, agent)
    kind, colon, rest = agent.partition(":")
    if not colon:
        return (agent,)
    if "/" in rest:
        tail = rest.rpartition("/")[2]
        ends = [tail, f"{kind}:{tail}", rest] if tail else []
    else:
        parts = kind.split(".")
        ends = [rest, *(f"{'.'.join(parts[-n:])}:{rest}" for n in range(1, len(parts)))]
    shorter = sorted(dict.fromkeys(ends), key=len)
    return (*(one for one in shorter if one and one != agent), agent)
