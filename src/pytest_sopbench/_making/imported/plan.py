"""Everything that is decided before a domain is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._loading.files.cells import ColumnType, infer_type
from pytest_sopbench._making.place import Place
from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench._making.sheet.grid import Kind
from pytest_sopbench.errors import LoadingError

from .fields import OutputValues, output_notes, output_values
from .matching import names_of
from .roles import Roles, about_the_answer, check_roles, proposed_private
from .rows import LeftOut, kept_texts, sorted_rows
from .slugs import field_names
from .tools import ProposedTool, proposed_tools

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """The text of a procedure, the name of its file, and where it is from."""

    file: str
    text: str
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A domain that is to be made from a table.

    `names` are ours, by those of the columns. `kept` are the places of the rows that become
    tasks. `dropped` are the columns that are left out, with the reason.
    """

    place: Place
    sheet: Sheet
    roles: Roles
    procedure: Procedure
    names: Mapping[str, str]
    kept: Sequence[int]
    left_out: Sequence[LeftOut]
    outputs: Mapping[str, OutputValues]
    tools: Sequence[ProposedTool]
    dropped: Mapping[str, str]
    texts: frozenset[str]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data file."""
        return tuple(one for one in self.sheet.columns if one.name not in self.dropped)

    def values(self, column: Column) -> list[str]:
        """Return the texts of a column in the rows that become tasks."""
        return kept_texts(column, list(self.kept))


def make_plan(place: Place, sheet: Sheet, roles: Roles, procedure: Procedure) -> Plan:
    """Decide everything; nothing is written.

    Raises:
        LoadingError: columns have parts that exclude each other, or no row is left.
    """
    check_roles(sheet, roles)
    kept, left_out = sorted_rows(sheet, roles)
    if not kept:
        hint = f"left out: {'; '.join(map(str, left_out[:_SHOWN]))} ..."
        raise LoadingError(sheet.path, "no row is left to become a task", hint=hint)
    named = (*roles.given, *roles.outputs, *roles.private)
    left = [one for one in sheet.columns if one not in named]
    dropped = {one.name: why for one in left if (why := about_the_answer(one, roles.outputs))}
    served = [one for one in left if one.name not in dropped]
    names = field_names([one.name for one in sheet.columns if one.name not in dropped])
    outputs = {one.name: output_values(kept_texts(one, kept)) for one in roles.outputs}
    return Plan(
        place=place,
        sheet=sheet,
        roles=roles,
        procedure=procedure,
        names=names,
        kept=kept,
        left_out=left_out,
        outputs=outputs,
        tools=proposed_tools(served, names, kept),
        dropped=dropped,
        texts=frozenset(one.name for one in sheet.columns if _stays_text(sheet, one, kept)),
        notes=(
            *sheet.notes,
            *procedure.notes,
            *(note for name, one in outputs.items() for note in output_notes(name, one)),
            *_leaks(roles),
            *_personal(sheet, roles),
            *_behind_the_answer(sheet, roles, served),
        ),
    )


def _stays_text(sheet: Sheet, column: Column, kept: Sequence[int]) -> bool:
    """Whether a column is text in its own program, and would be read as something else."""
    cells = [column.cells[place] for place in kept]
    if not sheet.typed or any(cell.text and cell.kind is not Kind.TEXT for cell in cells):
        return False
    return infer_type([cell.text for cell in cells]) in (ColumnType.NUMBER, ColumnType.BOOLEAN)


def _leaks(roles: Roles) -> Iterator[str]:
    for one in roles.inputs:
        why = about_the_answer(one, roles.outputs)
        if why:
            yield f"{one.name} is an input, and {why}: does it give the answer away?"


def _personal(sheet: Sheet, roles: Roles) -> Iterator[str]:
    found = proposed_private(sheet, (*roles.private, *roles.outputs, roles.id))
    if found:
        yield f"{names_of(found)} may tell of persons; --private keeps a column from the agent"


def _behind_the_answer(sheet: Sheet, roles: Roles, served: Sequence[Column]) -> Iterator[str]:
    last = max(sheet.columns.index(one) for one in roles.outputs)
    behind = [one for one in sheet.columns[last + 1 :] if one in served]
    if behind:
        yield f"{names_of(behind)}, right of the answer: known before the decision?"
