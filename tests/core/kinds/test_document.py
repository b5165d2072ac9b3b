"""A field that holds a JSON document is compared by its paths."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue

CELL = '{"to": "Vela", "note": "by hand", "berths": [{"no": 3, "tags": ["a", "b"]}, {"no": 4}]}'


def why(expected: JsonValue, actual: JsonValue, **more: Any) -> str:
    field = OutputField(name="plan", type=FieldType.TEXT, compare=Compare.JSON, **more)
    mismatch = compare(field, expected, actual)
    return mismatch.why if mismatch else ""


def changed(**more: Any) -> dict[str, Any]:
    return {**json.loads(CELL), **more}


@pytest.mark.parametrize(
    "actual",
    [
        pytest.param(CELL, id="the text"),
        pytest.param(f"```json\n{CELL}\n```", id="a fence"),
        pytest.param(changed(to=" VELA"), id="case and white space"),
        pytest.param(changed(berths=[{"no": 4.0}, {"tags": ["b", "a"], "no": 3}]), id="order"),
        pytest.param(changed(more=None), id="a null says no more than an absent key"),
    ],
)
def test_a_document_is_right_however_it_is_written(actual: JsonValue) -> None:
    assert "" == why(CELL, actual)
    assert "" == why(json.loads(CELL), actual)


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        (changed(to="Nave"), "to: different"),
        (changed(to=None), "to: null instead of a text"),
        (changed(more=1), "more: should be absent"),
        (changed(berths=[{"no": 3, "tags": ["a", "b"]}]), 'berths: missing {"no": 4}'),
        (changed(berths=[]), None),
        ({"to": "Vela", "berths": json.loads(CELL)["berths"]}, "note: missing"),
        ([], "the document: a list instead of an object"),
        ("", "empty"),
        (None, "empty"),
        ("soon", "not JSON: something stands before the document at character 1"),
        (f"Here: {CELL}", "not JSON: something stands before the document at character 1"),
        ('{"to": "Vela"', "not JSON: the text ends before the document does at character 14"),
        ('{"to": 1, "to": 2}', "not JSON: key 'to' stands twice in one object at character 11"),
        (7, "a number, and neither an object nor a list"),
        (True, "a boolean, and neither an object nor a list"),
        ("7", "a number, and neither an object nor a list"),
    ],
)
def test_a_mismatch_carries_its_path(actual: JsonValue, said: str | None) -> None:
    found = why(CELL, actual)

    assert found == said if said else found.startswith("berths: missing")


def test_three_paths_are_told_and_the_rest_is_counted() -> None:
    found = why({"a": 1, "b": [1], "c": {"d": 1}, "e": 1, "f": 1}, {"a": 2, "b": [2], "c": {}})

    assert "a: number off by 1; b: missing 1; unexpected 2; c.d: missing; and 2 more" == found


def test_an_ignored_path_is_passed_over_at_every_depth() -> None:
    other = changed(note="by mail", berths=[{"no": 3, "tags": []}, {"no": 4, "note": "x"}])

    assert "" == why(CELL, other, ignored_paths=("note", "berths.tags"))
    assert "" != why(CELL, other, ignored_paths=("note",))


def test_the_order_of_a_list_counts_where_it_is_said() -> None:
    turned = changed(berths=[{"no": 3, "tags": ["b", "a"]}, {"no": 4}])

    assert "" == why(CELL, turned, ordered_paths=("berths",))
    assert "berths[0].tags[0]: different" in why(CELL, turned, ordered_paths=("berths", "tags"))
    assert "[0]: number off by 1; [1]: number off by 1" == why([1, 2], "[2, 1]", ordered=True)
    assert "" == why([1, 2], "[2, 1]")


def test_an_expected_cell_that_is_no_document_fits_nothing() -> None:
    assert "the expected cell is empty" == why("", "{}")
    assert why("soon", "soon").startswith("the expected cell is not JSON")


def test_a_private_document_tells_nothing() -> None:
    assert "different" == why(CELL, changed(to="Nave"), private=True)


def test_what_is_told_of_a_path_is_bounded() -> None:
    assert 160 >= len(why({}, {"k" * 1000: 1}))


SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text("abc ", max_size=4)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz", max_size=2), inner),
    max_leaves=12,
)


def turned(value: Any, random: Any) -> Any:
    """Write a document with its keys and its items in another order."""
    if isinstance(value, dict):
        keys = random.sample([*value], len(value))
        return {key: turned(value[key], random) for key in keys}
    if isinstance(value, list):
        return [turned(item, random) for item in random.sample(value, len(value))]
    return value


@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_order_never_counts_and_one_other_value_always_does(document: Any, random: Any) -> None:
    expected = {"rest": document, "at": {"number": 1}}
    other = turned(expected, random)

    held = why(json.dumps(expected), json.dumps(other))
    other["at"]["number"] = 2
    lost = why(expected, other)

    assert ("", "at.number: number off by 1") == (held, lost)
