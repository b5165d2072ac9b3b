"""What each column is for: which the agent is given, which are expected, which tools serve.

The agent must never be given an answer, so a column has one of these parts, never two.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, RowError

from .files import did_you_mean, digest, listed, read_json_lines, shown
from .metadata import DATA_FILE as PUBLISHED_DATA
from .metadata import Described, Metadata
from .tables import Table
from .tools import parameter_names

# The ids of tasks: they never depend on the order of the rows.


def inferred_id_column(table: Table, *, but: Collection[str]) -> str | None:
    """The first column that is called `id` or `*_id`, and has another value in each row."""
    for column in _called_ids(table, but):
        ids = [id_text(cell) for cell in table.cells(column)]
        if all(ids) and len(set(ids)) == len(ids):
            return column
    return None


def meant_as_ids(table: Table, *, but: Collection[str]) -> str | None:
    """The first column that is called as ids are, with more values than half of the rows.

    One slip in it must be reported. Falling back to hashes would rename every task of the domain.
    """
    for column in _called_ids(table, but):
        values = {id_text(cell) for cell in table.cells(column)} - {""}
        if column.strip().lower() == "id" or 2 * len(values) > len(table.rows):
            return column
    return None


def _called_ids(table: Table, but: Collection[str]) -> Iterator[str]:
    for column in table.columns:
        name = column.strip().lower()
        if column not in but and (name == "id" or name.endswith("_id")):
            yield column


def unique_column(table: Table, *, but: Collection[str]) -> str | None:
    """The first column with another value in each row that does not only count the rows."""
    for column in table.columns:
        ids = [] if column in but else [id_text(cell) for cell in table.cells(column)]
        counted = [[str(place) for place in range(first, first + len(ids))] for first in (0, 1)]
        if ids and all(ids) and len(set(ids)) == len(ids) and ids not in counted:
            return column
    return None


def tells_rows_apart(table: Table, columns: Sequence[str]) -> bool:
    """Whether no two rows have the same cells in all of these columns."""
    places = [table.columns.index(name) for name in columns]
    return len({repr([row[place] for place in places]) for row in table.rows}) == len(table.rows)


def task_ids(table: Table, id_column: str | None, inputs: Sequence[str]) -> tuple[str, ...]:
    """The id of each row: its cell in the id column, else a hash of its inputs as written.

    Raises:
        RowError: an id is empty or stands twice, or two rows without ids have equal inputs.
    """
    if id_column is None:
        return _hashes(table, inputs)
    first: dict[str, int] = {}
    for cell, line in zip(table.cells(id_column), table.lines, strict=True):
        text = id_text(cell)
        if not text:
            raise RowError(
                table.path,
                "no usable id" if cell else "empty; every task needs an id",
                row=line,
                column=id_column,
                hint="an id is a text or a whole number; 'id_column' may name another column",
            )
        if text in first:
            raise RowError(
                table.path,
                f"the id {text!r} stands in row {first[text]} already",
                row=line,
                column=id_column,
                hint="give each row an id of its own; 'id_column' may name another column",
            )
        first[text] = line
    return tuple(first)


def id_text(cell: JsonValue) -> str:
    """The id that a cell stands for; empty if it can be none."""
    if isinstance(cell, bool):
        return ""
    if isinstance(cell, int):
        return str(cell)
    return cell if isinstance(cell, str) and cell.strip() else ""


def rows_with_ids(
    path: Path, keys: Sequence[str], whose: str
) -> Iterator[tuple[int, str, Mapping[str, JsonValue]]]:
    """Yield the line, the id and all of each row of a file of JSON objects.

    Args:
        path: the file.
        keys: what a row may have.
        whose: of what it is a row, for errors.

    Raises:
        LoadingError: the file cannot be read, or is empty.
        RowError: a line is no object, has another key, has no id, or that of a line before.
    """
    first: dict[str, int] = {}
    for line, row in read_json_lines(path):
        if not isinstance(row, Mapping):
            raise RowError(path, "not a JSON object with keys", row=line)
        for key in row:
            if key not in keys:
                hint = did_you_mean(key, keys) or f"a row has {listed(keys)}"
                raise RowError(path, f"no row of {whose} has it", row=line, column=key, hint=hint)
        name = id_text(row.get("id"))
        if not name:
            hint = "an id is a text or a whole number"
            raise RowError(path, "no usable id", row=line, column="id", hint=hint)
        if name in first:
            problem = f"the id {name!r} stands in row {first[name]} already"
            raise RowError(path, problem, row=line, column="id", hint="give each id one row")
        first[name] = line
        yield line, name, row
    if not first:
        raise LoadingError(path, "the file is empty", hint="write one JSON object per line")


def _hashes(table: Table, inputs: Sequence[str]) -> tuple[str, ...]:
    # Cells as written: a type that changes with a row elsewhere must not rename every task.
    places = [table.columns.index(name) for name in inputs]
    first: dict[str, int] = {}
    for row, line in zip(table.rows, table.lines, strict=True):
        name = digest({column: row[place] for column, place in zip(inputs, places, strict=True)})
        if name in first:
            raise RowError(
                table.path,
                f"the same inputs as in row {first[name]}, so nothing tells the two tasks apart",
                row=line,
                hint="remove one of them, or add a column 'id'",
            )
        first[name] = line
    return tuple(first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The part that each column has; `results` are what is left over for tools to serve."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    results: tuple[str, ...]
    private: frozenset[str] = frozenset()
    id_column: str | None = None
    tags: str | None = None
    acceptable: str | None = None
    disagreement: str | None = None
    world: str | None = None
    expected_state: str | None = None
    warnings: tuple[str, ...] = field(default=())


_LABELS = (
    "tags_column",
    "acceptable_column",
    "known_disagreement_column",
    "world_column",
    "expected_state_column",
)
"""The keys that name a column which speaks about the answer."""


def lay_out(described: Described, table: Table, specs: Sequence[ToolSpec]) -> Layout:
    """Give each column its part.

    Raises:
        LoadingError: a key names a column that the data file lacks, a column would have two
            parts that exclude each other, or `input_columns` is missing though it must not be.
    """
    metadata, path = described.metadata, described.path
    _check_names(path, metadata, table)
    named: dict[str, str | None] = {key: getattr(metadata, key) for key in _LABELS}
    labels = {column: key for key, column in named.items() if column is not None}
    for problem, hint in _odd_parts(metadata, labels):
        raise LoadingError(path, problem, hint=hint)
    withheld = {*metadata.output_columns, *labels, *metadata.private_columns}
    id_column = metadata.id_column or inferred_id_column(table, but=withheld)
    warnings: tuple[str, ...] = ()
    if metadata.input_columns is None:
        asked = {name for spec in specs for name in parameter_names(spec)}
        inputs = _inferred_inputs(table, asked, withheld, id_column)
        text = _paste(described, table, inputs, {*metadata.output_columns, *labels})
        if table.path.name != PUBLISHED_DATA or not asked.intersection(inputs):
            problem = "key 'input_columns' is missing: it names what the agent is given"
            raise LoadingError(path, problem, hint=text)
        warnings = (
            f"{path.name}: no 'input_columns'; the agent is given what tools ask for.\n{text}",
        )
    else:
        private = set(metadata.private_columns)
        inputs = tuple(name for name in metadata.input_columns if name not in private)
        if both := [repr(name) for name in metadata.input_columns if name in private]:
            where = "in 'input_columns' and in 'private_columns'"
            what = f"{path.name}: {listed(both)} {where}: no agent is given what is private"
            warnings = (what,)
    if id_column is None and table.path.name == PUBLISHED_DATA:
        # What names the tasks of a published folder if inputs cannot.
        is_needed = not tells_rows_apart(table, inputs)
        id_column = unique_column(table, but=withheld) if is_needed else None
    elif id_column is None:
        id_column = meant_as_ids(table, but=withheld)
    if id_column is None:
        unnamed = (
            f"{table.path.name}: no column called 'id' or '*_id' has another value in each row,"
            " so tasks are called by a hash of their inputs; 'id_column' names another column"
        )
        warnings = (*warnings, unnamed)
    taken = {*inputs, *metadata.output_columns, *labels}
    return Layout(
        inputs=inputs,
        outputs=tuple(metadata.output_columns),
        results=tuple(name for name in table.columns if name not in taken),
        private=frozenset(metadata.private_columns),
        id_column=id_column,
        tags=metadata.tags_column,
        acceptable=metadata.acceptable_column,
        disagreement=metadata.known_disagreement_column,
        world=metadata.world_column,
        expected_state=metadata.expected_state_column,
        warnings=warnings,
    )


def _check_names(path: Path, metadata: Metadata, table: Table) -> None:
    single: Mapping[str, str | None] = {
        key: getattr(metadata, key) for key in ("id_column", *_LABELS)
    }
    many: Mapping[str, Sequence[str]] = {
        "output_columns": metadata.output_columns,
        "input_columns": metadata.input_columns or (),
        "private_columns": metadata.private_columns,
        "types": tuple(metadata.types),
        **{key: (column,) for key, column in single.items() if column is not None},
    }
    for key, names in many.items():
        for name in names:
            if name not in table.columns:
                raise LoadingError(
                    path,
                    f"key {key!r}: {table.path.name} has no column {shown(name)}",
                    hint=did_you_mean(name, table.columns) or _separator_hint(table),
                )


def _separator_hint(table: Table) -> str:
    only = table.columns[0]
    for separator, word in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(table.columns) == 1 and separator in only:
            return f"its cells seem to have {word} between them; save it with commas"
    return f"it has {listed(table.columns)}"


def _odd_parts(metadata: Metadata, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield which column would have two parts that exclude each other, and what to do."""
    outputs = set(metadata.output_columns)
    for name in metadata.input_columns or ():
        if name in outputs:
            hint = "an input would hand the agent the expected answer; keep it in one of them"
            yield f"{name!r} stands in 'input_columns' and in 'output_columns'", hint
        if name in labels:
            hint = "what is said about the answer is not for the agent; take it off the inputs"
            yield f"{name!r} stands in 'input_columns' and is the {labels[name]!r}", hint
    for name, key in labels.items():
        if name in outputs:
            yield f"{name!r} stands in 'output_columns' and is the {key!r}", ""
    if metadata.id_column in {*outputs, *labels}:
        hint = "ids are given to the agent; name another column, or remove the key"
        yield f"{metadata.id_column!r} is the 'id_column' and tells the answer", hint
    if metadata.id_column in metadata.private_columns:
        hint = "ids are printed everywhere; name another column, or remove the key"
        yield f"{metadata.id_column!r} is the 'id_column' and a private column", hint
    for name in metadata.types:
        if name in outputs:
            hint = f'say it under "outputs": {{"{name}": {{"type": ...}}}}'
            yield f"key 'types': {name!r} is an output column", hint


def _inferred_inputs(
    table: Table, asked: set[str], withheld: set[str], id_column: str | None
) -> tuple[str, ...]:
    free = [name for name in table.columns if name not in withheld]
    if not asked.intersection(free):
        # No tool asks for anything, so only the author knows; all of it is a list to cut down.
        return tuple(free)
    return tuple(name for name in free if name in asked or name == id_column)


def _paste(described: Described, table: Table, inputs: Sequence[str], answers: set[str]) -> str:
    """The line that makes the choice explicit, and what the choice leaves out."""
    left_out = [name for name in table.columns if name not in {*inputs, *answers}]
    names = json.dumps(list(inputs), ensure_ascii=False)
    toml = described.path.suffix == ".toml"
    line = f"input_columns = {names}" if toml else f'"input_columns": {names},'
    rest = f"\nleft out: {', '.join(left_out)}" if left_out else ""
    return f"paste into {described.path.name}, and change what is not right:\n  {line}{rest}"
