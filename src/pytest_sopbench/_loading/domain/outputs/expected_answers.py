"""Do the expected answers fit what `outputs` declares of them, and do they ask for an answer?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from pytest_sopbench._core.fields.values import EMPTY, Key, value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed, shown
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench.errors import LoadingError, RowError

_ROWS = 5
"""Rows that a warning names."""

_WORDS: Mapping[FieldType, str] = {
    FieldType.BOOLEAN: "true or false",
    FieldType.INTEGER: "a whole number",
    FieldType.NUMBER: "a number",
    FieldType.DATE: "an ISO date",
    FieldType.ENUM: "one of the values",
}
"""The types that a cell can fail to have; any text is a list of one."""


def check_expected(field: OutputField, table: Table) -> None:
    """Refuse an expected answer that the judge cannot read as the declared type.

    Of an empty cell `refuse_empty` decides. What is inferred fits by nature, and what is not
    compared need not fit.

    Raises:
        RowError: the first row whose expected answer does not fit.
    """
    if not field.declared or field.compare is not Compare.EXACT or field.type not in _WORDS:
        return
    labels = {value_key(field, label) for label in field.values}
    for cell, line in zip(table.cells(field.name), table.lines, strict=True):
        key = value_key(field, cell)
        if field.type is FieldType.ENUM:
            fits = key in labels
        else:
            fits = key[0] != "text" and (field.type is not FieldType.INTEGER or _is_whole(key))
        if not fits and key != EMPTY:
            raise RowError(
                table.path,
                f"{shown(cell)} is not {_WORDS[field.type]}, as 'outputs' declares",
                row=line,
                column=field.name,
                hint=_hint(field, cell),
            )


def refuse_empty(
    fields: Sequence[OutputField], table: Table, may_be_empty: Collection[str], *, published: bool
) -> None:
    """Refuse an empty expected answer that nobody has asked for: a stub would be right there.

    A column without a single answer asks for nothing, and so does a row; a field whose type is
    declared to be no text has a value in each row. Folders of the published layout were not
    written for these rules: there only the empty column is refused, and of others is warned.

    Raises:
        LoadingError: each cell of a column is empty.
        RowError: the first row with an empty cell that has to be full.
    """
    compared = [field for field in fields if field.compare is Compare.EXACT]
    empty = {field.name: _empty_places(field, table) for field in compared}
    for field in compared:
        if len(empty[field.name]) == len(table.rows):
            raise LoadingError(
                table.path,
                "every expected answer is empty, so an agent that answers nothing would be right",
                column=field.name,
                hint="write the expected answers, or take the column off 'output_columns'",
            )
    if published:
        return
    asked = [field for field in compared if field.name not in may_be_empty]
    for field in asked:
        if empty[field.name] and field.declared and field.type is not FieldType.TEXT:
            raise _empty_cell(field, table, empty[field.name][0])
    if asked and (places := set[int].intersection(*map(set[int], empty.values()))):
        raise RowError(
            table.path,
            "no answer is expected, so an agent that answers nothing would be right",
            row=table.lines[min(places)],
            column=asked[0].name,
            hint="write the expected answer; where an empty one is right, say 'may_be_empty': "
            f"true in 'outputs.{asked[0].name}'",
        )


def empty_warnings(
    fields: Sequence[OutputField], table: Table, may_be_empty: Collection[str]
) -> Iterator[str]:
    """Yield, of each field, in how many rows an empty answer is right, though nothing says so."""
    for field in fields:
        if field.name in may_be_empty or field.compare is not Compare.EXACT:
            continue
        places = _empty_places(field, table)
        if places:
            cells = f"{len(places)} expected cell{'s' if len(places) > 1 else ''} of {field.name}"
            are = "are empty: an empty answer is right there"
            rows = ", ".join(str(table.lines[place]) for place in places[:_ROWS])
            more = f" and {len(places) - _ROWS} more" if len(places) > _ROWS else ""
            word = "rows" if len(places) > 1 else "row"
            are = are if len(places) > 1 else are.replace("are", "is", 1)
            yield f"{table.path.name}: {cells} {are} ({word} {rows}{more})"


def _empty_places(field: OutputField, table: Table) -> list[int]:
    cells = table.cells(field.name)
    return [place for place, cell in enumerate(cells) if value_key(field, cell) == EMPTY]


def _empty_cell(field: OutputField, table: Table, place: int) -> RowError:
    cell = table.cells(field.name)[place]
    said = "the expected answer is empty" if cell in (None, "") else f"{shown(cell)} is empty"
    needed = _WORDS.get(field.type, "a list")
    hint = f"write {needed}; where an empty answer is right, say 'may_be_empty': true"
    if field.type is FieldType.LIST:
        hint = "write [] where an empty list is right"
    elif field.type is FieldType.ENUM:
        hint = f"write one of {listed(field.values)}; where an empty answer is right, "
        hint += "add \"\" to 'values'"
        if cell not in (None, ""):
            hint += f"; where {cell!r} is a label, add it to 'values'"
    return RowError(
        table.path,
        f"{said}, and 'outputs' declares {needed}",
        row=table.lines[place],
        column=field.name,
        hint=hint,
    )


def _is_whole(key: Key) -> bool:
    number = key[1]
    return isinstance(number, Decimal) and number == number.to_integral_value()


def _hint(field: OutputField, cell: JsonValue) -> str:
    if field.type is not FieldType.ENUM:
        return "correct the cell, or declare another type"
    return did_you_mean(str(cell), field.values) or f"values: {listed(field.values)}"
