"""`sopbench import-maze`: published files become tool-less domains of our layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_sopbench._cli.app import say
from pytest_sopbench.errors import LoadingError

from .new import say_commands

if TYPE_CHECKING:
    from pytest_sopbench._making.maze import MazeDomain

_NAME = "maze"


@click.command("import-maze")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE..."
)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--name", metavar="NAME", help="What to call the domain; of several files NAME_01, ..."
)
@click.option("--class", "kind", metavar="TEXT", help="The class of the domains.")
def import_maze(files: tuple[Path, ...], out: Path, name: str | None, kind: str | None) -> None:
    """Import files as SOP-Maze publishes them.

    Each FILE is a JSON list of records, and becomes a domain: a folder in OUT. SOP, case, target
    and schema stay as they are, and the position of a record is its id. Recorded responses are
    written to responses.jsonl, which --agent=replayed:FILE reads. Records whose target breaks its
    own schema are listed.

    Without --class a file with DFS in its name is of the class deep, one with BFS of wide.
    """
    from pytest_sopbench._making.maze import class_of, convert_file
    from pytest_sopbench._making.place import check_name, new_folder, write_files

    names = _names(files, name)
    for one in names:
        check_name(one)
    domains: list[MazeDomain] = []
    for file, one in zip(files, names, strict=True):
        domains += convert_file(file, one, class_of(file) if kind is None else kind)
    for domain in domains:
        if (out / domain.name).exists():
            hint = "name another folder, or remove this one first"
            raise LoadingError(out / domain.name, "is there already", hint=hint)
    for domain in domains:
        with new_folder(out / domain.name) as made:
            write_files(made, domain.files)
    for domain in domains:
        for line in _lines(domain, out):
            say(line)
    say("")
    _say_next(domains, out)


def _names(files: Sequence[Path], name: str | None) -> Sequence[str]:
    if len(files) == 1 and name:
        return [name]
    return [f"{name or _NAME}_{number:02}" for number in range(1, len(files) + 1)]


def _lines(domain: MazeDomain, out: Path) -> Iterator[str]:
    from pytest_sopbench._reports.text import counted, one_line

    kind = f"class {domain.domain_class}" if domain.domain_class else "no class (--class)"
    yield f"{out / domain.name}  {counted(domain.records, 'record')}, {kind}"
    yield f"  from {one_line(domain.source.name)}"
    hopeless = sum(one.hopeless for one in domain.broken)
    if domain.broken:
        targets = counted(len(domain.broken), "target breaks its", "targets break their")
        yield f"  {targets} own schema; no answer can match {hopeless} of them:"
    for one in domain.broken:
        mark = "" if one.hopeless else " (ignored, so an answer can match)"
        yield f"    record {one.position}: {one_line(one.what)}{mark}"


def _say_next(domains: Sequence[MazeDomain], out: Path) -> None:
    from pytest_sopbench._making.maze import RESPONSES

    first = domains[0]
    folder = (out / first.name).as_posix()
    domain = folder if out.is_absolute() else f"./{folder}"
    agent = f"replayed:{folder}/{RESPONSES}" if RESPONSES in first.files else "PACKAGE.MODULE:AGENT"
    commands = (f"sopbench audit {domain}", f"pytest --sop-domain={domain} --agent={agent}")
    say_commands(commands, dry_run=False)
