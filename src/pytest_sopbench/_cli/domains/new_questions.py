"""The questions of `sopbench new`, one at a time, each with a proposal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from pytest_sopbench._cli.app import say
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import SopbenchError

from .new_options import Wishes

if TYPE_CHECKING:
    from pytest_sopbench._making.sheet.columns import Column, Sheet

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
    from pytest_sopbench._making.imported import roles
    from pytest_sopbench._making.imported.matching import find_column, find_columns

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
    from pytest_sopbench._making.imported.fields import examples, secrets_of
    from pytest_sopbench._making.imported.matching import find_columns
    from pytest_sopbench._making.imported.preview import HIDDEN
    from pytest_sopbench._making.imported.roles import proposed_private
    from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line, padded

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
    from pytest_sopbench._making.imported.matching import find_columns

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
    from pytest_sopbench._making.documents.procedure import read_procedure

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
