"""`sopbench new --from TABLE`: its options, its questions, and the plan that they make."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from pytest_sopbench._cli.app import say
from pytest_sopbench._making import imported as roles
from pytest_sopbench._making.documents import read_procedure
from pytest_sopbench._making.imported import (
    HIDDEN,
    Plan,
    Procedure,
    Roles,
    examples,
    find_column,
    find_columns,
    make_plan,
    names_of,
    output_options,
    proposed_private,
    secrets_of,
)
from pytest_sopbench._making.place import Place
from pytest_sopbench._making.sheet import WORKBOOKS, read_grid, sheets
from pytest_sopbench._making.table import Column, Sheet, table_of
from pytest_sopbench._reports.text import WIDTH, cut, one_line, padded
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import LoadingError, SopbenchError

_T = TypeVar("_T")
_R = TypeVar("_R")
_ROWS = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a user says of a table; what is empty or `None` was not said."""

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
        """Return the options that were given."""
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


# Its questions, one at a time, each with a proposal.

NONE = "none"


def checked(function: Callable[[_T], _R], value: _T) -> _R:
    """Have a refusal asked again, and not end the program."""
    try:
        return function(value)
    except SopbenchError as fault:
        raise click.UsageError(str(fault)) from fault


def ask_decimal(columns: Sequence[Column]) -> str:
    """Ask once for all columns what stands before decimals; none leaves them as written."""
    for column in columns:
        for odd in column.oddities:
            if odd.rows:
                say(f"{column.name}: {odd.rows}")
    question = "What stands before decimals there (none: left as text)"
    choices = click.Choice(["point", "comma", NONE])
    return str(click.prompt(question, default=NONE, type=choices))


def ask_roles(sheet: Sheet, wishes: Wishes) -> Wishes:
    """Ask for what was not said of the columns, and for the procedure."""
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
    default = ", ".join(places) or (None if least else NONE)

    def read(text: str) -> tuple[str, ...]:
        names = checked(lambda words: _names(sheet, words), text)
        if not least <= len(names) <= (most or len(names)):
            msg = "one column is needed" if most else "a column is needed"
            raise click.UsageError(msg)
        return names

    found: tuple[str, ...] = click.prompt(question, default=default, value_proc=read)
    return found


def _names(sheet: Sheet, text: str) -> tuple[str, ...]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    if [word.casefold() for word in words] == [NONE] or not words:
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
    def read(text: str) -> str:
        path = from_home(text.strip())
        checked(read_procedure, path)
        return str(path)

    question = "Document of the procedure (.docx, .pdf, .html, .md, .txt)"
    return str(click.prompt(question, value_proc=read))


# A table, a document and what a user says of them become a plan.

_SIGNS = {"point": ".", "comma": ","}


def plan_of(place: Place, path: Path, wishes: Wishes, *, asks: bool, yes: bool) -> Plan:
    """Read the table and the document, and decide; questions are asked if that is allowed.

    Raises:
        LoadingError: a file cannot be used, or something is missing that nobody can be asked.
    """
    sheet = _sheet(path, wishes, asks=asks)
    if asks:
        wishes = ask_roles(sheet, wishes)
    elif not yes:
        _refuse_gaps(sheet, wishes)
    elif wishes.sop is None:
        raise LoadingError(path, "--sop FILE is missing: the document of the procedure")
    roles, notes = _roles(sheet, wishes)
    sheet = replace(sheet, told=(*sheet.told, *notes))
    plan = make_plan(place, sheet, roles, _procedure(str(wishes.sop)))
    if yes and not asks and not wishes.outputs:
        _refuse_doubt(plan)
    return plan


def _sheet(path: Path, wishes: Wishes, *, asks: bool) -> Sheet:
    name = wishes.sheet
    if asks and name is None and path.suffix.lower() in WORKBOOKS:
        names, largest = sheets(path)
        name = largest or names[0]
        if names[1:]:
            name = str(click.prompt("Sheet", default=name, type=click.Choice(names)))
    grid = read_grid(path, name)
    table = table_of(grid, wishes.header, _SIGNS.get(wishes.decimal or "", ""))
    doubts = [one for one in table.columns if one.is_in_doubt]
    if not asks or not doubts:
        return table

    return table_of(grid, wishes.header, _SIGNS.get(ask_decimal(doubts), ""))


def _refuse_gaps(sheet: Sheet, wishes: Wishes) -> None:
    """Name everything that is missing at once, and what there is to choose from."""
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


def _refuse_doubt(plan: Plan) -> None:
    """Drop no answer unasked: what is not judged can never be wrong."""
    taken, maybe = plan.roles.outputs, plan.maybe_expected
    if maybe:
        also = f"{names_of(maybe)} may be expected as well as {names_of(taken)}"
        it, each = ("it", "") if len(maybe) == 1 else ("them", ", without what is not judged")
        both, one = output_options((*taken, *maybe)), output_options(taken)
        hint = f"give {both}{each}, or {one} alone"
        raise LoadingError(plan.sheet.path, f"{also}, and --yes would drop {it}", hint=hint)


def _roles(sheet: Sheet, wishes: Wishes) -> tuple[Roles, list[str]]:
    """Find the columns that are named, and take the proposals for the others."""
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
        notes.append(f"the answer is taken to be {names_of(outputs)}; --output names other columns")
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
    if not inputs:
        inputs = roles.proposed_inputs(sheet, taken, outputs)
        notes.append(
            "names decide: columns that share their first word are looked up by a tool, others are"
            " given to the agent; --tool or --input COLUMN says otherwise"
        )
    return roles.Roles(id=key, inputs=inputs, outputs=outputs, private=private, tools=tools), notes


def _procedure(sop: str) -> Procedure:
    path = from_home(sop)
    file, text, notes = read_procedure(path)
    return Procedure(file=file, text=text, source=str(path), notes=notes)
