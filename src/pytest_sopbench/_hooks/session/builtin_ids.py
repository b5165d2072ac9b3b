"""Which runs the built-in items of a session ask for, where only their ids are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_sopbench._core.model.agent_labels import of_parameter
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._hooks.settings.marks import item_name, may_be_row, split_label

from .session import SopSession


def learn_ids(sop: SopSession, ids: Sequence[str]) -> None:
    """Enter into the plan what workers of xdist collected; ids are computed, never parsed."""
    plan = sop.plan
    if plan.builtin.keys or not (sop.has_domains and any(map(may_be_row, ids))):
        return
    known = _known(sop)
    found = {nodeid: known[nodeid] for nodeid in ids if nodeid in known}
    of_fixture = _of_fixture(known, ids)
    if not (found or of_fixture):
        return
    plan.builtin.keys.update({**found, **of_fixture})
    agents: dict[str, dict[str, None]] = {}
    for key in of_fixture.values():
        agents.setdefault(key.domain, {})[key.agent] = None
    for key in known.values():
        for agent in agents.get(key.domain, {key.agent: None}):
            plan.builtin.selected[key._replace(agent=agent)] = None


def _known(sop: SopSession) -> Mapping[str, RunKey]:
    """Return the runs that the options select by the ids of their items."""
    return {
        f"{active.nodeid}::{item_name(ref.key, sop.label_of(ref.key.agent))}": ref.key
        for active in sop.domains
        for ref in active.refs(sop.agents, sop.options.trials)
        if ref.selected
    }


def _of_fixture(known: Mapping[str, RunKey], ids: Sequence[str]) -> Mapping[str, RunKey]:
    """Return the runs by agents of a fixture, which only a process knows that collects."""
    found: dict[str, RunKey] = {}
    for nodeid in ids:
        plain, label = split_label(nodeid)
        if label is not None and nodeid not in known and plain in known:
            found[nodeid] = known[plain]._replace(agent=of_parameter(label))
    return found
