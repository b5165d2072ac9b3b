"""Load a tool-less domain: its schema, its rows, and what its metadata says of paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.documents.schema import BadSchemaError, Violation
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.domain.content_hashes import ContentHashes
from pytest_sopbench._loading.domain.steps_file import own_steps, steps_as_json
from pytest_sopbench._loading.domain.tool_specs import FILE_NAME as SPECS_FILE
from pytest_sopbench._loading.files.digest import digest, text_digest, unordered_digest
from pytest_sopbench._loading.files.document import is_a_file, lies_inside, read_json
from pytest_sopbench._loading.metadata.read import Described
from pytest_sopbench._loading.metadata.schema import DocumentMetadata
from pytest_sopbench.errors import LoadingError

from .rows import FILE_NAME, DocumentRow, DocumentRows, read_rows

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
        hashes=ContentHashes(
            {
                "sop": text_digest(sop) if steps is None else digest(steps_as_json(sop, steps)),
                "specs": digest([]),
                "tools": digest(hashed),
            },
            data=partial(_data_hash, rows),
        ),
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
    broken = [(row, found) for row in rows if (found := _at_compared(rules, row.expected))]
    if broken:
        row, violations = broken[0]
        first = violations[0]
        yield (
            f"{len(broken)} of {len(rows)} expected answers break {rules.schema_name}, so no"
            f" answer can match them: {FILE_NAME}, row {row.line}, task {row.id}:"
            f" {first.place} breaks {first.keyword} {first.demand}: {first.value}"
        )


def _at_compared(rules: DocumentRules, expected: Mapping[str, JsonValue]) -> Sequence[Violation]:
    violations = rules.validator.violations(expected)
    return [one for one in violations if not rules.ignored_patterns.match(one.about)]


def _data_hash(rows: Sequence[DocumentRow]) -> str:
    return unordered_digest([row.id, row.inputs, row.expected] for row in rows)
