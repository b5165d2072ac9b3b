"""`--agent`, the short spelling of `--sop-agent`, which any other plugin may have instead."""

from __future__ import annotations

import pytest

from pytest_sopbench._settings.table import AGENT_OPTION, SPECS


def is_free(parser: pytest.Parser) -> bool:
    """Tell whether no plugin and no conftest has taken the option so far."""
    probe = f"{AGENT_OPTION}=probe"
    try:
        return probe in parser.parse_known_and_unknown_args([probe])[1]
    except pytest.UsageError:
        # Another plugin has it, as a flag or with a few values of its own.
        return False


def glue_agent(args: list[str]) -> None:
    """Write the option and its value as one word, which cannot pass for a test path."""
    place = 0
    while place + 1 < len(args):
        if args[place] == "--":
            return
        if args[place] == AGENT_OPTION and not args[place + 1].startswith("-"):
            args[place : place + 2] = [f"{AGENT_OPTION}={args[place + 1]}"]
        place += 1


def add_agent(parser: pytest.Parser) -> None:
    """Take the option."""
    group, agent = parser.getgroup("sop"), SPECS["sop_agent"]
    group.addoption(
        AGENT_OPTION,
        dest=agent.name,
        action="append",
        metavar=agent.metavar,
        help=f"same as {agent.option}",
    )
