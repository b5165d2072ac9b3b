"""A bundled domain as plain files say it, read without the loader that others test."""

from __future__ import annotations

import csv
import json
import re
import runpy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench.bundled._generator import look_ups

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/metadata.json"))


DATA = ("data.csv", "tasks.jsonl")
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
LIST_OR_OBJECT = re.compile(r"[\[{].*", flags=re.DOTALL)

EXCUSED = {
    # domain, rule and what it does not apply to: the reason, which a reviewer has read
    ("dangerous_goods", "a needed tool costs tasks", "record_class"): (
        "a write that answers the same to everybody; the contract asks for it"
    ),
    ("dangerous_goods", "both sides of a boundary are tagged", "boundary"): (
        "it has one tag for all cut-offs; its own test looks for the rows of each"
    ),
}


def is_json(cells: Iterable[str]) -> bool:
    """Whether a column is one of numbers, of truth values, or of lists and objects."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and (
        all(NUMBER.fullmatch(cell) for cell in filled)
        or {"true", "false"} >= set(filled)
        or all(LIST_OR_OBJECT.fullmatch(cell) for cell in filled)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainDomain:
    folder: Path
    metadata: dict[str, Any]
    specs: dict[str, dict[str, Any]]
    rows: tuple[dict[str, Any], ...]
    decide: Callable[..., dict[str, Any]]

    def inputs(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {column: row[column] for column in self.metadata["input_columns"]}

    @property
    def data_file(self) -> Path:
        return next(self.folder / name for name in DATA if (self.folder / name).is_file())

    @property
    def distractors(self) -> set[str]:
        return set(self.metadata.get("distractors", ()))

    def excused(self, rule: str) -> set[str]:
        """To what this rule does not apply here; a test asks for exactly these."""
        return {what for name, of, what in EXCUSED if (name, of) == (self.metadata["name"], rule)}

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
        return look_ups(self.tools, self.row)(name, arguments)


@cache
def read(folder: Path) -> PlainDomain:
    metadata = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    specs = json.loads((folder / "toolspecs.json").read_text(encoding="utf-8"))
    return PlainDomain(
        folder=folder,
        metadata=metadata,
        specs={spec["toolSpec"]["name"]: spec["toolSpec"]["inputSchema"]["json"] for spec in specs},
        rows=tuple(rows_of(folder, metadata.get("types", {}))),
        decide=runpy.run_path(str(folder / "policy.py"))["decide"],
    )


def rows_of(folder: Path, types: Mapping[str, str]) -> list[dict[str, Any]]:
    lines = folder / "tasks.jsonl"
    if lines.is_file():
        return [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    read_as_json = {
        column
        for column in cells[0]
        if types.get(column, "") != "text" and is_json(row[column] for row in cells)
    }
    return [
        {
            column: None if cell == "" else json.loads(cell) if column in read_as_json else cell
            for column, cell in row.items()
        }
        for row in cells
    ]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def every_domain(request: pytest.FixtureRequest) -> PlainDomain:
    return read(request.param)


@pytest.fixture
def dangerous_goods() -> PlainDomain:
    return read(BUNDLED / "dangerous_goods")


@pytest.fixture
def order_fulfillment() -> PlainDomain:
    return read(BUNDLED / "order_fulfillment")


@pytest.fixture
def patient_intake() -> PlainDomain:
    return read(BUNDLED / "patient_intake")


@pytest.fixture
def tools_of() -> Callable[[PlainDomain, Mapping[str, Any]], PlainTools]:
    def make(domain: PlainDomain, row: Mapping[str, Any]) -> PlainTools:
        return PlainTools(tools=domain.metadata["tools"], row=row)

    return make
