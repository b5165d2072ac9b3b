"""Write down where the expected answers are known to contradict the SOP, as the policy says."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._audit.rules.labels import disagreement
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.errors import LoadingError

COLUMN: Final = "known_disagreement"
"""What the column is called where the metadata name none."""

KEY: Final = "known_disagreement_column"


def reasons(subject: Subject) -> Mapping[int, str]:
    """Why each row disagrees with the policy, by its position; a reason that stands is kept."""
    found: dict[int, str] = {}
    for position, run in subject.observed.policy.items():
        if run.error or subject.tasks[position].disagreement:
            continue
        why = disagreement(subject, run)
        if why:
            found[position] = f"policy: {why}"
    return found


def write_disagreements(subject: Subject) -> int:
    """Write the reasons into the data file, and name their column in the metadata.

    Returns:
        How many rows were given a reason.

    Raises:
        LoadingError: the metadata are TOML, the column is one that means something else, or the
            disk did not take a file.
    """
    written = reasons(subject)
    if not written:
        return 0
    folder = subject.folder
    named = folder.metadata.get(KEY)
    column = named if isinstance(named, str) else COLUMN
    headers = folder.metadata.get("columns")
    header = headers.get(column, column) if isinstance(headers, Mapping) else column
    metadata = folder.path / folder.metadata_file
    if named is None and metadata.suffix == ".toml":
        raise LoadingError(metadata, f"key {KEY!r} is missing", hint=f'add: {KEY} = "{COLUMN}"')
    if named is None and folder.table is not None and column in folder.table.columns:
        problem = f"has a column {column!r} already"
        raise LoadingError(folder.path / folder.data_file, problem, hint=f"name one with {KEY!r}")
    by_line = {subject.line(position): why for position, why in written.items()}
    change = _lines_with if folder.data_file.endswith(".jsonl") else _rows_with
    data = folder.path / folder.data_file
    text = data.read_bytes().decode("utf-8-sig")
    _replace(data, change(text, str(header), by_line))
    if named is None:
        content: dict[str, Any] = {**folder.metadata, KEY: column}
        indent = 4 if '\n    "' in subject.text(folder.metadata_file) else 2
        _replace(metadata, json.dumps(content, indent=indent, ensure_ascii=False) + "\n")
    return len(written)


def _rows_with(text: str, header: str, by_line: Mapping[int, str]) -> str:
    ending = "\r\n" if "\r\n" in text else "\n"
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator=ending)
    place: int | None = None
    names: list[str] | None = None
    while True:
        line = reader.line_num + 1
        row = next(reader, None)
        if row is None:
            return stream.getvalue()
        if not row:
            continue
        if names is None:
            names = row
            place = row.index(header) if header in row else None
            writer.writerow(row if place is not None else [*row, header])
            continue
        why = by_line.get(line, "")
        if place is None:
            writer.writerow([*row, why])
        else:
            row[place] = why or row[place]
            writer.writerow(row)


def _lines_with(text: str, header: str, by_line: Mapping[int, str]) -> str:
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            lines.append(line)
            continue
        row: dict[str, JsonValue] = json.loads(line)
        row[header] = by_line.get(number) or row.get(header, "")
        lines.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(lines)


def _replace(path: Path, text: str) -> None:
    try:
        with replace_file(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as fault:
        raise LoadingError(path, f"cannot be written: {fault.strerror or fault}") from fault
