"""Read a table by what its file is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pytest_sopbench.errors import LoadingError

from .delimited import read_delimited
from .grid import Grid
from .parquet import read_parquet
from .workbook import read_workbook

WORKBOOKS: Final = (".xlsx", ".xlsm")
_TEXTS: Final = (".csv", ".tsv", ".tab", ".txt")
_OTHERS: Final = {
    ".xls": "save it as .xlsx",
    ".xlsb": "save it as .xlsx",
    ".ods": "save it as .xlsx",
    ".numbers": "export it as .xlsx",
    ".json": "export it as .csv",
}
_HINT: Final = "it can be .xlsx, .csv, .tsv or .parquet"


def read_grid(path: Path, sheet: str | None) -> Grid:
    """Read a file of cases.

    Raises:
        LoadingError: there is no such file, it is of another kind, or cannot be read.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        raise LoadingError(path, "is a folder", hint=f"name a file; {_HINT}")
    if not path.exists():
        raise LoadingError(path, "no such file", hint=_beside(path))
    if suffix in WORKBOOKS:
        return read_workbook(path, sheet)
    if sheet is not None:
        raise LoadingError(path, "has no sheets", hint="take --sheet off")
    if suffix == ".parquet":
        return read_parquet(path)
    if suffix in _TEXTS:
        return read_delimited(path)
    raise LoadingError(
        path, f"{suffix or 'no ending'!r} is no table", hint=_OTHERS.get(suffix, _HINT)
    )


def _beside(path: Path) -> str:
    """Name the tables in the folder in which one was looked for."""
    known = {*WORKBOOKS, *_TEXTS, ".parquet"}
    try:
        found = sorted(one.name for one in path.parent.iterdir() if one.suffix.lower() in known)
    except OSError:
        found = []
    return f"there is {', '.join(found[:8])}" if found else ""
