"""The rows of a tool-less domain: `id`, `inputs`, `expected` and `tags`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, overload

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.domain.row_labels import tags_of
from pytest_sopbench._loading.domain.task_ids import id_text
from pytest_sopbench._loading.files.digest import digest
from pytest_sopbench._loading.files.document import not_utf8, parse_json, refuse_endless, unreadable
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed
from pytest_sopbench.errors import LoadingError, RowError

FILE_NAME: Final = "tasks.jsonl"
KEYS: Final = ("id", "inputs", "expected", "tags")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """One row; `line` is where it stands, from 1."""

    id: str
    line: int
    inputs: Mapping[str, JsonValue]
    expected: Mapping[str, JsonValue]
    tags: tuple[str, ...] = ()


class DocumentRows(Sequence[Task]):
    """The tasks in the order of their rows; each is built anew when it is indexed."""

    __slots__ = ("_domain", "_positions", "path", "rows")

    def __init__(self, domain: str, path: Path, rows: Sequence[DocumentRow]) -> None:
        self.path = path
        self.rows = rows
        self._domain = domain
        self._positions = {row.id: position for position, row in enumerate(rows)}

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{len(self)} tasks of {self._domain}>"

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Task, ...]: ...

    def __getitem__(self, index: int | slice) -> Task | tuple[Task, ...]:
        if isinstance(index, slice):
            return tuple(self._task(row) for row in self.rows[index])
        return self._task(self.rows[index])

    def by_id(self, task_id: str) -> Task:
        """The task of that id, in constant time; `KeyError` where there is none."""
        return self._task(self.rows[self._positions[task_id]])

    def line_at(self, position: int) -> int:
        """The line of the data file on which the row stands, without building the task."""
        return self.rows[position].line

    def expected_at(self, position: int) -> Mapping[str, JsonValue]:
        """The expected document, without building the task."""
        return self.rows[position].expected

    def tags_at(self, position: int) -> tuple[str, ...]:
        """The tags of the task, without building it."""
        return self.rows[position].tags

    def _task(self, row: DocumentRow) -> Task:
        return Task(
            domain=self._domain,
            id=row.id,
            line=row.line,
            inputs=row.inputs,
            expected=row.expected,
            results={},
            tags=row.tags,
            hash=digest({"inputs": row.inputs, "expected": row.expected}),
        )


def read_rows(path: Path) -> tuple[DocumentRow, ...]:
    """Read the rows.

    Raises:
        LoadingError: the file cannot be read, or is empty.
        RowError: one row lacks a key, has one too many, or an id that stands twice.
    """
    rows: list[DocumentRow] = []
    first: dict[str, int] = {}
    for line, text in _lines(path):
        row = _row(path, line, parse_json(text, path, line=line))
        if row.id in first:
            raise RowError(
                path,
                f"the id {row.id!r} stands in row {first[row.id]} already",
                row=line,
                column="id",
                hint="give each row an id of its own",
            )
        first[row.id] = line
        rows.append(row)
    if not rows:
        raise LoadingError(path, "the file is empty", hint="write one JSON object per line")
    return tuple(rows)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    refuse_endless(path)
    try:
        with path.open(encoding="utf-8-sig") as stream:
            yield from ((line, text) for line, text in enumerate(stream, 1) if text.strip())
    except OSError as fault:
        raise unreadable(path, fault) from fault
    except UnicodeDecodeError as fault:
        raise not_utf8(path) from fault


def _row(path: Path, line: int, value: JsonValue) -> DocumentRow:
    if not isinstance(value, Mapping):
        raise RowError(path, "not a JSON object with keys", row=line)
    for key in value:
        if key not in KEYS:
            hint = did_you_mean(key, KEYS) or f"a row has {listed(KEYS)}"
            raise RowError(
                path, "no row of a tool-less domain has it", row=line, column=key, hint=hint
            )
    name = id_text(value.get("id"))
    if not name:
        hint = "an id is a text or a whole number"
        raise RowError(path, "no usable id", row=line, column="id", hint=hint)
    return DocumentRow(
        id=name,
        line=line,
        inputs=_object(path, line, value, "inputs"),
        expected=_object(path, line, value, "expected"),
        tags=tags_of(value.get("tags")),
    )


def _object(
    path: Path, line: int, row: Mapping[str, JsonValue], key: str
) -> Mapping[str, JsonValue]:
    found = row.get(key)
    if isinstance(found, Mapping) and (found or key == "expected"):
        return found
    what = "missing" if key not in row else "not a JSON object with keys"
    hint = "what the agent is given" if key == "inputs" else "the right answer, as a document"
    raise RowError(path, what, row=line, column=key, hint=hint)
