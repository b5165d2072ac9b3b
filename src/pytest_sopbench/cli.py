"""`sopbench`: what is not a test run. The commands themselves are in `_cli`."""

from __future__ import annotations

from importlib.metadata import version

import click

from pytest_sopbench._cli.approving import approve
from pytest_sopbench._cli.comparing import compare
from pytest_sopbench._cli.domains import list_domains
from pytest_sopbench._cli.flaky import flaky
from pytest_sopbench._cli.front import FrontDoor
from pytest_sopbench._cli.gating import gate
from pytest_sopbench._cli.merging import merge
from pytest_sopbench._cli.reporting import report
from pytest_sopbench._cli.rescoring import rescore
from pytest_sopbench._cli.showing import show


@click.group(cls=FrontDoor, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    version("pytest-sopbench"), prog_name="sopbench", message="%(prog)s %(version)s"
)
def main() -> None:
    """Look at domains and saved sessions of pytest-sopbench."""


for _command in (approve, compare, flaky, gate, list_domains, merge, report, rescore, show):
    main.add_command(_command)
