"""Which paths of a document are counted, and which of them have values few enough for a table."""

from __future__ import annotations

from pytest_sopbench._core.documents.reading import compared_paths, labelled_paths, wrong_paths
from pytest_sopbench._core.documents.schema import DocumentRules, Role

SCHEMA = {
    "$defs": {"kind": {"enum": ["a", "b"]}},
    "properties": {
        "kind": {"$ref": "#/$defs/kind"},
        "late": {"type": "boolean"},
        "name": {"type": "string"},
        "stay": {"anyOf": [{"properties": {"room": {"const": "1"}}}, {"type": "null"}]},
    },
}
RULES = DocumentRules(schema=SCHEMA, ignored=("why",), roles={"step": Role.ROUTE})
EXPECTED = {
    "kind": "a",
    "late": True,
    "name": "x",
    "stay": {"room": "1", "why": "y", "bill": {}},
    "step": ["1"],
    "a.b": 1,
}
PATHS = ("kind", "late", "name", "stay.room", "stay.bill", "step", '["a.b"]')


def test_every_value_of_an_object_is_a_path_and_a_list_is_one() -> None:
    assert PATHS == compared_paths(RULES, EXPECTED)


def test_values_are_few_by_the_schema_or_by_the_role() -> None:
    assert ("kind", "late", "stay.room", "step") == labelled_paths(RULES, PATHS)


def test_a_mismatch_concerns_paths_at_it_below_it_and_above_it() -> None:
    assert {"stay.room", "stay.bill"} == wrong_paths(PATHS, ["stay"])
    assert {"step"} == wrong_paths(PATHS, ["step[2].name"])
    assert {"name"} == wrong_paths(PATHS, ["name"])


def test_a_mismatch_that_concerns_none_is_a_path_itself() -> None:
    assert {"names"} == wrong_paths(PATHS, ["names"])
