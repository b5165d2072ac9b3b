"""Tables as people have them, written for one test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from tests.builders.made import Sheet, read_grid, table_of

Read = Callable[..., Sheet]


@pytest.fixture
def read_book(tmp_path: Path) -> Read:
    """Write rows into a workbook, change it, and read it."""

    def read(
        rows: Sequence[Sequence[Any]],
        *,
        merged: Sequence[str] = (),
        formats: dict[str, str] | None = None,
        header: tuple[int, int] | None = None,
    ) -> Sheet:
        book = openpyxl.Workbook()
        sheet = book.active
        assert sheet is not None
        for row in rows:
            sheet.append(row)
        for span in merged:
            sheet.merge_cells(span)
        for place, form in (formats or {}).items():
            sheet[place].number_format = form
        path = tmp_path / "cases.xlsx"
        book.save(path)
        return table_of(read_grid(path, None), header)

    return read


@pytest.fixture
def read_text(tmp_path: Path) -> Read:
    """Write bytes or a text into a file, and read it as a table."""

    def read(content: str | bytes, name: str = "cases.csv") -> Sheet:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return table_of(read_grid(path, None))

    return read


def names_of(sheet: Sheet) -> list[str]:
    return [column.name for column in sheet.columns]


def texts_of(sheet: Sheet, name: str) -> list[str]:
    (column,) = [one for one in sheet.columns if one.name == name]
    return column.texts
