"""The doors of the room that makes domains of tables and documents as people have them."""

from __future__ import annotations

from pytest_sopbench._making.documents import read_procedure
from pytest_sopbench._making.sheet import read_grid
from pytest_sopbench._making.table import Kind, Sheet, cell_of, table_of

__all__ = [
    "Kind",
    "Sheet",
    "cell_of",
    "read_grid",
    "read_procedure",
    "table_of",
]
