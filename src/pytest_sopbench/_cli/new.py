"""`sopbench new`: a domain to begin with, or one of what there is already."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pytest_sopbench._cli.app import project, refuse_beside, say, say_lines
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench._cli.new_draft import PRESET, draft, grow_domain, is_draft, review
from pytest_sopbench._cli.new_table import NONE, Wishes, checked, plan_of, table_options
from pytest_sopbench._loading.finding import known_domains
from pytest_sopbench._making.imported import Plan, domain_files, preview_lines
from pytest_sopbench._making.maze import RESPONSES, MazeDomain, class_of, convert_file
from pytest_sopbench._making.place import (
    Kind,
    Place,
    check_name,
    choose_place,
    example_commands,
    example_files,
    imported_commands,
    new_folder,
    recognise,
    table_commands,
    to_do_lines,
    write_files,
)
from pytest_sopbench._making.published import Converted, Proved, convert
from pytest_sopbench._reports.text import counted, labelled, one_line
from pytest_sopbench._settings.project_file import from_home

_SECONDS = 300.0


@click.command()
@click.argument("name", required=False)
@click.option("--from", "what", metavar="WHAT", help="What it is made of: a file or a folder.")
@table_options
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1),
    metavar="S",
    help=f"Seconds for the code of a published folder ({_SECONDS:g}).",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="PROVIDER/MODEL",
    help="Draft a domain with a model; a second one solves.",
)
@click.option(
    "--complexity",
    type=click.IntRange(1, 9),
    metavar="N",
    help=f"How much a drafted procedure has of everything, 1 to 9 ({PRESET}).",
)
@click.option(
    "--more",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Add N rows to a domain with a policy, which labels them.",
)
@click.option(
    "--for", "clause", metavar="CLAUSE", help='Add the rows that a clause lacks, as "clause 10.3".'
)
@click.option("--review", "is_review", is_flag=True, help="Read a domain: cards and thirty rows.")
@click.option("--class", "domain_class", metavar="TEXT", help="The class of a scenario file.")
@click.option("--to", metavar="FOLDER", help="Where NAME is made (the first of sop_paths).")
@click.option("--yes", is_flag=True, help="Ask nothing, and take every proposal.")
@click.option("--dry-run", is_flag=True, help="Show everything, and write nothing.")
def new(  # noqa: PLR0913 - click gives each option
    name: str | None,
    wishes: Wishes,
    *,
    what: str | None,
    time_limit: float | None,
    domain_class: str | None,
    models: tuple[str, ...],
    complexity: int | None,
    more: int | None,
    clause: str | None,
    is_review: bool,
    to: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """Make a domain.

    NAME is the name of the domain and of its folder: letters, digits, _ and -. It is made in the
    first folder of sop_paths. Nothing is ever overwritten.

    Without --from it is a small example: procedure, tools, rows, reference policy, contract,
    expected calls, tests, and an agent to replace. It works as it is.

    With --from it is made of what WHAT turns out to be:

    A table of old cases (.xlsx, .csv, .tsv, .parquet). The document of the procedure goes to --sop
    (.docx, .pdf, .html, .md, .txt). A column is named as in the table. At a terminal the command
    asks for what is not given, with a proposal for each answer. In a pipe it never asks.

    A folder as SOP-Bench publishes it, with test_set_with_outputs.csv. Its code is called on every
    row, in a process of its own without an environment. A tool that answers as a look-up of the
    row's columns on all of them becomes one. Any other is named, and tools.py is kept for it.

    A file as SOP-Maze publishes it (.json), a list of records. Recorded responses are written to
    responses.jsonl, which --agent=replayed:FILE reads. Records whose target breaks its own schema
    are listed. Without --class a file with DFS in its name is of the class deep, one with BFS of
    wide.

    With --model a brief (.md, .txt, .docx, .pdf, .html) becomes a draft: procedure, tools, two
    policies and rows, whose labels come from running a policy. --sop is a procedure of your own,
    which stays as it is. The same command goes on where a draft stood. --review leads a person
    through it; until then no gate on it is held.

    With --more or --for rows are added to a domain that is there and has a policy, without a
    model. They are searched for by the conditions of the policy, and labelled by running it. Rows
    that are there stay byte for byte. With --model as well the solver answers the new rows.
    """
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not yes
    if name is None:
        name = _asked_name(asks=asks)
    source = from_home(what) if what is not None else None
    if is_review:
        review(name, _folder(to) / name)
        return
    grows = more is not None or clause is not None
    if grows:
        refuse_beside("--more and --for", {"--from": what, "--complexity": complexity})
        place = _folder(to) / name
        grow_domain(
            name, place, clause=clause or "", count=more, has_model=bool(models), dry_run=dry_run
        )
    if grows and (dry_run or not models):
        return
    if models or is_draft(_folder(to) / name):
        draft(
            _drafted_place(name, to),
            source,
            wishes.sop,
            models=models,
            complexity=complexity,
            asks=asks,
            dry_run=dry_run,
        )
        return
    if complexity is not None:
        msg = "--complexity is about a draft; give --model as well"
        raise click.UsageError(msg)
    _make(
        name, source, wishes, time_limit, domain_class, to=to, asks=asks, yes=yes, dry_run=dry_run
    )


def _make(  # noqa: PLR0913 - what the user gave
    name: str,
    source: Path | None,
    wishes: Wishes,
    time_limit: float | None,
    domain_class: str | None,
    *,
    to: str | None,
    asks: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Make a domain without a model."""
    kind = recognise(source) if source is not None else None
    given = {
        Kind.TABLE: wishes.given(),
        Kind.PUBLISHED: ["--time-limit"] if time_limit is not None else [],
        Kind.SCENARIOS: ["--class"] if domain_class is not None else [],
    }
    _refuse_of_others(given, source, kind)
    place = _place(name, to, has_agent=kind in {None, Kind.TABLE})
    if source is None and asks and (source := _asked_source()) is not None:
        kind = recognise(source)
    if source is None:
        _make_example(place, dry_run=dry_run)
    elif kind is Kind.TABLE:
        _make_from_table(plan_of(place, source, wishes, asks=asks, yes=yes), dry_run=dry_run)
    elif kind is Kind.PUBLISHED:
        _make_from_published(place, source, time_limit or _SECONDS, dry_run=dry_run)
    else:
        _make_from_scenarios(name, source, domain_class, to=to, dry_run=dry_run)


def _asked_name(*, asks: bool) -> str:
    if not asks:
        msg = "Missing argument 'NAME'."
        raise click.UsageError(msg)

    def read(text: str) -> str:
        checked(check_name, text)
        return text

    return str(click.prompt("Name of the domain", value_proc=read))


def _asked_source() -> Path | None:
    """Ask what the domain is made of; none means the small example."""

    def read(text: str) -> Path | None:
        if text.strip() in ("", NONE):
            return None
        path = from_home(text.strip())
        checked(recognise, path)
        return path

    question = "Table of old cases, published folder or scenario file (none: a small example)"
    found: Path | None = click.prompt(question, default=NONE, value_proc=read)
    return found


def _refuse_of_others(
    given: Mapping[Kind, Sequence[str]], source: Path | None, kind: Kind | None
) -> None:
    """Refuse options that are about another kind than the one that there is."""
    for about, options in given.items():
        if options and about is not kind:
            there = f"{source} is {kind}" if kind else "give --from as well"
            msg = f"{options[0]} is about {about}; {there}"
            raise click.UsageError(msg)


def _folder(to: str | None) -> Path:
    return Path(to) if to else project().folders("sop_paths")[0]


def _drafted_place(name: str, to: str | None) -> Place:
    """Return the place of a draft, which may have been begun already."""
    folder = _folder(to)
    if not is_draft(folder / name):
        return _place(name, to, has_agent=False)
    named = {path.resolve() for path in project().folders("sop_paths")}
    domain = name if folder.resolve() in named else f"./{(folder / name).as_posix()}"
    return Place(name=name, folder=folder / name, domain=domain)


def _place(name: str, to: str | None, *, has_agent: bool) -> Place:
    check_name(name)
    paths = project().folders("sop_paths")
    folder = Path(to) if to else paths[0]
    return choose_place(
        name,
        folder=folder,
        known={one.name for one in known_domains(search_paths())},
        has_name=folder.resolve() in {path.resolve() for path in paths},
        has_agent=has_agent,
    )


def _make_example(place: Place, *, dry_run: bool) -> None:
    files = example_files(place)
    if not dry_run:
        with new_folder(place.folder) as folder:
            write_files(folder, files)
    _say_made(place, files, example_commands(place), dry_run=dry_run, parts=_PARTS)


def _make_from_table(plan: Plan, *, dry_run: bool) -> None:
    report = "".join(f"{line}\n" for line in preview_lines(plan, every=True))
    files = domain_files(plan, report)
    say_lines(preview_lines(plan, every=dry_run))
    if not dry_run:
        with new_folder(plan.place.folder) as folder:
            write_files(folder, files)
    say("")
    _say_made(plan.place, files, table_commands(plan.place), dry_run=dry_run)


def _make_from_published(place: Place, source: Path, seconds: float, *, dry_run: bool) -> None:
    converted = convert(source, place.name, time_limit=seconds)
    say_lines(_published_lines(converted))
    if not dry_run:
        with new_folder(place.folder) as folder:
            for name in converted.copied:
                shutil.copyfile(source / name, folder / name)
            write_files(folder, converted.files)
    say("")
    files = sorted({*converted.files, *converted.copied})
    commands = imported_commands(place, sample=20)
    _say_made(place, files, commands, dry_run=dry_run, run_code=not converted.problem)


def _published_lines(converted: Converted) -> Iterator[str]:
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


def _make_from_scenarios(
    name: str, source: Path, domain_class: str | None, *, to: str | None, dry_run: bool
) -> None:
    """Make a domain of each SOP and schema that the records of a file have."""
    kind = class_of(source) if domain_class is None else domain_class
    domains = convert_file(source, name, kind)
    places = [_place(one.name, to, has_agent=False) for one in domains]
    made = list(zip(places, domains, strict=True))
    if not dry_run:
        for place, domain in made:
            with new_folder(place.folder) as folder:
                write_files(folder, domain.files)
    for number, (place, domain) in enumerate(made):
        if number:
            say("")
        say_lines(_scenario_lines(domain))
        say("")
        responses = f"replayed:{(place.folder / RESPONSES).as_posix()}"
        agent = responses if RESPONSES in domain.files else ""
        _say_made(place, domain.files, imported_commands(place, agent=agent), dry_run=dry_run)


def _scenario_lines(domain: MazeDomain) -> Iterator[str]:
    kind = f"class {domain.domain_class}" if domain.domain_class else "no class (--class)"
    records = counted(domain.records, "record")
    yield from labelled("from", f"{one_line(domain.source.name)}: {records}, {kind}")
    count = sum(hopeless for *_, hopeless in domain.broken)
    if domain.broken:
        targets = counted(len(domain.broken), "target breaks its", "targets break their")
        yield f"  {targets} own schema; no answer can match {count} of them:"
    for position, what, hopeless in domain.broken:
        mark = "" if hopeless else " (ignored, so an answer can match)"
        yield f"    record {position}: {one_line(what)}{mark}"


_PARTS = (
    "metadata.json says what becomes of each column of data.csv: the agent is given input_columns,"
    " a tool looks up what it returns, and nobody is shown output_columns, the expected answer"
)


def _say_made(
    place: Place,
    files: Iterable[str],
    commands: Iterable[str],
    *,
    dry_run: bool,
    run_code: bool = True,
    parts: str = "",
) -> None:
    """Say what was made, what is still open in it, and what to type next."""
    say(f"{place.folder}  {'would be written' if dry_run else 'written'}")
    say_lines(f"  {name}" for name in files)
    if parts:
        say("")
        say_lines(labelled("columns", parts))
    if not dry_run:
        say("")
        say_lines(to_do_lines(place.folder, run_code=run_code))
    say("")
    say("then you could go on with" if dry_run else "go on with")
    say_lines(f"  {command}" for command in commands)
