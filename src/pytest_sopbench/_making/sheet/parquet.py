"""Read a Parquet file."""

from __future__ import annotations

from pathlib import Path

from pytest_sopbench._making.bounded import bounded
from pytest_sopbench._making.libraries import library, read_by

from .grid import Grid, cell_of, text_cell

_OF_PANDAS = "__index_level_"


@bounded
def read_parquet(path: Path) -> Grid:
    """Read every column; the row after the names is row 1, and the index of pandas is no column.

    Raises:
        LoadingError: it is no Parquet file.
    """
    parquet = library("pyarrow.parquet", path=path)
    try:
        table = parquet.ParquetFile(path).read()
    except Exception as fault:
        # A broken file ends in whatever its reader stumbles over, of no common kind.
        raise read_by(path, "pyarrow", fault) from fault
    names = [name for name in table.column_names if not name.startswith(_OF_PANDAS)]
    columns = [map(cell_of, table.column(name).to_pylist()) for name in names]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Grid(
        path=path,
        title="",
        rows=[[text_cell(name) for name in names], *rows],
        numbers=range(len(rows) + 1),
        typed=True,
        has_header=True,
    )
