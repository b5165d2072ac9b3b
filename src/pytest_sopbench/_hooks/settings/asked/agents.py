"""The agents that the command line or the configuration names."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import pytest

from pytest_sopbench._hooks.settings.ini import ini_values
from pytest_sopbench._hooks.settings.refusing import refusing
from pytest_sopbench._settings.readers import read_agents
from pytest_sopbench._settings.table import AGENT_OPTION, SPECS
from pytest_sopbench._settings.values import GivenAgent


def given_agents(config: pytest.Config) -> tuple[GivenAgent, ...]:
    """Return the agents of the command line; without any, those of the configuration.

    What is typed replaces what `addopts` or `PYTEST_ADDOPTS` give, as it did when there was room
    for one agent alone.

    Raises:
        pytest.UsageError: one is named twice, or means nothing.
    """
    spec = SPECS["sop_agent"]
    given: Sequence[str] = config.getoption(spec.name) or ()
    typed = min(_typed(config), len(given))
    chosen = given[-typed:] if typed else given
    if not any(chosen):
        # An empty text has always meant that nothing is given.
        with refusing(spec.name):
            return read_agents(ini_values(config, spec.name))
    with refusing(spec.option):
        return read_agents(chosen)


def types_agents(config: pytest.Config) -> bool:
    """Tell whether the agents in use were typed with this command, and not configured."""
    typed, given = _typed(config), config.getoption(SPECS["sop_agent"].name) or ()
    return any(given[-typed:]) if typed else False


def _typed(config: pytest.Config) -> int:
    """Count the agents that were typed with this command."""
    options = (SPECS["sop_agent"].option, AGENT_OPTION)
    words = takewhile(lambda word: word != "--", map(str, config.invocation_params.args))
    return sum(word.partition("=")[0] in options for word in words)
