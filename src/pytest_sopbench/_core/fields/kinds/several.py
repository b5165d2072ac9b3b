"""Read an expected cell that names several things: patterns, or phrases."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import read_list
from pytest_sopbench._core.values.normalise import INVISIBLE


def several(cell: JsonValue) -> tuple[str, ...]:
    """Return the items of a list, else the lines of a text; a comma separates nothing here."""
    items: Sequence[JsonValue] | None = None
    if isinstance(cell, str):
        items = read_list(cell)
        items = cell.split("\n") if items is None else items
    elif isinstance(cell, Sequence):
        items = cell
    texts = (written(item).strip() for item in (items or ()) if item is not None)
    # What nobody sees asks for nothing, and every answer would have it.
    return tuple(text for text in texts if INVISIBLE.sub("", text).strip())
