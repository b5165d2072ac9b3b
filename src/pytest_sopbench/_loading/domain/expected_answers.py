"""Do the expected answers fit what `outputs` declares of them?"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from pytest_sopbench._core.fields.values import EMPTY, Key, value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed, shown
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench.errors import RowError

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

    An empty cell fits each type. What is inferred fits by nature, and what is not compared need
    not fit.

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


def _is_whole(key: Key) -> bool:
    number = key[1]
    return isinstance(number, Decimal) and number == number.to_integral_value()


def _hint(field: OutputField, cell: JsonValue) -> str:
    if field.type is not FieldType.ENUM:
        return "correct the cell, or declare another type"
    return did_you_mean(str(cell), field.values) or f"values: {listed(field.values)}"
