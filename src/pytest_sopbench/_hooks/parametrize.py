"""A user's test that asks for a SOP fixture becomes one item for each selected task and trial."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_sopbench._hooks.code.agents import (
    AGENT,
    agents_of,
    check_agent_given,
    parametrize_agent,
)
from pytest_sopbench._hooks.items.collection import asks_for_agent
from pytest_sopbench._hooks.session.domains import ActiveDomain
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.marks import (
    check_mark,
    marked_agent,
    marked_domains,
    marked_trials,
    parameter_id,
)
from pytest_sopbench._hooks.snapshots.fixture import FIXTURE, check_syrupy, check_update

from .activation import activate

ASKS_FOR_TASK = "sop_task"


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give the test its tasks.

    Raises:
        pytest.UsageError: it has no domain; pytest's own empty parametrization would skip the test
            and exit with 0.
    """
    sop = activate(metafunc.config)
    definition = metafunc.definition
    for mark in definition.iter_markers("sop"):
        check_mark(mark, definition.nodeid)
    if FIXTURE in metafunc.fixturenames:
        check_syrupy(metafunc.config, definition.nodeid)
    if {ASKS_FOR_TASK, "sop_domain"}.isdisjoint(metafunc.fixturenames):
        if AGENT in metafunc.fixturenames:
            parametrize_agent(sop, metafunc)
        return
    domains = _domains(sop, definition)
    if not {"sop_run", AGENT}.isdisjoint(metafunc.fixturenames):
        parametrize_agent(sop, metafunc)
    if ASKS_FOR_TASK in metafunc.fixturenames:
        _by_task(metafunc, sop, domains)
    else:
        metafunc.parametrize(
            "sop_domain",
            [_param(active, active.domain.name, active) for active in domains],
            indirect=True,
        )


def _domains(sop: SopSession, definition: pytest.Item) -> Sequence[ActiveDomain]:
    named = marked_domains(definition)
    if not (named or sop.has_domains) and asks_for_agent(definition):
        # Where both lack, the agent is told of; without a domain there is no item to tell it of.
        check_agent_given(sop, definition)
    try:
        return sop.find(named) if named else sop.domains
    except pytest.UsageError as error:
        msg = f"{definition.nodeid}: {error}"
        raise pytest.UsageError(msg) from None


def _by_task(metafunc: pytest.Metafunc, sop: SopSession, domains: Sequence[ActiveDomain]) -> None:
    agent = marked_agent(metafunc.definition) or sop.agents[0]
    trials = marked_trials(metafunc.definition) or sop.options.trials
    refs = [ref for active in domains for ref in active.refs((agent,), trials)]
    if "sop_run" in metafunc.fixturenames:
        agents = agents_of(sop, metafunc, agent)
        if FIXTURE in metafunc.fixturenames and len(agents) > 1:
            check_update(metafunc.config, metafunc.definition.nodeid, agents)
        for one in agents:
            keys = (ref.key._replace(agent=one) for ref in refs if ref.selected)
            sop.plan.tests.selected.update(dict.fromkeys(keys))
    if not refs:
        msg = f"{metafunc.definition.nodeid}: the --sop-* options select no task"
        raise pytest.UsageError(msg)
    metafunc.parametrize(
        ASKS_FOR_TASK,
        [_param(ref, parameter_id(ref.key), ref.domain) for ref in refs],
        indirect=True,
    )


def _param(value: object, name: str, active: ActiveDomain) -> object:
    return pytest.param(value, id=name, marks=pytest.mark.sop(domain=active.domain.name))
