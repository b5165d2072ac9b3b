"""The tools of a domain whose tools write: what they answer, and what they leave behind.

It is read off the files alone, without the package: `world.json`, the row, `tools.py`, and the
inserts of `metadata.json`.
"""

from __future__ import annotations

import copy
import json
import runpy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from bundled_domains.generator import Answer, AnswerOfRow, Row, look_ups

from pytest_sopbench.errors import ToolError

Tables: TypeAlias = dict[str, dict[Any, dict[str, Any]]]


def answers_in(folder: Path) -> AnswerOfRow:
    """The tools of one run in the world of a domain; the look-up tools of one that has none."""

    def answers(tools: Mapping[str, Any], row: Row) -> Answer:
        known = _world(folder)
        if not known:
            return look_ups(tools, row)
        keys = {name: table["key"] for name, table in known.items()}
        more: Mapping[str, Any] = row["world"] or {}
        world: Tables = {
            name: {
                one[keys[name]]: copy.deepcopy(one)
                for one in (*table.get("rows", ()), *more.get(name, ()))
            }
            for name, table in known.items()
        }
        code = _manager(folder)
        manager = code and code(row=row, world=world)

        def answer(name: str, arguments: Mapping[str, Any]) -> Any:
            if name not in tools:
                return manager.process_tool_call(name, copy.deepcopy(dict(arguments)))
            if "insert" in tools[name]:
                return _inserted(tools[name], keys, world, arguments)
            return look_ups(tools, row)(name, arguments)

        return answer

    return answers


@cache
def _world(folder: Path) -> dict[str, Any]:
    path = folder / "world.json"
    tables: dict[str, Any] = json.loads(path.read_text("utf-8"))["tables"] if path.exists() else {}
    return tables


@cache
def _manager(folder: Path) -> Any:
    path = folder / "tools.py"
    names = runpy.run_path(str(path)) if path.exists() else {}
    return next((one for name, one in names.items() if name.endswith("Manager")), None)


def _inserted(
    tool: Mapping[str, Any], keys: Mapping[str, str], world: Tables, arguments: Row
) -> dict[str, Any]:
    def value(said: Any, rows: Mapping[Any, Row]) -> Any:
        match said:
            case {"argument": name}:
                return arguments[name]
            case {"next": prefix}:
                return f"{prefix}{1 + max(int(key.removeprefix(prefix)) for key in rows)}"
            case _:
                return said

    for one in tool.get("requires", ()):
        rows = world[one["table"]]
        wanted = {column: value(said, rows) for column, said in one["where"].items()}
        there = any(wanted.items() <= row.items() for row in rows.values())
        if there is not one.get("exists", True):
            raise ToolError(one["error"])
    rows = world[tool["insert"]]
    row = {column: value(said, rows) for column, said in tool["set"].items()}
    rows[row[keys[tool["insert"]]]] = row
    return {column: row[column] for column in tool["returns"]}
