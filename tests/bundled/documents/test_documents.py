"""Domains without tools are sound: schema, rows and procedure speak of the same document."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

from pytest_sopbench._audit.policy_source import frozen

NEEDED = 0.05


def schema_of(domain: Any) -> dict[str, Any]:
    text = (domain.folder / domain.metadata["output_schema"]).read_text(encoding="utf-8")
    return dict(json.loads(text))


def shapes(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every subschema by its path; `[]` are the items of a list."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from shapes(inner, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from shapes(schema["items"], f"{path}[]")


def values(document: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    yield path, document
    if isinstance(document, Mapping):
        for name, inner in document.items():
            yield from values(inner, f"{path}.{name}" if path else name)
    elif isinstance(document, list):
        for inner in document:
            yield from values(inner, f"{path}[]")


def test_the_schema_holds_for_every_expected_answer(domain_of_documents: Any) -> None:
    validator = jsonschema_rs.validator_for(schema_of(domain_of_documents))

    for row in domain_of_documents.rows:
        validator.validate(domain_of_documents.expected(row))


def test_the_schema_is_closed(domain_of_documents: Any) -> None:
    """Else a key that is misspelt would be one more, and the right one merely missing."""
    objects = [
        shape for _, shape in shapes(schema_of(domain_of_documents)) if "properties" in shape
    ]

    assert objects
    assert all(shape["additionalProperties"] is False for shape in objects)
    assert all(sorted(shape["required"]) == sorted(shape["properties"]) for shape in objects)


def test_every_value_of_the_schema_is_expected_on_some_row(domain_of_documents: Any) -> None:
    declared = {
        (path, frozen(value))
        for path, shape in shapes(schema_of(domain_of_documents))
        for value in shape.get("enum", ())
    }

    expected = {
        (path, frozen(value))
        for row in domain_of_documents.rows
        for path, value in values(domain_of_documents.expected(row))
    }

    assert declared
    assert set() == declared - expected


def test_the_procedure_names_every_field_and_every_value(domain_of_documents: Any) -> None:
    sop = (domain_of_documents.folder / "sop.md").read_text(encoding="utf-8")
    all_shapes = dict(shapes(schema_of(domain_of_documents)))
    fields = {path.rpartition(".")[2].removesuffix("[]") for path in all_shapes if path}
    named = {value for shape in all_shapes.values() for value in shape.get("enum", ()) if value}

    assert {name for name in fields if f"`{name}`" not in sop} == set()
    assert {value for value in named if value not in sop} == set()


def test_the_paths_of_the_metadata_are_in_the_schema(domain_of_documents: Any) -> None:
    metadata = domain_of_documents.metadata
    paths = {path for path, _ in shapes(schema_of(domain_of_documents))}

    assert metadata["ignored_paths"]
    named = {*metadata["ignored_paths"], *metadata["ordered_paths"], *metadata["roles"]}
    assert set() == named - paths


def test_who_leaves_out_an_input_loses_tasks(domain_of_documents: Any) -> None:
    """It is replaced by its most frequent value: 5 % of the tasks are lost at least."""
    domain = domain_of_documents
    cheap: set[str] = set()

    for name in domain.metadata["input_columns"]:
        cells = Counter(frozen(row[name]) for row in domain.rows)
        usual = json.loads(cells.most_common(1)[0][0])
        wrong = sum(
            decision(domain, {**domain.inputs(row), name: usual}) != domain.expected(row)
            for row in domain.rows
        )
        if wrong < NEEDED * len(domain.rows):
            cheap.add(name)

    assert domain.excused("an input that is left out costs tasks") == cheap


def decision(domain: Any, inputs: Mapping[str, Any]) -> Any:
    try:
        return domain.decide(inputs)
    except KeyError:
        # The day that is spoken of is not in the book of another call: nobody could go on.
        return None
