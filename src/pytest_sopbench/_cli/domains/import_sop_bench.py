"""`sopbench import-sop-bench`: a published folder becomes a domain of our layout."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pytest_sopbench._cli.app import project, say
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench.errors import LoadingError

from .new import say_commands, say_to_do

if TYPE_CHECKING:
    from pytest_sopbench._making.published.convert import Converted, Proved

_SECONDS = 300.0


@click.command("import-sop-bench")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    default=_SECONDS,
    show_default=True,
    metavar="S",
    help="Seconds for the code of the folder.",
)
@click.option("--dry-run", is_flag=True, help="Show everything, and write nothing.")
def import_sop_bench(folder: Path, out: Path, time_limit: float, dry_run: bool) -> None:
    """Import a published folder.

    FOLDER is a domain as SOP-Bench publishes it, with test_set_with_outputs.csv. OUT is the
    folder that is made of it, and its last part the name of the domain. Rows, ids, procedure and
    tool specs stay as they are.

    The code of FOLDER is called on every row, in a process of its own without an environment and
    with a time limit. A tool that answers as a look-up of the row's columns on all of them becomes
    one, without code. Any other is named, and tools.py is kept for it.
    """
    from pytest_sopbench._making.place import new_folder, write_files
    from pytest_sopbench._making.published.convert import convert

    _check_out(out)
    converted = convert(folder, out.name, time_limit=time_limit)
    for line in _lines(converted):
        say(line)
    if not dry_run:
        with new_folder(out) as made:
            for name in converted.copied:
                shutil.copyfile(folder / name, made / name)
            write_files(made, converted.files)
    say("")
    say(f"{out}  {'would be written' if dry_run else 'written'}")
    for name in sorted({*converted.files, *converted.copied}):
        say(f"  {name}")
    say_to_do(out, dry_run=dry_run, run_code=not converted.problem)
    domain = out.as_posix() if out.is_absolute() else f"./{out.as_posix()}"
    commands = (
        f"sopbench list {domain} -v",
        f"pytest --sop-domain={domain} --agent=PACKAGE.MODULE:AGENT --sop-sample=20",
    )
    say_commands(commands, dry_run=dry_run)


def _check_out(out: Path) -> None:
    from pytest_sopbench._loading.files.cells import NAME_RULE, is_domain_name
    from pytest_sopbench._loading.finding.resolve import known_domains

    if not is_domain_name(out.name):
        raise LoadingError(out, f"{out.name!r} cannot be the name of a domain", hint=NAME_RULE)
    for place in out.parents:
        if place.exists() and not place.is_dir():
            raise LoadingError(place, "is a file, and would have to be a folder")
    if out.exists() or out.is_symlink():
        hint = "name another folder, or remove this one first"
        raise LoadingError(out, "is there already, and nothing is overwritten", hint=hint)
    by_name = out.parent.resolve() in {one.resolve() for one in project().folders("sop_paths")}
    if by_name and out.name in {one.name for one in known_domains(search_paths())}:
        hint = "call the last folder of OUT otherwise"
        raise LoadingError(out, f"{out.name!r} is the name of another domain here", hint=hint)


def _lines(converted: Converted) -> Iterator[str]:
    from pytest_sopbench._reports.text import counted, labelled

    domain = converted.domain
    rows = counted(len(domain.task_ids), "row")
    yield from labelled("from", f"{domain.folder}: {rows}, {len(domain.tool_specs)} tools")
    if converted.problem:
        yield from labelled("code", f"not called on every row: it {converted.problem}")
    if domain.tools_file is None and converted.tools:
        names = ", ".join(converted.tools)
        yield from labelled("tools", f"there is no tools.py, so nothing answers for {names}")
        return
    for number, (name, proved) in enumerate(converted.tools.items()):
        told = f"{proved.reason}; its code is kept" if proved.reason else _served(proved, rows)
        yield from labelled("" if number else "tools", f"{name}: {told}")


def _served(proved: Proved, rows: str) -> str:
    entry: Mapping[str, Any] = proved.entry
    by = ", ".join([*entry.get("key", ()), *entry.get("check", ())])
    columns = ", ".join(entry.get("returns", [entry.get("value", "a constant")]))
    return f"a look-up on all {rows}{f' by {by}' if by else ''} -> {columns}"
