"""Look-up tools, proposed for the columns that are left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_sopbench._loading.files.cells import ColumnType, infer_type
from pytest_sopbench._making.sheet.columns import Column

from .roles import prefix_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTool:
    """A tool that serves columns of the row whose id it is given."""

    name: str
    columns: tuple[Column, ...]
    is_sometimes_empty: bool


def proposed_tools(
    columns: Sequence[Column], names: Mapping[str, str], kept: Sequence[int]
) -> tuple[ProposedTool, ...]:
    """Propose a tool for the columns of each prefix, and one for each column that stands alone."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(prefix_of(column), []).append(column)
    tools = list[ProposedTool]()
    for prefix, group in groups.items():
        plain = prefix if len(group) > 1 and prefix else names[group[0].name]
        taken = {tool.name for tool in tools}
        name = f"get_{plain}"
        if name in taken:
            name = f"get_{names[group[0].name]}"
        rows = ([column.cells[place].text for column in group] for place in kept)
        empty = any(not any(row) for row in rows)
        tools.append(ProposedTool(name=name, columns=tuple(group), is_sometimes_empty=empty))
    return tuple(tools)


def tool_spec(
    tool: ProposedTool, key: Column, names: Mapping[str, str], texts: Collection[str]
) -> dict[str, Any]:
    """Return the spec that a model is shown; `texts` are columns that are no numbers."""
    is_number = key.name not in texts and infer_type(key.texts) is ColumnType.NUMBER
    kind = "number" if is_number else "string"
    served = ", ".join(one.name for one in tool.columns)
    return {
        "name": tool.name,
        "description": f"Looks up, by {key.name}: {served}. Fails for another id.",
        "parameters": {
            "type": "object",
            "properties": {names[key.name]: {"type": kind}},
            "required": [names[key.name]],
            "additionalProperties": False,
        },
    }


def tool_entry(tool: ProposedTool, key: Column, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of `tools` in metadata.json."""
    return {
        "key": [names[key.name]],
        "returns": [names[one.name] for one in tool.columns],
        # An empty cell of a table is an answer: nothing is there.
        "missing": "null" if tool.is_sometimes_empty else "error",
    }
