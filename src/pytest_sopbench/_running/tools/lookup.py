"""Look-up tools: tools without code, which serve columns of the task's own row or records.

One row with its records is all there is to look in, so a look-up takes the same time however
long the data is, and another row cannot be reached at all.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Final, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import LookupTool
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import ToolArgumentError, ToolError, ToolSpecError

_SHOWN: Final = 80


def look_up(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> JsonValue:
    """Return the columns that the tool serves, or its constant result.

    Raises:
        ToolArgumentError: an argument does not fit the record, or any record of the table.
        ToolError: all that the tool serves is empty, and it says that this is an error.
    """
    for name in tool.key:
        if not equals_cell(_given(tool, arguments, name), row.get(tool.columns.get(name, name))):
            msg = f"no record with {name} = {shown(arguments[name])}"
            raise ToolArgumentError(msg)
    for name in tool.check:
        cell = _collapsed(row.get(tool.column_of(name)))
        if not equals_cell(_collapsed(_given(tool, arguments, name)), cell):
            msg = f"{name} does not match the record: {shown(arguments[name])}"
            raise ToolArgumentError(msg)
    if not tool.returns:
        return tool.result
    if not tool.table:
        return _served(tool, row)
    found = _records(tool, row, arguments)
    return [_served(tool, record) for record in found] if tool.many else _served(tool, found[0])


def equals_cell(given: JsonValue, cell: JsonValue) -> bool:
    """Tell whether an argument is a cell's typed value, or the cell as it is written.

    Exact: text is compared as it stands, and a boolean is not a number.
    """
    if isinstance(given, str) and not isinstance(cell, str):
        return _reads_as(given.strip(), cell)
    if isinstance(given, bool) is not isinstance(cell, bool):
        return False
    return given == cell


def refuse_leaks(domain: Domain) -> None:
    """Check that no look-up tool serves, or lets an agent guess at, what it must not know.

    Raises:
        ToolSpecError: a tool names an output field or a private column.
    """
    outputs = {output.name for output in domain.fields}
    for tool in domain.lookups.values():
        parameters = (*tool.key, *tool.check, *tool.record_key)
        for column in (*map(tool.column_of, parameters), *tool.returns):
            if column in outputs:
                problem = "is an output column: the tool would give the answer away"
            elif column in domain.private_columns:
                problem = "is a private column, which no agent may see"
            else:
                continue
            raise ToolSpecError(
                domain.folder / "metadata.json",
                f"tool {tool.name!r}: {column!r} {problem}",
                column="tools",
                hint="take it out of key, check and returns",
            )


def _records(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> list[Mapping[str, JsonValue]]:
    """The task's records that fit the arguments; at least one, but for an empty list of many."""
    wanted = {name: _given(tool, arguments, name) for name in tool.record_key}
    records = cast("Sequence[Mapping[str, JsonValue]]", row.get(tool.table) or ())
    found = [
        record
        for record in records
        if all(equals_cell(value, record[tool.column_of(n)]) for n, value in wanted.items())
    ]
    if not found and tool.not_found == "error":
        fits = " and ".join(f"{name} = {shown(value)}" for name, value in wanted.items())
        msg = f"no record with {fits}" if wanted else f"{tool.name}: there is no record"
        raise ToolArgumentError(msg)
    return found


def _served(tool: LookupTool, record: Mapping[str, JsonValue]) -> JsonValue:
    served = {column: record.get(column) for column in tool.returns}
    empty = all(value in (None, "") for value in served.values())
    if empty and tool.missing == "error" and not tool.many:
        msg = f"{tool.name}: the record has no {', '.join(tool.returns)}"
        raise ToolError(msg)
    return served[tool.returns[0]] if tool.bare else served


def _given(tool: LookupTool, arguments: Mapping[str, JsonValue], name: str) -> JsonValue:
    if name not in arguments:
        msg = f"{tool.name}: parameter {name!r} is missing"
        raise ToolArgumentError(msg)
    return arguments[name]


def _collapsed(value: JsonValue) -> JsonValue:
    return " ".join(value.split()) if isinstance(value, str) else value


def _reads_as(text: str, cell: JsonValue) -> bool:
    if cell is None:
        return text == ""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if not isinstance(value, str) and equals_cell(value, cell):
            return True
    return False


def shown(value: JsonValue) -> str:
    """Write a value into an error."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{ready_to_cut(text)[:_SHOWN]}..."
