"""`sopbench`: what is not a test run. The commands themselves are in `_cli`."""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

import click

from pytest_sopbench._cli.app import FrontDoor

_OTHER_NAMES: Final = {"list": "list_domains"}
"""The functions of commands whose names would hide those of Python."""
_COMMANDS: Final = {
    "approve": "sessions",
    "audit": "audit",
    "cassettes": "cassettes",
    "compare": "compare",
    "gate": "gate",
    "judge": "judge",
    "list": "list",
    "merge": "sessions",
    "new": "new",
    "report": "report",
    "rescore": "rescore",
    "show": "show",
}
"""The module of `_cli` in which each command is."""


class Commands(FrontDoor):
    """Imports a command when it is called, so that none waits for the rooms of another."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click gives it
        """Return the names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click gives it
        """Return the command of a name: the function of that name in its module."""
        if cmd_name not in _COMMANDS:
            return None
        found = import_module(f"pytest_sopbench._cli.{_COMMANDS[cmd_name]}")
        return cast("click.Command", getattr(found, _OTHER_NAMES.get(cmd_name, cmd_name)))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    package_name="pytest-sopbench", prog_name="sopbench", message="%(prog)s %(version)s"
)
def main() -> None:
    """Look at domains and saved sessions of pytest-sopbench."""
