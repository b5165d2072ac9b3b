"""What each column is for: which the agent is given, which are expected, which tools serve.

The agent must never be given an answer, so a column has one of these parts, never two.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed, shown
from pytest_sopbench._loading.files.table import Table
from pytest_sopbench._loading.metadata.published_layout import DATA_FILE as PUBLISHED_DATA
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import Metadata
from pytest_sopbench.errors import LoadingError

from .task_ids import inferred_id_column, meant_as_ids, tells_rows_apart, unique_column
from .tool_specs import parameter_names


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
    warnings: tuple[str, ...] = field(default=())


def lay_out(described: Described, table: Table, specs: Sequence[ToolSpec]) -> Layout:
    """Give each column its part.

    Raises:
        LoadingError: a key names a column that the data file lacks, a column would have two
            parts that exclude each other, or `input_columns` is missing where it must not be.
    """
    metadata, path = described.metadata, described.path
    _check_names(path, metadata, table)
    labels = _labels(metadata)
    _check_parts(path, metadata, labels)
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
        warnings = _kept_back(path, metadata.input_columns, private)
    if id_column is None and table.path.name == PUBLISHED_DATA:
        id_column = _instead_of_inputs(table, inputs, withheld)
    elif id_column is None:
        id_column = meant_as_ids(table, but=withheld)
    if id_column is None:
        warnings = (*warnings, _no_ids(table))
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
        warnings=warnings,
    )


def _kept_back(path: Path, named: Sequence[str], private: set[str]) -> tuple[str, ...]:
    both = [name for name in named if name in private]
    if not both:
        return ()
    where = "in 'input_columns' and in 'private_columns'"
    return (f"{path.name}: {listed(map(repr, both))} {where}: no agent is given what is private",)


def _instead_of_inputs(table: Table, inputs: Sequence[str], withheld: set[str]) -> str | None:
    """The column that names the tasks of a published folder where inputs cannot."""
    if tells_rows_apart(table, inputs):
        return None
    return unique_column(table, but=withheld)


def _no_ids(table: Table) -> str:
    return (
        f"{table.path.name}: no column called 'id' or '*_id' has another value in each row,"
        " so tasks are called by a hash of their inputs; 'id_column' names another column"
    )


def _labels(metadata: Metadata) -> dict[str, str]:
    """The columns that speak about the answer, with the key that names each."""
    keys = ("tags_column", "acceptable_column", "known_disagreement_column")
    named: dict[str, str | None] = {key: getattr(metadata, key) for key in keys}
    return {column: key for key, column in named.items() if column is not None}


def _check_names(path: Path, metadata: Metadata, table: Table) -> None:
    single: Mapping[str, str | None] = {
        "id_column": metadata.id_column,
        "tags_column": metadata.tags_column,
        "acceptable_column": metadata.acceptable_column,
        "known_disagreement_column": metadata.known_disagreement_column,
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


def _check_parts(path: Path, metadata: Metadata, labels: Mapping[str, str]) -> None:
    outputs = set(metadata.output_columns)
    for name in metadata.input_columns or ():
        if name in outputs:
            raise LoadingError(
                path,
                f"{name!r} stands in 'input_columns' and in 'output_columns'",
                hint="an input would hand the agent the expected answer; keep it in one of them",
            )
        if name in labels:
            raise LoadingError(
                path,
                f"{name!r} stands in 'input_columns' and is the {labels[name]!r}",
                hint="what is said about the answer is not for the agent; take it off the inputs",
            )
    for name, key in labels.items():
        if name in outputs:
            raise LoadingError(path, f"{name!r} stands in 'output_columns' and is the {key!r}")
    _check_id(path, metadata, outputs | set(labels))
    for name in metadata.types:
        if name in outputs:
            raise LoadingError(
                path,
                f"key 'types': {name!r} is an output column",
                hint=f'say it under "outputs": {{"{name}": {{"type": ...}}}}',
            )


def _check_id(path: Path, metadata: Metadata, about_answers: set[str]) -> None:
    name = metadata.id_column
    if name in about_answers:
        raise LoadingError(
            path,
            f"{name!r} is the 'id_column' and tells the answer",
            hint="ids are given to the agent; name another column, or remove the key",
        )
    if name in metadata.private_columns:
        raise LoadingError(
            path,
            f"{name!r} is the 'id_column' and a private column",
            hint="ids are printed everywhere; name another column, or remove the key",
        )


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
