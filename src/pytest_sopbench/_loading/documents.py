"""Tool-less domains: the schema, and rows with documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from pytest_sopbench._core.documents.comparing import compare_values
from pytest_sopbench._core.documents.schema import BadSchemaError, DocumentRules, Violation
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.fields.kinds import with_other_values
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
from .rows import tags_of
from .steps_file import own_steps, steps_as_json
from .tools import TOOL_SPECS_FILE as SPECS_FILE

# The rows of a tool-less domain: `id`, `inputs`, `expected` and `tags`.

FILE_NAME: Final = "tasks.jsonl"
KEYS: Final = ("id", "inputs", "expected", "tags")


def read_rows(path: Path, domain: str) -> Iterator[Task]:
    """Yield the task of each row.

    Raises:
        LoadingError: the file cannot be read, or is empty.
        RowError: one row lacks a key, has one too many, or an id that stands twice.
    """
    for line, name, value in rows_with_ids(path, KEYS, "a tool-less domain"):
        inputs = _object(path, line, value, "inputs")
        expected = _object(path, line, value, "expected")
        yield Task(
            domain=domain,
            id=name,
            line=line,
            inputs=inputs,
            expected=expected,
            results={},
            tags=tags_of(value.get("tags")),
            hash=digest({"inputs": inputs, "expected": expected}),
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
    tasks = tuple(read_rows(_data_file(folder), name))
    for task in tasks if rules.ignored else ():
        _refuse_compared_nothing(rules, folder / FILE_NAME, task)
    steps = own_steps(folder, sop)
    notices = tuple(_broken(rules, tasks))
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
        tasks=tasks,
        task_ids=tuple(task.id for task in tasks),
        input_columns=tuple(dict.fromkeys(key for task in tasks for key in task.inputs)),
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
            "data": unordered_digest([task.id, task.inputs, task.expected] for task in tasks),
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


def _refuse_compared_nothing(rules: DocumentRules, path: Path, task: Task) -> None:
    other = with_other_values(task.expected)
    if other != task.expected and not compare_values(rules, task.expected, other, ()).mismatches:
        raise RowError(
            path,
            "'ignored_paths' pass over every value in it, so that any values would be right",
            row=task.line,
            column="expected",
            hint="leave a value to be compared",
        )


def _broken(rules: DocumentRules, tasks: Sequence[Task]) -> Iterator[str]:
    """Yield that expected answers break the schema, which no agent could ever give.

    What they break at ignored paths alone is nothing that an answer has to repeat.
    """
    broken: list[tuple[Task, Violation]] = []
    for task in tasks:
        violations = rules.validator.violations(task.expected)
        compared = (one for one in violations if not rules.ignored_patterns.match(one.about))
        broken += [(task, one) for one in islice(compared, 1)]
    if broken:
        task, first = broken[0]
        yield (
            f"{len(broken)} of {len(tasks)} expected answers break {rules.schema_name}, so no"
            f" answer can match them: {FILE_NAME}, row {task.line}, task {task.id}:"
            f" {first.place} breaks {first.keyword} {first.demand}: {first.value}"
        )
