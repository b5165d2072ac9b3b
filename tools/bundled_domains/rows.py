"""The rows of a bundled domain as its plain files say them, read without the package's loader."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
LIST_OR_OBJECT = re.compile(r"[\[{].*", flags=re.DOTALL)


def rows_of(folder: Path, types: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every row, typed; `types` are those of the metadata."""
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


def is_json(cells: Iterable[str]) -> bool:
    """Whether a column is one of numbers, of truth values, or of lists and objects."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and (
        all(NUMBER.fullmatch(cell) for cell in filled)
        or {"true", "false"} >= set(filled)
        or all(LIST_OR_OBJECT.fullmatch(cell) for cell in filled)
    )
