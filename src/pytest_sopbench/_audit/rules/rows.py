"""Rules about the keys and rows of a folder, which may be one that cannot be loaded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from pytest_sopbench._audit.model import KEY as AUDIT_KEY
from pytest_sopbench._audit.model import Finding, Place, error, note, warning
from pytest_sopbench._audit.reading import Folder, RoughTable, rows_at
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import did_you_mean, listed, nearest
from pytest_sopbench._loading.layout import id_text
from pytest_sopbench._loading.metadata import (
    DocumentMetadata,
    LookupShape,
    Metadata,
    OutputShape,
    Shape,
    TableShape,
)

_ONE: Final = ("id_column", "tags_column", "acceptable_column", "known_disagreement_column")
_MANY: Final = ("output_columns", "input_columns", "private_columns", "types")
_ABOUT_ANSWERS: Final = ("tags_column", "acceptable_column")
_PARTS: Final[Mapping[str, type[Shape]]] = {
    "outputs": OutputShape,
    "tools": LookupShape,
    "tables": TableShape,
}
_EMPTY: Final[tuple[JsonValue, ...]] = (None, "", [], {})


@warning(
    "unknown-key", "A key of the metadata is unknown or not used; the nearest known one is named."
)
def _unknown_keys(folder: Folder) -> Iterator[Finding]:
    for prefix, key, known in _keys(folder.metadata):
        if key in known or (not prefix and key == AUDIT_KEY):
            continue
        near = nearest(key, known)
        yield Finding(
            place=Place(file=folder.metadata_file, column=f"{prefix}{key}"),
            what=f"key '{prefix}{key}' is unknown and has no effect",
            do=f"is {near!r} meant?" if near else "remove it, or see which keys there are",
        )


def _keys(metadata: Mapping[str, JsonValue]) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    whole = DocumentMetadata if "output_schema" in metadata else Metadata
    known = {field.alias or name: field for name, field in whole.model_fields.items()}
    yield from (("", key, known) for key in metadata)
    for part, shape in _PARTS.items():
        entries = metadata.get(part)
        for name, entry in entries.items() if isinstance(entries, Mapping) else ():
            keys = tuple(entry) if isinstance(entry, Mapping) else ()
            spelled = {field.alias or one: field for one, field in shape.model_fields.items()}
            yield from ((f"{part}.{name}.", key, spelled) for key in keys)


@error("unknown-column", "A key of the metadata names a column that the data file does not have.")
def _unknown_columns(folder: Folder) -> Iterator[Finding]:
    table = folder.table
    if table is None:
        return
    for key, name in _named_columns(folder.metadata):
        if name not in table.columns:
            yield Finding(
                place=Place(file=folder.metadata_file, column=key),
                what=f"{key!r} names {name!r}, and {folder.data_file} has no such column",
                do=did_you_mean(name, table.columns) or f"it has {listed(table.columns)}",
            )


def _named_columns(metadata: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    for key in _ONE:
        name = metadata.get(key)
        if isinstance(name, str):
            yield key, name
    for key in _MANY:
        names = metadata.get(key)
        for name in names if isinstance(names, list | dict) else ():
            if isinstance(name, str):
                yield key, name


@note("useless-column", "A column of tags or of acceptable answers is empty in every row.")
def _useless_columns(folder: Folder) -> Iterator[Finding]:
    table = folder.table
    for key in _ABOUT_ANSWERS if table is not None else ():
        name = folder.metadata.get(key)
        if table is None or not isinstance(name, str) or name not in table.columns:
            continue
        if all(cell in _EMPTY for cell in table.cells(name)):
            yield Finding(
                place=Place(file=folder.metadata_file, column=key),
                what=f"the column {name!r} is empty in every row",
                do=f"fill it, or remove {key!r}",
            )


@error("uneven-row", "A row has more or fewer cells than the header names.")
def _uneven_rows(folder: Folder) -> Iterator[Finding]:
    table = folder.table
    if table is None or folder.domain is not None:
        return
    lengths = Counter(len(row) for row in table.rows)
    odd = [
        line
        for row, line in zip(table.rows, table.lines, strict=True)
        if len(row) != len(table.columns)
    ]
    if odd and lengths:
        yield Finding(
            place=Place(file=folder.data_file, line=odd[0]),
            what=f"{rows_at(odd)}: not the {len(table.columns)} cells of the header",
            do="a cell with a comma or a line end in it stands in double quotes",
        )


@error("duplicate-id", "Two rows have the same id, or several have none.")
def _duplicate_ids(folder: Folder) -> Iterator[Finding]:
    table, column = folder.table, _id_column(folder)
    if table is None or column is None:
        return
    lines: dict[str, list[int]] = {}
    for cell, line in zip(table.cells(column), table.lines, strict=True):
        lines.setdefault(id_text(cell), []).append(line)
    for name, found in lines.items():
        if len(found) > 1 or not name:
            what = f"the id {name!r} stands on" if name else "no id stands on"
            yield Finding(
                place=Place(file=folder.data_file, line=found[0], column=column),
                what=f"{what} {rows_at(found)}",
                do="give each row an id of its own; 'id_column' may name another column",
            )


def _id_column(folder: Folder) -> str | None:
    name = folder.metadata.get("id_column")
    table = folder.table
    return name if table is not None and isinstance(name, str) and name in table.columns else None


@warning("equal-rows", "Two rows are equal in every column but their ids and tags.")
def _equal_rows(folder: Folder) -> Iterator[Finding]:
    table = folder.table
    if table is None:
        return
    skipped = (_id_column(folder), folder.metadata.get("tags_column"))
    places = [place for place, name in enumerate(table.columns) if name not in skipped]
    groups: dict[str, list[int]] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        if len(row) == len(table.columns) and places:
            case = json.dumps([row[place] for place in places], sort_keys=True, default=str)
            groups.setdefault(case, []).append(line)
    for found in groups.values():
        if len(found) > 1:
            yield Finding(
                place=Place(file=folder.data_file, line=found[0]),
                what=f"{rows_at(found)} are equal but for their ids",
                do="keep one of them: the others count the same case again",
            )


@warning("empty-expected", "An output column has empty cells, which only an empty answer matches.")
def _empty_expected(folder: Folder) -> Iterator[Finding]:
    for table, column in _output_columns(folder):
        cells = table.cells(column)
        # A list may be empty on purpose; what a JSON file says to be empty is meant so.
        found = [
            line
            for cell, line in zip(cells, table.lines, strict=True)
            if cell is None or (isinstance(cell, str) and not cell.strip())
        ]
        if found:
            yield Finding(
                place=Place(file=folder.data_file, line=found[0], column=column),
                what=f"no expected value on {rows_at(found)}",
                do="fill it in; an answer matches here only by being empty itself",
            )


@error("one-label", "Every row expects the same value of an output field.")
def _one_label(folder: Folder) -> Iterator[Finding]:
    for table, column in _output_columns(folder):
        cells = table.cells(column)
        labels = {json.dumps(cell, sort_keys=True, default=str) for cell in cells}
        if len(labels) == 1 and len(cells) > 1 and cells[0] not in _EMPTY:
            yield Finding(
                place=Place(file=folder.data_file, column=column),
                what=f"every row expects {cells[0]!r}",
                do="an agent that always says so is right everywhere; add other cases",
            )


def _output_columns(folder: Folder) -> Iterator[tuple[RoughTable, str]]:
    names, table = folder.metadata.get("output_columns"), folder.table
    if not isinstance(names, list) or table is None:
        return
    for name in names:
        if isinstance(name, str) and name in table.columns and _is_compared(folder, name):
            yield table, name


def _is_compared(folder: Folder, name: str) -> bool:
    outputs = folder.metadata.get("outputs")
    shape = outputs.get(name) if isinstance(outputs, Mapping) else None
    return not isinstance(shape, Mapping) or shape.get("compare", "exact") == "exact"
