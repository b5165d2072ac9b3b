"""What a saved session says of its agents beside what it calls them."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_sopbench._hooks.session.session import SopSession


def named_agents(sop: SopSession) -> Mapping[str, str]:
    """Return the spec of each agent by its name; nothing where the name is all."""
    agents = {one.name: one.spec for one in sop.options.agents}
    is_all = not sop.has_agents and all(name == spec for name, spec in agents.items())
    # A fixture of the project stands for a single agent of the options.
    return {} if is_all or sop.plan.fixture else agents
