"""How `outputs` may say that a field is compared, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.judging.fingerprint import rules_fingerprint
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError


def loaded(folder: Path, cell: str, **output: Any) -> Domain:
    metadata = {
        "name": "parcels",
        "id_column": "id",
        "input_columns": ["id"],
        "output_columns": ["answer"],
        "outputs": {"answer": output},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    (folder / "sop.md").write_text("Answer.", "utf-8")
    quoted = cell.replace('"', '""')
    (folder / "data.csv").write_text(f'id,answer\nA,"{quoted}"\nB,"{quoted}"\n', "utf-8")
    return load_domain(folder)


FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "a function": ("x", {"compare": "call", "comparer": "a:b", "at_least": 0.5}),
    "a pattern": (r"R-\d+", {"compare": "matches"}),
    "patterns": ('["a|b", "c"]', {"compare": "one_of"}),
    "phrases": ('["a b", "c"]', {"compare": "contains_all"}),
    "a text": ("Dear", {"compare": "similar", "at_least": 0.9}),
    "euros": ("1.234,50 €", {"type": "number", "units": ["€"], "grouping": "."}),
    "a day": ("1.5.2026", {"type": "date", "formats": ["%d.%m.%Y"]}),
    "a document": ('{"a": [1]}', {"compare": "json"}),
    "items": ('[{"id": 1}, {"id": 2}]', {"type": "list", "key": "id"}),
}


@pytest.mark.parametrize("case", FITS)
def test_a_comparison_is_declared_and_is_a_part_of_judging(tmp_path: Path, case: str) -> None:
    cell, output = FITS[case]

    domain = loaded(tmp_path, cell, **output)

    assert () == tuple(one for one in domain.warnings if "answer" in one)
    (field,) = domain.fields
    plain = loaded(tmp_path, cell).fields[0]
    hashes = {rules_fingerprint({"d": JudgingRules(fields=(one,))}) for one in (field, plain)}
    assert 2 == len(hashes)


@pytest.mark.parametrize("paths", [{"ignored_paths": ["a"]}, {"ordered_paths": ["a"]}])
def test_the_paths_of_a_document_are_a_part_of_judging(tmp_path: Path, paths: Any) -> None:
    (plain,) = loaded(tmp_path, '{"a": [1], "b": 2}', compare="json").fields

    (field,) = loaded(tmp_path, '{"a": [1], "b": 2}', compare="json", **paths).fields

    hashes = {rules_fingerprint({"d": JudgingRules(fields=(one,))}) for one in (field, plain)}
    assert 2 == len(hashes)


def test_a_test_is_given_the_document_and_not_its_text(tmp_path: Path) -> None:
    domain = loaded(tmp_path, '{"a": [1]}', compare="json")

    assert {"answer": {"a": [1]}} == domain.tasks[0].expected


def test_the_mark_before_a_fraction_follows_that_between_thousands(tmp_path: Path) -> None:
    (field,) = loaded(tmp_path, "1.234,50", type="number", grouping=".").fields

    assert (FieldType.NUMBER, ".", ",") == (field.type, field.grouping, field.decimal)
    assert Compare.EXACT is field.compare


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "call without a function": ("x", {"compare": "call"}, "comparer': nothing says which"),
    "a function without call": ("x", {"comparer": "a:b"}, "comparer': nothing calls it"),
    "similar without a number": ("x", {"compare": "similar"}, "at_least': nothing says how"),
    "a number without a score": ("x", {"at_least": 0.9}, "at_least': nothing gives a score"),
    "a number above one": ("x", {"compare": "similar", "at_least": 9}, "at_least'"),
    "a score that every text has": (
        "x",
        {"compare": "similar", "at_least": 0},
        "at_least': every score is 0 or more, so that any answer would be right",
    ),
    "a score that every answer has": (
        "x",
        {"compare": "call", "comparer": "a:b", "at_least": 0.0},
        "at_least': every score is 0 or more",
    ),
    "units of a text": ("x", {"units": ["€"]}, "units': it is for numbers"),
    "a point as a unit": ("5", {"type": "number", "units": ["."]}, "units': '.' beside a number"),
    "a power as a unit": (
        "5",
        {"type": "number", "units": ["e3"]},
        "'e3' beside a number",
    ),
    "a sign as a unit": ("5", {"type": "number", "units": ["EUR", "-"]}, "units': '-' beside"),
    "an empty unit": ("5", {"type": "number", "units": [""]}, "units': '' beside a number"),
    "one mark for both": (
        "1",
        {"type": "number", "grouping": ",", "decimal": ","},
        "grouping': ',' cannot stand between thousands and before a fraction",
    ),
    "formats of a text": ("x", {"formats": ["%Y"]}, "formats': they are for dates"),
    "a format without a day": (
        "2026-05-01",
        {"type": "date", "formats": ["%Y-%m"]},
        "formats': '%Y-%m' says no day",
    ),
    "a key of a text": ("x", {"key": "id"}, "key': it is for lists"),
    "a pattern that is none": ("(", {"compare": "matches"}, "row 2, column 'answer': the pattern"),
    "a pattern that refers back": (r"(a)\1", {"compare": "one_of"}, "cannot be read"),
    "no pattern": ("", {"compare": "matches"}, "'matches' needs a pattern"),
    "no phrase": ("[]", {"compare": "contains_all"}, "needs at least one phrase"),
    "a phrase that nobody sees": (
        '["\u200b"]',
        {"compare": "contains_all"},
        "needs at least one phrase",
    ),
    "no text": ("", {"compare": "similar", "at_least": 0.9}, "'similar' needs a text"),
    "one key twice": (
        '[{"id": 1}, {"id": 1}]',
        {"type": "list", "key": "id"},
        "has no 'id' of its own",
    ),
    "an item without a key": ('[{"x": 1}]', {"type": "list", "key": "id"}, "has no 'id'"),
    "no document": ("", {"compare": "json"}, "'json' needs an object or a list"),
    "a broken document": ('{"a": 1', {"compare": "json"}, "row 2, column 'answer': it is not JSON"),
    "a document in other quotes": ("{'a': 1}", {"compare": "json"}, "it is not JSON"),
    "a number as a document": ("7", {"compare": "json"}, "it is a number, and neither"),
    "a document that is a number": ("7", {"compare": "json", "type": "number"}, "type': 'json'"),
    "a document of which all is ignored": (
        '{"a": {"b": 1}, "c": ["x"]}',
        {"compare": "json", "ignored_paths": ["a.b", "c"]},
        "'ignored_paths' pass over every value in it, so that any values would be right",
    ),
    "a list of which all is ignored": (
        '[{"a": 1}, {"a": 2}]',
        {"compare": "json", "ignored_paths": ["a"]},
        "'ignored_paths' pass over every value in it",
    ),
    "paths of a text": ("x", {"ignored_paths": ["a"]}, "ignored_paths': they are for documents"),
    "lists of a text": ("x", {"ordered_paths": ["a"]}, "ordered_paths': they are for documents"),
    "a number in other marks": ("1,5", {"type": "number", "units": ["€"]}, "is not a number"),
}


@pytest.mark.parametrize("cell", ['{"a": 1, "b": 2}', "{}", "[]", '{"b": []}'])
def test_a_document_may_have_little_to_compare(tmp_path: Path, cell: str) -> None:
    (field,) = loaded(tmp_path, cell, compare="json", ignored_paths=["a"]).fields

    assert ("a",) == field.ignored_paths


@pytest.mark.parametrize("unit", ["€", "%", "EUR", "m2", "kg/m3", "E", "pcs."])
def test_a_unit_is_what_no_number_has(tmp_path: Path, unit: str) -> None:
    (field,) = loaded(tmp_path, f"5 {unit}", type="number", units=[unit]).fields

    assert (unit,) == field.units


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_compared_is_refused_when_it_is_loaded(tmp_path: Path, case: str) -> None:
    cell, output, said = REFUSED[case]

    with pytest.raises(LoadingError) as refused:
        loaded(tmp_path, cell, **output)

    assert said in str(refused.value)
