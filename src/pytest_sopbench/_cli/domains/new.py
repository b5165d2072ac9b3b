"""`sopbench new`: a domain to begin with, or one from a table of cases."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pytest_sopbench._cli.app import project, say
from pytest_sopbench._cli.found_domains import search_paths
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import LoadingError, SopbenchError

if TYPE_CHECKING:
    from pytest_sopbench._making.imported.fields import Roles
    from pytest_sopbench._making.imported.plan import Plan, Procedure
    from pytest_sopbench._making.place import Place
    from pytest_sopbench._making.sheet.table import Column, Sheet

# The options of `sopbench new` that are about a table, as one value.

_ROWS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a user says of a table; what is empty or `None` was not said."""

    source: str | None = None
    sheet: str | None = None
    header: tuple[int, int] | None = None
    id: str | None = None
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    decimal: str | None = None
    sop: str | None = None

    def given(self) -> list[str]:
        """Return the options that make no sense without a table, as far as they were given."""
        options = {
            "--sheet": self.sheet,
            "--header": self.header,
            "--id": self.id,
            "--output": self.outputs,
            "--input": self.inputs,
            "--private": self.private,
            "--tool": self.tools,
            "--decimal": self.decimal,
            "--sop": self.sop,
        }
        return [name for name, value in options.items() if value]

    def with_source(self, source: str | None) -> Wishes:
        """Return the same with another table."""
        return replace(self, source=source)


def at_a_terminal() -> bool:
    """Whether somebody can answer, and sees the question."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a table, and hand them over as `wishes`."""

    @functools.wraps(command)
    def with_wishes(**options: Any) -> None:
        names = Wishes.__dataclass_fields__
        wishes = Wishes(**{name: options.pop(name) for name in names})
        command(wishes=wishes, **options)

    for option in reversed(_OPTIONS):
        with_wishes = option(with_wishes)
    return with_wishes


def _rows(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
    if value is None:
        return None
    found = _ROWS.fullmatch(value.strip())
    if found is None or int(found[2] or found[1]) - int(found[1]) not in (0, 1):
        msg = f"{value!r} is neither a row (2) nor two rows (2-3)"
        raise click.BadParameter(msg)
    return int(found[1]), int(found[2] or found[1])


_OPTIONS = (
    click.option("--from", "source", metavar="FILE", help="A table of old cases."),
    click.option("--sheet", metavar="NAME", help="The sheet of a workbook (the largest)."),
    click.option(
        "--header", callback=_rows, metavar="ROW[-ROW]", help="The rows with the names (found)."
    ),
    click.option("--id", metavar="COLUMN", help="Another value in each row (proposed)."),
    click.option(
        "--output", "outputs", multiple=True, metavar="COLUMN", help="Expected answer; repeatable."
    ),
    click.option(
        "--input", "inputs", multiple=True, metavar="COLUMN", help="For the agent; repeatable."
    ),
    click.option(
        "--private", "private", multiple=True, metavar="COLUMN", help="For nobody; repeatable."
    ),
    click.option(
        "--tool",
        "tools",
        multiple=True,
        metavar="COLUMN",
        help="For a tool, although it tells of persons or like an answer; repeatable.",
    ),
    click.option(
        "--decimal",
        type=click.Choice(["point", "comma"]),
        help="What stands before decimals, if cells leave that open.",
    ),
    click.option("--sop", metavar="FILE", help="The document of the procedure."),
)


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
        wishes = wishes.with_source(ask_source())
    if wishes.source is None:
        _refuse_without_table(wishes)
        _make_example(place, dry_run=dry_run)
    else:
        _make_from_table(plan_of(place, wishes, asks=asks, yes=yes), dry_run=dry_run)


def _asked_name(*, asks: bool) -> str:
    if not asks:
        msg = "Missing argument 'NAME'."
        raise click.UsageError(msg)

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
    from pytest_sopbench._making.place import (
        example_commands,
        example_files,
        new_folder,
        write_files,
    )

    files = example_files(place)
    if not dry_run:
        with new_folder(place.folder) as folder:
            write_files(folder, files)
    _say_written(place, files, dry_run=dry_run)
    say_to_do(place.folder, dry_run=dry_run)
    say_commands(example_commands(place), dry_run=dry_run)


def _make_from_table(plan: Plan, *, dry_run: bool) -> None:
    from pytest_sopbench._making.imported.plan import domain_files
    from pytest_sopbench._making.imported.preview import preview_lines
    from pytest_sopbench._making.place import new_folder, table_commands, write_files

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
    from pytest_sopbench._making.place import to_do_lines

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


# The questions of `sopbench new`, one at a time, each with a proposal.

_NONE = "none"
_T = TypeVar("_T")
_R = TypeVar("_R")


def ask_name() -> str:
    """Ask what the domain is to be called."""
    from pytest_sopbench._making.place import check_name

    def read(text: str) -> str:
        return _checked(check_name, text) or text

    return str(click.prompt("Name of the domain", value_proc=read))


def ask_source() -> str | None:
    """Ask for the table; none means the small example."""

    def read(text: str) -> str:
        if text.strip() in ("", _NONE):
            return ""
        path = from_home(text.strip())
        if not path.is_file():
            msg = f"{path}: no such file"
            raise click.UsageError(msg)
        return str(path)

    question = "Table of old cases (.xlsx, .csv, .parquet; none: a small example)"
    return click.prompt(question, default=_NONE, value_proc=read) or None


def ask_sheet(names: Sequence[str], largest: str) -> str | None:
    """Ask for the sheet, where there are several; the largest is proposed."""
    if len(names) == 1:
        return names[0]
    return str(click.prompt("Sheet", default=largest or names[0], type=click.Choice(names)))


def ask_decimal(columns: Sequence[Column]) -> str:
    """Ask once for all columns what stands before decimals; none leaves them as written."""
    for column in columns:
        for odd in column.oddities:
            if odd.rows:
                say(f"{column.name}: {odd.rows}")
    question = "What stands before decimals there (none: left as text)"
    choices = click.Choice(["point", "comma", _NONE])
    return str(click.prompt(question, default=_NONE, type=choices))


def ask_roles(sheet: Sheet, wishes: Wishes) -> Wishes:
    """Ask for what was not said of the columns, and for the procedure."""
    from pytest_sopbench._making.imported import fields as roles
    from pytest_sopbench._making.imported.fields import find_column, find_columns

    if not (wishes.id and wishes.outputs and wishes.inputs):
        _say_columns(sheet, wishes)
    asked_all = not wishes.outputs or not wishes.inputs
    if not wishes.id:
        proposed = roles.proposed_id(sheet)
        found = _ask(sheet, "Which column names the case", [proposed] if proposed else [], most=1)
        wishes = replace(wishes, id=found[0])
    key = find_column(sheet, str(wishes.id), "--id")
    if not wishes.outputs:
        offer = [one for one in roles.proposed_outputs(sheet) if one is not key]
        wishes = replace(wishes, outputs=_ask(sheet, "Which hold the expected answer", offer))
    outputs = find_columns(sheet, wishes.outputs, "--output")
    taken = (key, *outputs)
    if not wishes.private and asked_all:
        tools = find_columns(sheet, wishes.tools, "--tool")
        offer = list(roles.proposed_private(sheet, (*taken, *tools)))
        found = _ask(sheet, "Which may nobody see (names of persons)", offer, least=0)
        # Who takes a column off the proposal has said that the agent may see it.
        seen = tuple(one.name for one in offer if one.name not in found)
        wishes = replace(wishes, private=found, tools=(*wishes.tools, *seen))
    if not wishes.inputs:
        taken = (*taken, *find_columns(sheet, wishes.private, "--private"))
        offer = list(roles.proposed_inputs(sheet, taken, outputs))
        question = "Which is the agent given (the others are looked up by tools)"
        wishes = replace(wishes, inputs=_ask(sheet, question, offer))
    return wishes if wishes.sop else replace(wishes, sop=_ask_procedure())


def _say_columns(sheet: Sheet, wishes: Wishes) -> None:
    """Number the columns, with examples, but for what is private or looks so."""
    from pytest_sopbench._making.imported.fields import (
        examples,
        find_columns,
        proposed_private,
        secrets_of,
    )
    from pytest_sopbench._making.imported.preview import HIDDEN
    from pytest_sopbench._reports.text import WIDTH, cut, one_line, padded

    private = (*find_columns(sheet, wishes.private, "--private"), *proposed_private(sheet, ()))
    secrets = secrets_of({one.name: one.texts for one in private})
    for number, column in enumerate(sheet.columns, 1):
        shown = HIDDEN if column in private else ", ".join(examples(column.texts, secrets))
        say(cut(one_line(f"{number:>3}  {padded(column.name, 24)}  {shown}"), WIDTH))


def _ask(
    sheet: Sheet, question: str, proposed: Sequence[Column], *, least: int = 1, most: int = 0
) -> tuple[str, ...]:
    """Ask for columns, by number or name with commas between; the proposal is the default."""
    places = [str(sheet.columns.index(one) + 1) for one in proposed]
    default = ", ".join(places) or (None if least else _NONE)

    def read(text: str) -> tuple[str, ...]:
        names = _checked(lambda words: _names(sheet, words), text)
        if not least <= len(names) <= (most or len(names)):
            msg = "one column is needed" if most else "a column is needed"
            raise click.UsageError(msg)
        return names

    found: tuple[str, ...] = click.prompt(question, default=default, value_proc=read)
    return found


def _names(sheet: Sheet, text: str) -> tuple[str, ...]:
    from pytest_sopbench._making.imported.fields import find_columns

    words = [word.strip() for word in text.split(",") if word.strip()]
    if [word.casefold() for word in words] == [_NONE] or not words:
        return ()
    if any(one.name == text.strip() for one in sheet.columns):
        # A name with a comma in it is still one name.
        words = [text.strip()]
    named = [_named(sheet, word) for word in words]
    return tuple(one.name for one in find_columns(sheet, named, "column"))


def _named(sheet: Sheet, word: str) -> str:
    is_number = word.isascii() and word.isdigit() and 1 <= int(word) <= len(sheet.columns)
    return sheet.columns[int(word) - 1].name if is_number else word


def _ask_procedure() -> str:
    from pytest_sopbench._making.documents import read_procedure

    def read(text: str) -> str:
        path = from_home(text.strip())
        _checked(read_procedure, path)
        return str(path)

    question = "Document of the procedure (.docx, .pdf, .html, .md, .txt)"
    return str(click.prompt(question, value_proc=read))


def _checked(function: Callable[[_T], _R], value: _T) -> _R:
    """Have a refusal asked again, and not end the program."""
    try:
        return function(value)
    except SopbenchError as fault:
        raise click.UsageError(str(fault)) from fault


# A table, a document and what a user says of them become a plan.

_SIGNS = {"point": ".", "comma": ","}


def plan_of(place: Place, wishes: Wishes, *, asks: bool, yes: bool) -> Plan:
    """Read the table and the document, and decide; questions are asked where that is allowed.

    Raises:
        LoadingError: a file cannot be used, or something is missing that nobody can be asked.
    """
    from pytest_sopbench._making.imported.plan import make_plan

    path = from_home(str(wishes.source))
    sheet = _sheet(path, wishes, asks=asks)
    if asks:
        wishes = ask_roles(sheet, wishes)
    elif not yes:
        _refuse_gaps(sheet, wishes)
    elif wishes.sop is None:
        raise LoadingError(path, "--sop FILE is missing: the document of the procedure")
    roles, notes = _roles(sheet, wishes)
    sheet = replace(sheet, notes=(*sheet.notes, *notes))
    return make_plan(place, sheet, roles, _procedure(str(wishes.sop)))


def _sheet(path: Path, wishes: Wishes, *, asks: bool) -> Sheet:
    from pytest_sopbench._making.sheet.read import WORKBOOKS, read_grid
    from pytest_sopbench._making.sheet.table import table_of

    name = wishes.sheet
    if asks and name is None and path.suffix.lower() in WORKBOOKS and path.is_file():
        from pytest_sopbench._making.sheet.read import sheets

        name = ask_sheet(*sheets(path))
    grid = read_grid(path, name)
    table = table_of(grid, wishes.header, _SIGNS.get(wishes.decimal or "", ""))
    doubts = [one for one in table.columns if one.is_in_doubt]
    if not asks or not doubts:
        return table

    return table_of(grid, wishes.header, _SIGNS.get(ask_decimal(doubts), ""))


def _refuse_gaps(sheet: Sheet, wishes: Wishes) -> None:
    """Name everything that is missing at once, and what there is to choose from."""
    from pytest_sopbench._making.imported.fields import names_of

    gaps = {
        "--output COLUMN (the expected answer)": wishes.outputs,
        "--input COLUMN (what the agent is given)": wishes.inputs,
        "--sop FILE (the procedure)": wishes.sop,
    }
    missing = [option for option, value in gaps.items() if not value]
    if missing:
        problem = f"also needed: {', '.join(missing)}; or --yes, which takes proposals"
        hint = f"its columns: {names_of(sheet.columns)}"
        raise LoadingError(sheet.path, problem, hint=hint)


def _roles(sheet: Sheet, wishes: Wishes) -> tuple[Roles, list[str]]:
    """Find the columns that are named, and take the proposals for the others."""
    from pytest_sopbench._making.imported import fields as roles
    from pytest_sopbench._making.imported.fields import find_column, find_columns, names_of

    notes = list[str]()
    if wishes.id:
        key = find_column(sheet, wishes.id, "--id")
    else:
        found = roles.proposed_id(sheet)
        if found is None:
            hint = "give --id COLUMN, whose values name the cases"
            raise LoadingError(sheet.path, "no column has another value in each row", hint=hint)
        key = found
        notes.append(f"{key.name!r} is taken for the id; --id names another column")
    outputs = find_columns(sheet, wishes.outputs, "--output") or roles.proposed_outputs(sheet)
    outputs = tuple(one for one in outputs if wishes.outputs or one is not key)
    if not outputs:
        hint = "give --output COLUMN, whose values are expected"
        raise LoadingError(sheet.path, "no column beside the id holds an answer", hint=hint)
    if not wishes.outputs:
        notes.append(f"{names_of(outputs)} is taken for the answer; --output names another column")
    private = find_columns(sheet, wishes.private, "--private")
    inputs = find_columns(sheet, wishes.inputs, "--input")
    tools = find_columns(sheet, wishes.tools, "--tool")
    # What tells of persons reaches no model unless somebody asks for it by name.
    asked_for = (key, *outputs, *private, *inputs, *tools)
    persons = roles.proposed_private(sheet, asked_for)
    if persons:
        notes.append(
            f"no agent sees {names_of(persons)}, about persons as it seems; --input or --tool"
            " gives a column to the agent"
        )
    private = (*private, *persons)
    taken = (key, *outputs, *private, *tools)
    inputs = inputs or roles.proposed_inputs(sheet, taken, outputs)
    return roles.Roles(id=key, inputs=inputs, outputs=outputs, private=private, tools=tools), notes


def _procedure(sop: str) -> Procedure:
    from pytest_sopbench._making.documents import read_procedure
    from pytest_sopbench._making.imported.plan import Procedure

    path = from_home(sop)
    file, text, notes = read_procedure(path)
    return Procedure(file=file, text=text, source=str(path), notes=notes)
