"""Everything that is decided before a domain is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.normalise import is_empty
from pytest_sopbench._loading.files.cells import ColumnType, infer_type
from pytest_sopbench._making.place import Place
from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench._making.sheet.grid import Kind
from pytest_sopbench._reports.text.numbers import counted
from pytest_sopbench.errors import LoadingError

from .fields import OutputValues, output_notes, output_values
from .matching import names_of
from .roles import Roles, about_the_answer, check_roles, counts_rows, tells_of_persons
from .rows import LeftOut, kept_texts, sorted_rows
from .slugs import field_names
from .tools import ProposedTool, proposed_tools

_SHOWN: Final = 3
_COUNTS: Final = "it counts the rows"


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
    outputs = _outputs(roles, kept)
    unlabelled = [one for one in roles.outputs if not _has_labels(one, roles, outputs)]
    if any(is_empty(text) for one in unlabelled for text in kept_texts(one, kept)):
        kept, left_out = sorted_rows(sheet, roles, texts=unlabelled)
        outputs = _outputs(roles, kept)
    if not kept:
        told = [f"row {one}: {one.reason}" for one in left_out[:_SHOWN]]
        hint = f"left out: {'; '.join(told)} ..."
        raise LoadingError(sheet.path, "no row is left to become a task", hint=hint)
    named = (*roles.given, *roles.outputs, *roles.private)
    left = [one for one in sheet.columns if one not in named]
    asked = {one.name for one in roles.tools}
    dropped = {
        one.name: why
        for one in left
        if one.name not in asked and (why := _no_tool(one, sheet, roles))
    }
    served = [one for one in left if one.name not in dropped]
    names = field_names([one.name for one in sheet.columns if one.name not in dropped])
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
        texts=frozenset(one.name for one in sheet.columns if _stays_text(sheet, roles, one, kept)),
        notes=(
            *sheet.notes,
            *procedure.notes,
            *(note for one in roles.outputs for note in _about(one, outputs[one.name], roles)),
            *_dropped(dropped),
            *_leaks(roles),
            *_personal(roles, served),
        ),
    )


def _outputs(roles: Roles, kept: list[int]) -> dict[str, OutputValues]:
    return {
        one.name: output_values(kept_texts(one, kept), as_text=one.stays_text)
        for one in roles.outputs
    }


def _has_labels(output: Column, roles: Roles, outputs: Mapping[str, OutputValues]) -> bool:
    return bool(outputs[output.name].labels) and output not in roles.private


def _no_tool(column: Column, sheet: Sheet, roles: Roles) -> str:
    """Say why no tool serves a column that is left; empty where one does."""
    if counts_rows(column):
        return _COUNTS
    why = about_the_answer(column, roles.outputs)
    behind = column in _behind_the_answer(sheet, roles)
    return why or ("it stands right of the answer, as what is written with it" if behind else "")


def _stays_text(sheet: Sheet, roles: Roles, column: Column, kept: Sequence[int]) -> bool:
    """Whether a column is text in its own program, and would be read as something else.

    Ids with points in them are text in any program: `2024.010` is not 2024.01.
    """
    cells = [column.cells[place] for place in kept]
    is_text = all(cell.kind is Kind.TEXT for cell in cells if cell.text)
    is_id = column is roles.id and any("." in cell.text for cell in cells)
    if not is_id and not column.stays_text and not (sheet.typed and is_text):
        return False
    return infer_type([cell.text for cell in cells]) in (ColumnType.NUMBER, ColumnType.BOOLEAN)


def _about(output: Column, values: OutputValues, roles: Roles) -> Iterator[str]:
    """Say what is odd about an output; the values of a private one are not shown."""
    if output not in roles.private:
        yield from output_notes(output.name, values)
        yield from _nothing_or(output, values)


def _nothing_or(output: Column, values: OutputValues) -> Iterator[str]:
    """Say where a mark or nothing may mean yes or no: an empty answer is none here."""
    empty = sum(1 for cell in output.cells if not cell.text)
    if len(values.counts) == 1 and empty:
        only = next(iter(values.counts))
        yield (
            f"{output.name}: {only!r} or nothing, which is in {counted(empty, 'row')}; if nothing"
            " is an answer, write it into the table as a word"
        )


def _dropped(dropped: Mapping[str, str]) -> Iterator[str]:
    if any(why != _COUNTS for why in dropped.values()):
        yield "--tool COLUMN serves a dropped column, if it is known before the decision"


def _leaks(roles: Roles) -> Iterator[str]:
    for one in roles.inputs:
        why = about_the_answer(one, roles.outputs)
        if why:
            yield f"{one.name} is an input, and {why}: does it give the answer away?"


def _personal(roles: Roles, served: Sequence[Column]) -> Iterator[str]:
    given = [one for one in (*roles.given, *served) if tells_of_persons(one)]
    if given:
        yield f"the agent is given {names_of(given)}, about persons as it seems"


def _behind_the_answer(sheet: Sheet, roles: Roles) -> Sequence[Column]:
    """Return the columns right of the answer; none where cases are described there."""
    places = [sheet.columns.index(one) for one in roles.outputs]
    inputs = [sheet.columns.index(one) for one in roles.inputs]
    left = [one for one in sheet.columns[: min(places)] if one is not roles.id]
    if not left or max(inputs, default=0) > max(places):
        return ()
    return sheet.columns[max(places) + 1 :]
