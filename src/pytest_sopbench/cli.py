"""`sopbench`: what is not a test run. The commands themselves are in `_cli`."""

from __future__ import annotations

from importlib.metadata import version

import click

from pytest_sopbench._cli.app import FrontDoor
from pytest_sopbench._cli.approve import approve
from pytest_sopbench._cli.audit import audit
from pytest_sopbench._cli.cassettes import cassettes
from pytest_sopbench._cli.compare import compare
from pytest_sopbench._cli.explain import explain
from pytest_sopbench._cli.flaky import flaky
from pytest_sopbench._cli.gate import gate
from pytest_sopbench._cli.import_maze import import_maze
from pytest_sopbench._cli.import_sop_bench import import_sop_bench
from pytest_sopbench._cli.judge import judge
from pytest_sopbench._cli.list import list_domains
from pytest_sopbench._cli.merge import merge
from pytest_sopbench._cli.new import new
from pytest_sopbench._cli.report import report
from pytest_sopbench._cli.rescore import rescore
from pytest_sopbench._cli.show import show
from pytest_sopbench._cli.steps import steps


@click.group(cls=FrontDoor, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    version("pytest-sopbench"), prog_name="sopbench", message="%(prog)s %(version)s"
)
def main() -> None:
    """Look at domains and saved sessions of pytest-sopbench."""


for _command in (
    approve,
    audit,
    cassettes,
    compare,
    explain,
    flaky,
    gate,
    import_maze,
    import_sop_bench,
    judge,
    list_domains,
    merge,
    new,
    report,
    rescore,
    show,
    steps,
):
    main.add_command(_command)
