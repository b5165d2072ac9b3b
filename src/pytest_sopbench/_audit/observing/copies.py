"""Copies of a domain's folder, in which its code may write what it likes."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Final

_LEFT_OUT: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "node_modules", "venv", "*.pyc", "*.egg-info"
)


def copied(folder: Path, into: Path) -> Path:
    """Copy a folder, under its own name, without what a domain does not need."""
    target = into / (folder.resolve().name or "domain")
    shutil.copytree(folder, target, ignore=_LEFT_OUT, ignore_dangling_symlinks=True)
    return target


def with_other_contents(folder: Path, data_file: str, id_column: str) -> bool:
    """Give each id of a copy the contents of another row; whether that could be done."""
    path = folder / data_file
    text = path.read_text(encoding="utf-8-sig")
    change = _other_lines if path.suffix == ".jsonl" else _other_rows
    written = change(text, id_column)
    if written is None:
        return False
    path.write_text(written, encoding="utf-8", newline="")
    return True


def shifted(position: int, rows: int) -> int:
    """The row whose contents a row has in such a copy."""
    return (position + max(1, rows // 2)) % rows


def _other_rows(text: str, id_column: str) -> str | None:
    records = [record for record in csv.reader(io.StringIO(text)) if record]
    header, rows = records[0], records[1:]
    if id_column not in header:
        return None
    place = header.index(id_column)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    for position, row in enumerate(rows):
        other = [*rows[shifted(position, len(rows))]]
        other[place] = row[place]
        writer.writerow(other)
    return stream.getvalue()


def _other_lines(text: str, id_column: str) -> str | None:
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    if id_column not in rows[0]:
        return None
    others = (
        {**rows[shifted(position, len(rows))], id_column: row[id_column]}
        for position, row in enumerate(rows)
    )
    return "".join(f"{json.dumps(one)}\n" for one in others)
