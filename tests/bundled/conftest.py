"""A bundled domain as plain files say it, read without the loader that others test."""

from __future__ import annotations

import csv
import json
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench.errors import ToolError

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/metadata.json"))


def typed(cells: Mapping[str, str], numbers: frozenset[str]) -> dict[str, Any]:
    return {
        column: None if cell == "" else json.loads(cell) if column in numbers else cell
        for column, cell in cells.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainDomain:
    folder: Path
    metadata: dict[str, Any]
    specs: dict[str, dict[str, Any]]
    rows: tuple[dict[str, Any], ...]
    decide: Callable[..., dict[str, Any]]

    def inputs(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {column: row[column] for column in self.metadata["input_columns"]}

    def expected(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {column: row[column] for column in self.metadata["output_columns"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTools:
    """The look-up tools of one row; `calls` are the names and arguments so far."""

    tools: Mapping[str, Any]
    row: Mapping[str, Any]
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def call(self, name: str, /, **arguments: Any) -> Any:
        self.calls.append((name, arguments))
        tool = self.tools[name]
        for parameter in (*tool.get("key", ()), *tool.get("check", ())):
            assert self.row[parameter] == arguments[parameter]
        if "returns" not in tool:
            return tool["result"]
        served = {column: self.row[column] for column in tool["returns"]}
        if tool.get("missing") == "error" and not any(v is not None for v in served.values()):
            raise ToolError(name)
        return served


@cache
def read(folder: Path) -> PlainDomain:
    with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    specs = json.loads((folder / "toolspecs.json").read_text(encoding="utf-8"))
    numbers = frozenset(
        column
        for column in cells[0]
        if any(row[column] for row in cells)
        and all(row[column].replace(".", "", 1).isdecimal() for row in cells if row[column])
    )
    return PlainDomain(
        folder=folder,
        metadata=metadata,
        specs={spec["toolSpec"]["name"]: spec["toolSpec"]["inputSchema"]["json"] for spec in specs},
        rows=tuple(typed(row, numbers) for row in cells),
        decide=runpy.run_path(str(folder / "policy.py"))["decide"],
    )


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def every_domain(request: pytest.FixtureRequest) -> PlainDomain:
    return read(request.param)


@pytest.fixture
def dangerous_goods() -> PlainDomain:
    return read(BUNDLED / "dangerous_goods")


@pytest.fixture
def tools_of() -> Callable[[PlainDomain, Mapping[str, Any]], PlainTools]:
    def make(domain: PlainDomain, row: Mapping[str, Any]) -> PlainTools:
        return PlainTools(tools=domain.metadata["tools"], row=row)

    return make
