"""What stands above a SOP session: its domains and agents, prices, and what is going to be run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_sopbench._core.agent_source import names_model_agent
from pytest_sopbench._hooks.session.consistency import has_workers
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.text.numbers import counted


def header_lines(sop: SopSession) -> Iterator[str]:
    """Say what is about to run, before the first run."""
    if not (sop.options.typed_domains or sop.options.named):
        return
    for active in sop.domains:
        from pytest_sopbench._audit.saved import has_faults, saved_summary  # noqa: PLC0415 - only where a domain is named

        count, every = len(active.positions), len(active.domain.task_ids)
        part = f"{count} of {every} tasks" if count < every else f"{count} tasks"
        # Marks of the user's tests, and fixtures, may name others: that is known after collection.
        agents = "agents" if sop.has_agents else "agent"
        agent = f", {agents} {sop.agent_label}" if names_agents(sop) else ""
        yield f"sop: {active.domain.name}, {part}{agent}"
        for notice in active.domain.notices:
            yield f"sop: {active.domain.name}: {notice}"
        others = len(active.domain.warnings) - len(active.domain.notices)
        if others:
            told = counted(others, "warning")
            yield f"sop: {active.domain.name}: {told}; --sop-list -v shows them"
        found = saved_summary(active.domain, sop.config.rootpath)
        if has_faults(found):
            yield f"sop: {active.domain.name}: audit: {found}"
    # A library is loaded only where it is going to be asked.
    if sop.prices is not None and (isinstance(sop.options.prices, Path) or _asks_a_model(sop)):
        yield f"sop: prices {sop.prices.label}"
    if has_workers(sop.config) and sop.makes_runs:
        # The controller of xdist collects nothing.
        from .forecast import forecast_of_options  # noqa: PLC0415 - only where a forecast is shown

        yield from forecast_of_options(sop)


def agent_lines(sop: SopSession) -> Iterator[str]:
    """Say after collection who runs, where the line above could not, or has named another one."""
    if sop.plan.planned and (sop.agents_run != sop.agent_label or not names_agents(sop)):
        agents = "agents" if len({one.agent for one in sop.plan.planned}) > 1 else "agent"
        yield f"sop: {agents} {sop.agents_run}"


def names_agents(sop: SopSession) -> bool:
    """Tell whether the header names the agents: no test but the built-in ones is asked for."""
    paths = sop.config.args_source is pytest.Config.ArgsSource.ARGS
    return bool(sop.options.agents) and (bool(sop.options.named) or not paths)


def _asks_a_model(sop: SopSession) -> bool:
    """Whether an agent of the session is one of ours that gives a domain to a model."""
    return any(names_model_agent(one.spec) for one in sop.options.agents)
