"""Which runs the built-in items of a session ask for, where only their ids are known."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._hooks.settings.node_ids import item_name, may_be_row, split_agent

from .session import SopSession


def learn_ids(sop: SopSession, ids: Sequence[str]) -> None:
    """Enter into the plan what workers of xdist collected; ids are computed, never parsed."""
    plan = sop.plan
    if plan.builtin.keys or not (sop.has_domains and any(map(may_be_row, ids))):
        return
    known: dict[str, RunKey] = {}
    for active in sop.domains:
        for ref in active.refs(sop.agent_label, sop.options.trials):
            if ref.selected:
                known[f"{active.nodeid}::{item_name(ref.key)}"] = ref.key
    found: dict[str, RunKey] = {}
    agents: dict[str, None] = {}
    for nodeid in ids:
        # Which agents a fixture has, only a process knows that collects.
        plain, agent = split_agent(nodeid)
        if plain in known:
            found[nodeid] = known[plain]._replace(agent=agent) if agent else known[plain]
            agents[found[nodeid].agent] = None
    plan.builtin.keys.update(found)
    for agent in agents:
        runs = (key._replace(agent=agent) for key in known.values())
        plan.builtin.selected.update(dict.fromkeys(runs))
