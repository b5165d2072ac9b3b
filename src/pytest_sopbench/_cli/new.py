"""`sopbench new`: a domain to begin with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .app import project, say
from .list import search_paths

if TYPE_CHECKING:
    from pytest_sopbench._making.place import Place


@click.command()
@click.argument("name")
@click.option("--to", metavar="FOLDER", help="Where NAME is made (the first of sop_paths).")
@click.option("--dry-run", is_flag=True, help="Show everything, and write nothing.")
def new(name: str, to: str | None, dry_run: bool) -> None:
    """Make a domain.

    NAME is the name of the domain and of its folder: letters, digits, _ and -. It is made in the
    first folder of sop_paths. Nothing is ever overwritten.

    The domain is a small example: procedure, tools, rows, reference policy, contract, expected
    calls, tests, and an agent to replace. It works as it is. The last lines are the commands to
    go on with.
    """
    from pytest_sopbench._making.example import example_files
    from pytest_sopbench._making.folder import new_folder, write_files
    from pytest_sopbench._making.next_steps import example_commands

    place = _place(name, to)
    files = example_files(place)
    if not dry_run:
        with new_folder(place.folder) as folder:
            write_files(folder, files)
    _say_written(place, files, dry_run=dry_run)
    _say_to_do(place, dry_run=dry_run)
    _say_commands(example_commands(place), dry_run=dry_run)


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


def _say_written(place: Place, files: Iterable[str], *, dry_run: bool) -> None:
    say(f"{place.folder}  {'would be written' if dry_run else 'written'}")
    for name in files:
        say(f"  {name}")


def _say_to_do(place: Place, *, dry_run: bool) -> None:
    from pytest_sopbench._making.next_steps import to_do_lines

    if dry_run:
        return
    lines = list(to_do_lines(place.folder))
    say("")
    say("to do" if lines else "to do   nothing: it loads without a warning")
    for line in lines:
        say(f"- {line}")


def _say_commands(commands: Iterable[str], *, dry_run: bool) -> None:
    say("")
    say("then you could go on with" if dry_run else "go on with")
    for command in commands:
        say(f"  {command}")
