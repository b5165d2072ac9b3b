"""What an audit reads: a folder that may be broken, in parts that may be missing."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, cast

from pytest_sopbench._audit.model import Finding
from pytest_sopbench._audit.observing.mutants import Mutation
from pytest_sopbench._audit.observing.sandbox import Observed
from pytest_sopbench._audit.policy_source import flat_columns
from pytest_sopbench._audit.saved import KNOWN, bytes_of, is_there, metadata_in, tables_of
from pytest_sopbench._core.documents.comparing import canonical
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.metrics.summary import FieldLabels, answer_label, field_labels
from pytest_sopbench._core.model.task import MASK, OutputField, Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._loading.files import read_text
from pytest_sopbench._loading.load import (
    DATA_FILES,
    load_domain,
)
from pytest_sopbench._loading.metadata import FILE_NAMES as METADATA_FILES
from pytest_sopbench.errors import LoadingError

# The rows of a data file that need not be sound: what can be told of them all the same.


@dataclass(frozen=True, slots=True, kw_only=True)
class RoughTable:
    """Rows under the names of the header; `lines` are those on which they start."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[JsonValue]]
    lines: Sequence[int]

    def cells(self, column: str) -> list[JsonValue]:
        """The cells of a column from top to bottom; `None` if a row is too short."""
        place = self.columns.index(column)
        return [row[place] if place < len(row) else None for row in self.rows]

    def renamed(self, headers: Mapping[str, JsonValue]) -> RoughTable:
        """The same rows under the names that the metadata has for the headers."""
        ours = {header: name for name, header in headers.items() if isinstance(header, str)}
        columns = tuple(ours.get(name, name) for name in self.columns)
        return RoughTable(columns=columns, rows=self.rows, lines=self.lines)


def rough_csv(text: str) -> RoughTable | None:
    """Read what has a header and rows; a row may be short, long or oddly quoted."""
    rows: list[list[JsonValue]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text.replace("\0", "")))
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error:
            continue
        if cells:
            rows.append([*cells])
            lines.append(start)
    return _rough_table(rows, lines)


def rough_jsonl(text: str) -> RoughTable | None:
    """Read the lines that are JSON objects; the columns are the keys of all of them."""
    found: list[Mapping[str, JsonValue]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(cast("dict[str, JsonValue]", value))
            lines.append(number)
    columns = tuple(dict.fromkeys(key for one in found for key in one))
    rows = [[one.get(column) for column in columns] for one in found]
    return RoughTable(columns=columns, rows=rows, lines=lines) if rows and columns else None


def _rough_table(rows: list[list[JsonValue]], lines: list[int]) -> RoughTable | None:
    if len(rows) < 2:  # noqa: PLR2004 - a header, and a row
        return None
    # What pandas and R write before the first column: the number of the row.
    skipped = 1 if len(rows[0]) > 1 and not str(rows[0][0]).strip() else 0
    columns = tuple(str(name) for name in rows[0][skipped:])
    return RoughTable(
        columns=columns, rows=[row[skipped:] for row in rows[1:]], lines=tuple(lines[1:])
    )


# What an audit looks at: the files of a folder as far as they can be read.


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file: its text, or why it has none."""

    name: str
    text: str = ""
    unreadable: LoadingError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder before it is a domain.

    Attributes:
        path: the folder.
        files: the files that make a domain, by name, as far as they are there.
        metadata_file: the file that holds the metadata; the usual name if there is none.
        metadata: its keys; empty if it cannot be read.
        data_file: the file with the rows; empty if there is none.
        raw: its rows under its headers, read without any demand on them; `None` if that is
            impossible.
        table: the same under the names that the metadata has for the headers.
        domain: the domain, if it can be loaded.
        refused: why it cannot be loaded.
    """

    path: Path
    files: Mapping[str, File]
    metadata_file: str
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    data_file: str = ""
    raw: RoughTable | None = None
    table: RoughTable | None = None
    domain: Domain | None = None
    refused: LoadingError | None = None


# Read a folder that may be broken in any way; nothing that stands in it is raised.


def read_folder(path: Path) -> Folder:
    """Read a folder; it need not be there."""
    files = {name: _file(path / name) for name in KNOWN if is_there(path / name)}
    metadata_file = next((name for name in METADATA_FILES if name in files), METADATA_FILES[0])
    described = files.get(metadata_file)
    metadata = metadata_in(metadata_file, described.text if described is not None else "")
    for name in tables_of(metadata):
        if name not in files and is_there(path / name):
            files[name] = _file(path / name)
    data_file = next((name for name in DATA_FILES if name in files), "")
    domain, refused = _loaded(path)
    raw = _table(files.get(data_file))
    headers = metadata.get("columns")
    return Folder(
        path=path,
        files=files,
        metadata_file=metadata_file,
        metadata=metadata,
        data_file=data_file,
        raw=raw,
        table=raw.renamed(headers) if raw is not None and isinstance(headers, Mapping) else raw,
        domain=domain,
        refused=refused,
    )


def _file(path: Path) -> File:
    try:
        return File(name=path.name, text=read_text(path))
    except LoadingError as fault:
        data = bytes_of(path)
        return File(name=path.name, text=data.decode("utf-8", "replace"), unreadable=fault)


def _table(file: File | None) -> RoughTable | None:
    if file is None:
        return None
    return rough_jsonl(file.text) if file.name.endswith(".jsonl") else rough_csv(file.text)


def _loaded(path: Path) -> tuple[Domain | None, LoadingError | None]:
    try:
        return load_domain(path), None
    except LoadingError as fault:
        return None, fault
    except (OSError, RecursionError, MemoryError, ValueError) as fault:
        # What nobody has thought of is said as well, and is no reason for a traceback.
        return None, LoadingError(path, f"cannot be loaded: {type(fault).__name__}: {fault}")


# A domain that can be loaded, as the rules look at it.

SHOWN: Final = 5
"""Rows, values or names that a finding shows."""


def rows_at(lines: Sequence[int]) -> str:
    """Such as `3 rows (2, 7, 9)`, or `row 2`."""
    shown = first_of(map(str, lines), SHOWN)
    return f"row {shown}" if len(lines) == 1 else f"{len(lines)} rows ({shown})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A domain with all of its tasks; equal only to itself, so that what is known of it is kept.

    Attributes:
        folder: what was read of its files.
        domain: the domain.
        tasks: its tasks, all of them at hand.
        observed: what its own code did; nothing if it has none, or was not run.
        mutation: what came of its mutants; `None` if they were not asked for.
    """

    folder: Folder
    domain: Domain
    tasks: Sequence[Task] = field(default=())
    observed: Observed = field(default_factory=Observed)
    mutation: Mutation | None = None

    @property
    def data_file(self) -> str:
        return self.folder.data_file

    @property
    def metadata_file(self) -> str:
        return self.folder.metadata_file

    def text(self, name: str) -> str:
        """The text of a file; empty if there is none."""
        file = self.folder.files.get(name)
        return file.text if file is not None else ""

    @cached_property
    def id_column(self) -> str | None:
        """The input that holds the ids of the tasks."""
        for name in self.domain.input_columns:
            if all(str(task.inputs.get(name)) == task.id for task in self.tasks):
                return name
        return None

    @cached_property
    def id_header(self) -> str | None:
        """The header of the data file whose cells are the ids, whether agents see them or not."""
        table, ids = self.folder.raw, [task.id for task in self.tasks]
        if table is None:
            return None
        for name in table.columns:
            if [str(cell) for cell in table.cells(name)] == ids:
                return name
        return None

    def cell(self, column: str, position: int) -> JsonValue:
        """A cell as it is written in the data file; `None` if rows and tasks differ."""
        table = self.folder.table
        if table is None or column not in table.columns or len(table.rows) != len(self.tasks):
            return None
        row, place = table.rows[position], table.columns.index(column)
        return row[place] if place < len(row) else None

    @cached_property
    def compared(self) -> tuple[OutputField, ...]:
        """The output fields that ask for a certain value."""
        return tuple(one for one in self.domain.fields if one.name in self._readers)

    @cached_property
    def _readers(self) -> Mapping[str, FieldLabels]:
        return field_labels(self.domain.fields)

    def label(self, name: str, value: JsonValue) -> str:
        """The label that a value of an output field is counted under."""
        return self._readers[name].of(value)

    @cached_property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The expected label of each row, by output field."""
        return {
            name: [reader.of(task.expected_as_written[name]) for task in self.tasks]
            for name, reader in self._readers.items()
        }

    @cached_property
    def answers(self) -> Sequence[str]:
        """The expected label of each row, for all fields jointly."""
        readers, rules = self._readers, self.domain.document
        if rules is not None:
            return [canonical(rules, task.expected) for task in self.tasks]
        return [answer_label(task.expected_as_written, readers) or "" for task in self.tasks]

    @cached_property
    def inputs(self) -> Mapping[str, Sequence[JsonValue]]:
        """The cells of the inputs, laid out flat, without the ids."""
        skipped = self.id_column
        rows = [
            {name: value for name, value in task.inputs.items() if name != skipped}
            for task in self.tasks
        ]
        return flat_columns(rows)

    @cached_property
    def served(self) -> Mapping[str, Sequence[JsonValue]]:
        """The cells of the columns that look-up tools serve, laid out flat."""
        names = {name for one in self.domain.lookups.values() for name in one.returns}
        rows = [
            {name: value for name, value in task.results.items() if name in names}
            for task in self.tasks
        ]
        return flat_columns(rows)

    def rows(self, positions: Sequence[int]) -> str:
        """Such as `3 rows (2, 7, 9)`, by the lines of the data file."""
        return rows_at([self.line(one) for one in positions])

    def line(self, position: int) -> int:
        """The line on which a row starts."""
        return self.tasks[position].line


# Take the values of private columns out of findings, which are printed and uploaded.

LONG = 4
"""Characters from which on a value is masked wherever it stands; a shorter one is in any text."""

_TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])-?[0-9]+(?:\.[0-9]+)?(?![\w.]*\w)")


def masked(findings: Iterable[Finding], subject: Subject | None) -> Iterator[Finding]:
    """Yield the findings without what stands in private columns, inputs and outputs alike."""
    values = _private_values(subject)
    every = {text for texts in values.values() for text in texts if len(text) >= LONG}
    for finding in findings:
        yield _masked(finding, values, every) if values else finding


def _masked(finding: Finding, values: Mapping[str, set[str]], every: set[str]) -> Finding:
    what = finding.what
    column = finding.place.column.removeprefix("outputs.").split(".")[0]
    about = {name for name in values if name == column or repr(name) in what}
    near = {text for name in about for text in values[name]}
    what = _TOKEN.sub(lambda token: MASK if token[0].strip("'\"") in near else token[0], what)
    for text in sorted((one for one in every if one in what), key=len, reverse=True):
        what = what.replace(text, MASK)
    return replace(finding, what=what)


def _private_values(subject: Subject | None) -> Mapping[str, set[str]]:
    if subject is None:
        return {}
    found: dict[str, set[str]] = {name: set() for name in subject.domain.private_columns}
    for task in subject.tasks if found else ():
        row = {**task.results, **task.inputs, **task.expected_as_written}
        for name, texts in found.items():
            texts.update(_texts(row.get(name)))
    return found


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif value is not None and not isinstance(value, bool):
        for one in value:
            yield from _texts(one)
