"""Rules about the files, keys and rows of a folder, which may be one that cannot be loaded."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from pytest_sopbench._audit.model import KEY as AUDIT_KEY
from pytest_sopbench._audit.model import Fault, Place, error, note, warning
from pytest_sopbench._audit.reading import File, Folder, RoughTable, rows_at
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import did_you_mean, listed, nearest
from pytest_sopbench._loading.layout import id_text
from pytest_sopbench._loading.load import DATA_FILES, SOP_FILES
from pytest_sopbench._loading.metadata import FILE_NAMES as METADATA_FILES
from pytest_sopbench._loading.metadata import (
    DocumentMetadata,
    LookupShape,
    Metadata,
    OutputShape,
    Shape,
    TableShape,
)
from pytest_sopbench._loading.tools import TOOL_SPECS_FILE as SPECS_FILE
from pytest_sopbench.errors import LoadingError

_NEEDED: Final = (
    (METADATA_FILES, "it says what the columns mean"),
    (SOP_FILES, "the procedure stands in one of them"),
    (DATA_FILES, "each row is one task"),
)
_MERGE: Final = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)
_TWICE_ENCODED: Final = re.compile("\ufffd|\u00e2\u20ac[\u0080-\uffff]|\u00c3[\u0080-\u00bf]")


@error("missing-file", "A file that every domain needs is not there.")
def _missing(folder: Folder) -> Iterator[Fault]:
    for names, why in _NEEDED:
        if not any((folder.path / name).exists() for name in names):
            yield Fault(place=Place(), what=f"has no {' and no '.join(names)}", do=why)
    tools = folder.metadata.get("tools") or "tools.py" in folder.files
    if tools and not (folder.path / SPECS_FILE).exists():
        do = "a model needs the name, description and argument schema of each tool"
        yield Fault(place=Place(), what=f"has tools and no {SPECS_FILE}", do=do)


@error("unparsable", "A file is empty, or is not the JSON, TOML or Python that its name says.")
def _unparsable(folder: Folder) -> Iterator[Fault]:
    for file in _readable(folder):
        problem = _problem(file)
        if problem is not None and not _has_merge_markers(file):
            yield Fault(
                place=Place(file=file.name, line=problem[0]),
                what=f"cannot be read: {problem[1]}",
                do="correct it by hand, or write it with a program",
            )


def _problem(file: File) -> tuple[int | None, str] | None:
    try:
        if file.name.endswith(".json"):
            json.loads(file.text)
        elif file.name.endswith(".toml"):
            tomllib.loads(file.text)
        elif file.name.endswith(".py"):
            compile(file.text, file.name, "exec", dont_inherit=True)
    except json.JSONDecodeError as fault:
        return fault.lineno, f"{fault.msg} at character {fault.colno}"
    except SyntaxError as fault:
        return fault.lineno, fault.msg
    except (ValueError, RecursionError, MemoryError) as fault:
        return None, str(fault) or type(fault).__name__
    return None if file.text.strip() else (None, "the file is empty")


@error("merge-conflict", "A file holds the marks of a merge that was not finished.")
def _merge_conflicts(folder: Folder) -> Iterator[Fault]:
    for file in folder.files.values():
        if _has_merge_markers(file):
            first = next(iter(_MERGE.finditer(file.text)))
            yield Fault(
                place=Place(file=file.name, line=_line(file.text, first.start())),
                what="holds the marks of a merge that was not finished",
                do="decide which of the two versions is right, and remove the marks",
            )


def _has_merge_markers(file: File) -> bool:
    # A line of equals signs alone underlines a heading of Markdown.
    found = {match[0][0] for match in _MERGE.finditer(file.text)}
    return bool(found & {"<", ">"})


@error("encoding", "A file cannot be opened, is not UTF-8, or holds a NUL character.")
def _encoding(folder: Folder) -> Iterator[Fault]:
    for file in folder.files.values():
        fault = file.unreadable
        if fault is not None:
            yield Fault(
                place=Place(file=file.name, line=fault.row), what=fault.problem, do=fault.hint
            )
        elif "\0" in file.text:
            yield Fault(
                place=Place(file=file.name, line=_line(file.text, file.text.index("\0"))),
                what="holds a NUL character",
                do="the file may be UTF-16, or not text at all; save it as UTF-8",
            )


@warning(
    "garbled-text", "A text was read in one encoding and written in another, such as `Ã©` for `é`."
)
def _twice_encoded(folder: Folder) -> Iterator[Fault]:
    for file in _readable(folder):
        found = _TWICE_ENCODED.search(file.text)
        if found is not None and not file.name.endswith(".py"):
            yield Fault(
                place=Place(file=file.name, line=_line(file.text, found.start())),
                what=f"holds {found[0]!r}, which is left of a letter that was read wrongly",
                do="write the text again from its source, as UTF-8",
            )


@error("does-not-load", "Loading refuses the folder; the finding says what loading says.")
def _does_not_load(folder: Folder) -> Iterator[Fault]:
    """What loading says, unless another rule has said it of the same file."""
    refused = folder.refused
    if refused is None or _said_better(folder, refused):
        return
    name = refused.path.name if refused.path != folder.path else ""
    column = refused.column or ""
    yield Fault(
        place=Place(file=name, line=refused.row, column=column),
        what=refused.problem,
        do=refused.hint,
    )


def _said_better(folder: Folder, refused: LoadingError) -> bool:
    name = refused.path.name
    if refused.path == folder.path:
        return any(True for _ in _missing.look(folder))
    rules = (_unparsable, _merge_conflicts, _encoding)
    return any(fault.place.file == name for one in rules for fault in one.look(folder))


def _readable(folder: Folder) -> Iterator[File]:
    return (file for file in folder.files.values() if file.unreadable is None)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


FILE_RULES: Final = (
    _missing,
    _unparsable,
    _merge_conflicts,
    _encoding,
    _twice_encoded,
    _does_not_load,
)


# Keys, columns and rows.

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
def _unknown_keys(folder: Folder) -> Iterator[Fault]:
    for prefix, key, known in _keys(folder.metadata):
        if key in known or (not prefix and key == AUDIT_KEY):
            continue
        near = nearest(key, known)
        yield Fault(
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
def _unknown_columns(folder: Folder) -> Iterator[Fault]:
    table = folder.table
    if table is None:
        return
    for key, name in _named_columns(folder.metadata):
        if name not in table.columns:
            yield Fault(
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


@error("duplicate-id", "Two rows have the same id, or several have none.")
def _duplicate_ids(folder: Folder) -> Iterator[Fault]:
    table, column = folder.table, _id_column(folder)
    if table is None or column is None:
        return
    lines: dict[str, list[int]] = {}
    for cell, line in zip(table.cells(column), table.lines, strict=True):
        lines.setdefault(id_text(cell), []).append(line)
    for name, found in lines.items():
        if len(found) > 1 or not name:
            has = "has" if len(found) == 1 else "have"
            what = (
                f"the id {name!r} stands on {rows_at(found)}"
                if name
                else f"{rows_at(found)} {has} no id"
            )
            yield Fault(
                place=Place(file=folder.data_file, line=found[0], column=column),
                what=what,
                do="give each row an id of its own; 'id_column' may name another column",
            )


def _id_column(folder: Folder) -> str | None:
    name = folder.metadata.get("id_column")
    table = folder.table
    return name if table is not None and isinstance(name, str) and name in table.columns else None


@warning("equal-rows", "Two rows are equal in every column but their ids and tags.")
def _equal_rows(folder: Folder) -> Iterator[Fault]:
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
            yield Fault(
                place=Place(file=folder.data_file, line=found[0]),
                what=f"{rows_at(found)} are equal but for their ids",
                do="keep one of them: the others count the same case again",
            )


@warning("empty-expected", "An output column has empty cells, which only an empty answer matches.")
def _empty_expected(folder: Folder) -> Iterator[Fault]:
    for table, column in _output_columns(folder):
        cells = table.cells(column)
        # A list may be empty on purpose; what a JSON file says to be empty is meant so.
        found = [
            line
            for cell, line in zip(cells, table.lines, strict=True)
            if cell is None or (isinstance(cell, str) and not cell.strip())
        ]
        if found:
            yield Fault(
                place=Place(file=folder.data_file, line=found[0], column=column),
                what=f"{rows_at(found)} {'has' if len(found) == 1 else 'have'} no expected value",
                do="fill it in; an answer matches here only by being empty itself",
            )


@error("one-label", "Every row expects the same value of an output field.")
def _one_label(folder: Folder) -> Iterator[Fault]:
    for table, column in _output_columns(folder):
        cells = table.cells(column)
        labels = {json.dumps(cell, sort_keys=True, default=str) for cell in cells}
        if len(labels) == 1 and len(cells) > 1 and cells[0] not in _EMPTY:
            yield Fault(
                place=Place(file=folder.data_file, column=column),
                what=f"every row expects {cells[0]!r}",
                do="an agent that always says so is right everywhere; add other cases",
            )


@note("useless-column", "A column of tags or of acceptable answers is empty in every row.")
def _useless_columns(folder: Folder) -> Iterator[Fault]:
    table = folder.table
    for key in _ABOUT_ANSWERS if table is not None else ():
        name = folder.metadata.get(key)
        if table is None or not isinstance(name, str) or name not in table.columns:
            continue
        if all(cell in _EMPTY for cell in table.cells(name)):
            yield Fault(
                place=Place(file=folder.metadata_file, column=key),
                what=f"the column {name!r} is empty in every row",
                do=f"fill it, or remove {key!r}",
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


@error("uneven-row", "A row has more or fewer cells than the header names.")
def _uneven_rows(folder: Folder) -> Iterator[Fault]:
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
        yield Fault(
            place=Place(file=folder.data_file, line=odd[0]),
            what=f"{rows_at(odd)} do not have the {len(table.columns)} cells of the header",
            do="a cell with a comma or a line end in it stands in double quotes",
        )


ROW_RULES: Final = (
    _unknown_keys,
    _unknown_columns,
    _useless_columns,
    _uneven_rows,
    _duplicate_ids,
    _equal_rows,
    _empty_expected,
    _one_label,
)
