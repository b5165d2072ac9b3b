"""A table, a document and what a user says of them become a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import LoadingError

from .new_options import Wishes

if TYPE_CHECKING:
    from pytest_sopbench._making.imported.plan import Plan, Procedure
    from pytest_sopbench._making.imported.roles import Roles
    from pytest_sopbench._making.place import Place
    from pytest_sopbench._making.sheet.columns import Sheet

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
        from .new_questions import ask_roles

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
        from pytest_sopbench._making.sheet.workbook import sheets

        from .new_questions import ask_sheet

        name = ask_sheet(*sheets(path))
    grid = read_grid(path, name)
    table = table_of(grid, wishes.header, _SIGNS.get(wishes.decimal or "", ""))
    doubts = [one for one in table.columns if one.is_in_doubt]
    if not asks or not doubts:
        return table
    from .new_questions import ask_decimal

    return table_of(grid, wishes.header, _SIGNS.get(ask_decimal(doubts), ""))


def _refuse_gaps(sheet: Sheet, wishes: Wishes) -> None:
    """Name everything that is missing at once, and what there is to choose from."""
    from pytest_sopbench._making.imported.matching import names_of

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
    from pytest_sopbench._making.imported import roles
    from pytest_sopbench._making.imported.matching import find_column, find_columns, names_of

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
    from pytest_sopbench._making.documents.procedure import read_procedure
    from pytest_sopbench._making.imported.plan import Procedure

    path = from_home(sop)
    file, text, notes = read_procedure(path)
    return Procedure(file=file, text=text, source=str(path), notes=notes)
