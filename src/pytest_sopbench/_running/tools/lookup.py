"""Look-up tools: tools without code, which serve columns of the task's own row.

One row is all there is to look in, so a look-up takes constant time however long the data is,
and another row cannot be reached at all.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.task import LookupTool
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import ToolArgumentError, ToolError, ToolSpecError

_SHOWN: Final = 80


def look_up(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> JsonValue:
    """Return the columns that the tool serves, or its constant result.

    Raises:
        ToolArgumentError: an argument does not fit the record.
        ToolError: all that the tool serves is empty, and it says that this is an error.
    """
    for name in tool.key:
        if not equals_cell(_given(tool, arguments, name), row.get(name)):
            msg = f"no record with {name} = {_shown(arguments[name])}"
            raise ToolArgumentError(msg)
    for name in tool.check:
        if not equals_cell(_collapsed(_given(tool, arguments, name)), _collapsed(row.get(name))):
            msg = f"{name} does not match the record: {_shown(arguments[name])}"
            raise ToolArgumentError(msg)
    if not tool.returns:
        return tool.result
    served = {column: row.get(column) for column in tool.returns}
    if tool.missing == "error" and all(value in (None, "") for value in served.values()):
        msg = f"{tool.name}: the record has no {', '.join(tool.returns)}"
        raise ToolError(msg)
    return served


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
        for column in (*tool.key, *tool.check, *tool.returns):
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


def _shown(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{ready_to_cut(text)[:_SHOWN]}..."
