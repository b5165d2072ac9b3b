"""Gates that make no sense for what is selected, refused before an agent is paid for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.gates.conditions.measurable import why_unmeasurable
from pytest_sopbench._core.gates.conditions.spec import gate_text
from pytest_sopbench._core.gates.conditions.summary_gates import GateSpec
from pytest_sopbench._core.model.agent_labels import named_agents
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.strictness import is_ci


def check_gates(sop: SopSession) -> None:
    """Refuse gates on what is not selected, and those for which nothing can be measured.

    Raises:
        pytest.UsageError: there is one.
    """
    domains = [active.domain for active in sop.domains]
    names = {one.name for one in domains}
    for gate in sop.options.gates:
        if gate.domain and gate.domain not in names:
            msg = f"gate {gate.domain}:{gate.name}: no such domain is selected"
            raise pytest.UsageError(msg)
        # Which agents a fixture gives, or the mark of a test, is known when tests are collected.
        if gate.agent and sop.has_agents and not named_agents(gate.agent, sop.agents):
            labels = ", ".join(sop.labels.values())
            msg = f"gate {gate_text(gate)}: no such agent is tested\nthe agents are {labels}"
            raise pytest.UsageError(msg)
        if _is_whole(sop):
            _check_measured(sop, gate, domains)


def _is_whole(sop: SopSession) -> bool:
    """Whether nothing but these domains is run, and a gate without an answer fails the session.

    Tests of the user's own may be of other domains. Whoever tries a few tasks has not asked the
    gates of the configuration.
    """
    alone = sop.config.args_source is not pytest.Config.ArgsSource.ARGS
    return alone and (sop.options.types_gate or is_ci())


def _check_measured(sop: SopSession, gate: GateSpec, domains: Sequence[Domain]) -> None:
    held = sop.options.contract != "off"
    if why := why_unmeasurable(gate, domains, contract=held):
        msg = f"gate {gate_text(gate)}: it can never hold: {why}"
        raise pytest.UsageError(msg)
