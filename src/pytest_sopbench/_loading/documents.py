"""Tool-less domains: the schema, and rows with documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from pytest_sopbench._core.documents.schema import BadSchemaError, DocumentRules, Violation
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError, RowError

from .files import (
    digest,
    is_a_file,
    lies_inside,
    read_json,
    text_digest,
    unordered_digest,
)
from .layout import rows_with_ids
from .metadata import Described, DocumentMetadata
from .rows import BuiltTasks, tags_of
from .steps_file import own_steps, steps_as_json
from .tools import TOOL_SPECS_FILE as SPECS_FILE

# The rows of a tool-less domain: `id`, `inputs`, `expected` and `tags`.

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


class DocumentRows(BuiltTasks):
    """The tasks of a tool-less domain."""

    __slots__ = ("path", "rows")

    def __init__(self, domain: str, path: Path, rows: Sequence[DocumentRow]) -> None:
        super().__init__(domain)
        self.path = path
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def line_at(self, position: int) -> int:
        return self.rows[position].line

    def _task(self, position: int) -> Task:
        row = self.rows[position]
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
    for line, name, value in rows_with_ids(path, KEYS, "a tool-less domain"):
        row = DocumentRow(
            id=name,
            line=line,
            inputs=_object(path, line, value, "inputs"),
            expected=_object(path, line, value, "expected"),
            tags=tags_of(value.get("tags")),
        )
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


def _object(
    path: Path, line: int, row: Mapping[str, JsonValue], key: str
) -> Mapping[str, JsonValue]:
    found = row.get(key)
    if isinstance(found, Mapping) and (found or key == "expected"):
        return found
    what = "missing" if key not in row else "not a JSON object with keys"
    hint = "what the agent is given" if key == "inputs" else "the right answer, as a document"
    raise RowError(path, what, row=line, column=key, hint=hint)


# Load a tool-less domain: its schema, its rows, and what its metadata says of paths.

_REFUSED: Final = (SPECS_FILE, "tools.py", "expected_calls.jsonl")
_OTHER_DATA: Final = ("data.csv", "test_set_with_outputs.csv")


def load_document_domain(
    described: Described, metadata: DocumentMetadata, *, name: str, sop: str, policy: Path | None
) -> Domain:
    """Load the rest of a tool-less domain, whose metadata and SOP are read.

    Raises:
        LoadingError: a file is missing, is one of a domain with tools, or cannot be used.
    """
    folder = described.path.parent
    _refuse_files(folder)
    rules = _rules(described, metadata)
    rows = read_rows(_data_file(folder))
    steps = own_steps(folder, sop)
    notices = tuple(_broken(rules, rows))
    hashed: dict[str, JsonValue] = {
        "schema": rules.schema,
        "ignored": sorted(rules.ignored),
        "ordered": sorted(rules.ordered),
        "roles": {path: role.value for path, role in rules.roles.items()},
    }
    return Domain(
        name=name,
        folder=folder,
        data_file=folder / FILE_NAME,
        sop=sop,
        tool_specs=(),
        fields=(),
        tasks=DocumentRows(name, folder / FILE_NAME, rows),
        task_ids=tuple(row.id for row in rows),
        input_columns=tuple(dict.fromkeys(key for row in rows for key in row.inputs)),
        title=metadata.title,
        description=metadata.description,
        industry=metadata.industry,
        licence=metadata.licence,
        version=metadata.version,
        policy_file=policy,
        document=rules,
        own_steps=steps,
        warnings=(*described.warnings, *(steps.warnings if steps else ()), *notices),
        notices=notices,
        hashes={
            "sop": text_digest(sop) if steps is None else digest(steps_as_json(sop, steps)),
            "specs": digest([]),
            "tools": digest(hashed),
            "data": unordered_digest([row.id, row.inputs, row.expected] for row in rows),
        },
    )


def _rules(described: Described, metadata: DocumentMetadata) -> DocumentRules:
    path = described.path.parent / metadata.output_schema
    if not is_a_file(path):
        raise LoadingError(
            described.path,
            f"key 'output_schema': there is no file {metadata.output_schema!r} beside it",
            hint="it names the file with the JSON schema of the answer",
        )
    if not lies_inside(described.path.parent, path):
        raise LoadingError(
            described.path,
            f"key 'output_schema': {metadata.output_schema} lies outside of the domain",
            hint="put it into the domain's folder",
        )
    schema = read_json(path)
    if not isinstance(schema, Mapping):
        raise LoadingError(path, "not a JSON schema: it is no object")
    rules = DocumentRules(
        schema=schema,
        schema_name=metadata.output_schema,
        ignored=tuple(metadata.ignored_paths),
        ordered=tuple(metadata.ordered_paths),
        roles=dict(metadata.roles),
        domain_class=metadata.domain_class,
    )
    try:
        rules.validator.check()
    except BadSchemaError as fault:
        raise LoadingError(path, str(fault)) from fault
    return rules


def _refuse_files(folder: Path) -> None:
    for name in _REFUSED:
        if is_a_file(folder / name):
            raise LoadingError(
                folder / name,
                "a domain with 'output_schema' has no tools",
                hint="remove the file, or remove 'output_schema'",
            )


def _data_file(folder: Path) -> Path:
    path = folder / FILE_NAME
    if is_a_file(path):
        other = next((name for name in _OTHER_DATA if (folder / name).exists()), "")
        if other:
            raise LoadingError(folder, f"has both {FILE_NAME} and {other}", hint="keep one")
        return path
    raise LoadingError(
        folder,
        f"no rows: a domain with 'output_schema' has them in {FILE_NAME}",
        hint='each line is {"id": ..., "inputs": {...}, "expected": {...}, "tags": [...]}',
    )


def _broken(rules: DocumentRules, rows: Sequence[DocumentRow]) -> Iterator[str]:
    """Yield that expected answers break the schema, which no agent could ever give.

    What they break at ignored paths alone is nothing that an answer has to repeat.
    """
    broken: list[tuple[DocumentRow, Violation]] = []
    for row in rows:
        violations = rules.validator.violations(row.expected)
        compared = (one for one in violations if not rules.ignored_patterns.match(one.about))
        broken += [(row, one) for one in islice(compared, 1)]
    if broken:
        row, first = broken[0]
        yield (
            f"{len(broken)} of {len(rows)} expected answers break {rules.schema_name}, so no"
            f" answer can match them: {FILE_NAME}, row {row.line}, task {row.id}:"
            f" {first.place} breaks {first.keyword} {first.demand}: {first.value}"
        )
