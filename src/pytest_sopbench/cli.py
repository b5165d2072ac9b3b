"""`sopbench`: what is not a test run. The commands themselves are in `_cli`."""

from __future__ import annotations

import click

from pytest_sopbench._cli.app import FrontDoor
from pytest_sopbench._cli.domains.audit import audit
from pytest_sopbench._cli.domains.cassettes import cassettes
from pytest_sopbench._cli.domains.import_maze import import_maze
from pytest_sopbench._cli.domains.import_sop_bench import import_sop_bench
from pytest_sopbench._cli.domains.list import list_domains
from pytest_sopbench._cli.domains.new import new
from pytest_sopbench._cli.domains.steps import steps
from pytest_sopbench._cli.judging.judge import judge
from pytest_sopbench._cli.judging.rescore import rescore
from pytest_sopbench._cli.sessions.approve import approve
from pytest_sopbench._cli.sessions.compare import compare
from pytest_sopbench._cli.sessions.explain import explain
from pytest_sopbench._cli.sessions.flaky import flaky
from pytest_sopbench._cli.sessions.gate import gate
from pytest_sopbench._cli.sessions.merge import merge
from pytest_sopbench._cli.sessions.report import report
from pytest_sopbench._cli.sessions.show import show


@click.group(cls=FrontDoor, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    package_name="pytest-sopbench", prog_name="sopbench", message="%(prog)s %(version)s"
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
