"""`sopbench new`: a domain to begin with, or one from a table of cases."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_sopbench._cli.app import project, say
from pytest_sopbench._cli.found_domains import search_paths

from .new_options import Wishes, at_a_terminal, table_options

if TYPE_CHECKING:
    from pytest_sopbench._making.imported.plan import Plan
    from pytest_sopbench._making.place import Place


@click.command()
@click.argument("name", required=False)
@table_options
@click.option("--to", metavar="FOLDER", help="Where NAME is made (the first of sop_paths).")
@click.option("--yes", is_flag=True, help="Ask nothing, and take every proposal.")
@click.option("--dry-run", is_flag=True, help="Show everything, and write nothing.")
def new(
    name: str | None,
    wishes: Wishes,
    to: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Make a domain.

    NAME is the name of the domain and of its folder: letters, digits, _ and -. It is made in the
    first folder of sop_paths. Nothing is ever overwritten.

    Without --from it is a small example: procedure, tools, rows, reference policy, contract,
    expected calls, tests, and an agent to replace. It works as it is.

    With --from it is made of a table of old cases (.xlsx, .csv, .tsv, .parquet) and of the
    document of the procedure (.docx, .pdf, .html, .md, .txt). A column is named as in the table.

    At a terminal it asks for what is not given, with a proposal for each answer. In a pipe it
    never asks.
    """
    asks = at_a_terminal() and not yes
    if name is None:
        name = _asked_name(asks=asks)
    place = _place(name, to)
    if wishes.source is None and asks and not wishes.given():
        from .new_questions import ask_source

        wishes = wishes.with_source(ask_source())
    if wishes.source is None:
        _refuse_without_table(wishes)
        _make_example(place, dry_run=dry_run)
    else:
        from .new_table import plan_of

        _make_from_table(plan_of(place, wishes, asks=asks, yes=yes), dry_run=dry_run)


def _asked_name(*, asks: bool) -> str:
    if not asks:
        msg = "Missing argument 'NAME'."
        raise click.UsageError(msg)
    from .new_questions import ask_name

    return ask_name()


def _refuse_without_table(wishes: Wishes) -> None:
    given = wishes.given()
    if given:
        msg = f"{given[0]} is about a table: give --from FILE as well"
        raise click.UsageError(msg)


def _place(name: str, to: str | None) -> Place:
    from pytest_sopbench._loading.finding.resolve import known_domains
    from pytest_sopbench._making.place import check_name, choose_place

    check_name(name)
    paths = project().folders("sop_paths")
    folder = Path(to) if to else paths[0]
    return choose_place(
        name,
        folder=folder,
        known={one.name for one in known_domains(search_paths())},
        has_name=folder.resolve() in {path.resolve() for path in paths},
    )


def _make_example(place: Place, *, dry_run: bool) -> None:
    from pytest_sopbench._making.example import example_files
    from pytest_sopbench._making.folder import new_folder, write_files
    from pytest_sopbench._making.next_steps import example_commands

    files = example_files(place)
    if not dry_run:
        with new_folder(place.folder) as folder:
            write_files(folder, files)
    _say_written(place, files, dry_run=dry_run)
    say_to_do(place.folder, dry_run=dry_run)
    say_commands(example_commands(place), dry_run=dry_run)


def _make_from_table(plan: Plan, *, dry_run: bool) -> None:
    from pytest_sopbench._making.folder import new_folder, write_files
    from pytest_sopbench._making.imported.files import domain_files
    from pytest_sopbench._making.imported.preview import preview_lines
    from pytest_sopbench._making.next_steps import table_commands

    report = "".join(f"{line}\n" for line in preview_lines(plan, every=True))
    files = domain_files(plan, report)
    for line in preview_lines(plan, every=dry_run):
        say(line)
    if not dry_run:
        with new_folder(plan.place.folder) as folder:
            write_files(folder, files)
    say("")
    _say_written(plan.place, files, dry_run=dry_run)
    say_to_do(plan.place.folder, dry_run=dry_run)
    say_commands(table_commands(plan.place), dry_run=dry_run)


def _say_written(place: Place, files: Iterable[str], *, dry_run: bool) -> None:
    say(f"{place.folder}  {'would be written' if dry_run else 'written'}")
    for name in files:
        say(f"  {name}")


def say_to_do(folder: Path, *, dry_run: bool, run_code: bool = True) -> None:
    """Say what is still open in a new domain."""
    from pytest_sopbench._making.next_steps import to_do_lines

    if dry_run:
        return
    say("")
    for line in to_do_lines(folder, run_code=run_code):
        say(line)


def say_commands(commands: Iterable[str], *, dry_run: bool) -> None:
    """Say what to type next."""
    say("")
    say("then you could go on with" if dry_run else "go on with")
    for command in commands:
        say(f"  {command}")
