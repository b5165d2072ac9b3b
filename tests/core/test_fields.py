"""The type of an output field, learned from the whole column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.fields.values import colliding_labels, infer_field
from pytest_sopbench._core.model.task import FieldType, OutputField


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        pytest.param(["True", "false", ""], FieldType.BOOLEAN, id="true-and-false"),
        pytest.param(["yes", "no"], FieldType.BOOLEAN, id="yes-and-no"),
        pytest.param([True, False, None], FieldType.BOOLEAN, id="json-booleans"),
        pytest.param(["1", "0", "1"], FieldType.INTEGER, id="ones-and-zeros"),
        pytest.param(["3", "-12", "N/A"], FieldType.INTEGER, id="integers"),
        pytest.param([1, 2], FieldType.INTEGER, id="json-integers"),
        pytest.param(["1", "2.50"], FieldType.NUMBER, id="one-decimal-makes-numbers"),
        pytest.param([1, 2.5], FieldType.NUMBER, id="json-numbers"),
        pytest.param(["007", "1"], FieldType.TEXT, id="leading-zeros-are-names"),
        pytest.param([1, True], FieldType.TEXT, id="a-boolean-is-no-number"),
        pytest.param(["2026-01-31", "2026-02-01T08:00Z"], FieldType.DATE, id="dates"),
        pytest.param(["2026-01-31", "soon"], FieldType.TEXT, id="not-all-are-dates"),
        pytest.param(["['a']", "[]", '["b"]'], FieldType.LIST, id="list-literals"),
        pytest.param([["a"], []], FieldType.LIST, id="json-lists"),
        pytest.param(["(1, 2)"], FieldType.TEXT, id="a-tuple-is-a-text"),
        pytest.param(["[a"], FieldType.TEXT, id="a-bracket-is-no-list"),
        pytest.param(["a", "b"] * 5, FieldType.ENUM, id="two-labels-in-ten-rows"),
        pytest.param(["a", "b"] * 4, FieldType.TEXT, id="two-labels-in-eight-rows"),
        pytest.param(["a"] * 3 + [""] * 2, FieldType.ENUM, id="empty-rows-are-rows"),
        pytest.param([f"l{n % 20}" for n in range(100)], FieldType.ENUM, id="twenty-labels"),
        pytest.param([f"l{n % 21}" for n in range(200)], FieldType.TEXT, id="more-labels"),
        pytest.param([{"a": 1}] * 9, FieldType.TEXT, id="json-objects"),
        pytest.param(["", None, "null"], FieldType.TEXT, id="only-empty-cells"),
        pytest.param([], FieldType.TEXT, id="no-rows"),
    ],
)
def test_the_type_is_that_of_the_whole_column(cells: Sequence[Any], kind: FieldType) -> None:
    field = infer_field("x", cells)

    assert ("x", kind, False) == (field.name, field.type, field.declared)


def test_labels_are_as_written_and_sorted() -> None:
    assert ("b-1", "B_2", "c") == infer_field("x", ["c", "B_2", "b-1", ""] * 5).values
    assert ("no", "Yes") == infer_field("x", ["Yes", "no"]).values
    assert () == infer_field("x", ["1", "2"]).values


@given(st.permutations(["a", "B", "b ", "c", ""] * 5))
def test_the_order_of_rows_changes_nothing(cells: list[str]) -> None:
    assert infer_field("x", sorted(cells)) == infer_field("x", cells)


def test_labels_that_are_equal_after_normalisation_are_named() -> None:
    cells = ["Turn away", "turn_away", "Enter", "None", "N/A"]
    field = OutputField(name="x", type=FieldType.ENUM, values=("ENTER",))

    assert {("N/A", "None"), ("ENTER", "Enter"), ("Turn away", "turn_away")} == set(
        colliding_labels(field, cells)
    )


def test_numbers_are_no_labels() -> None:
    field = OutputField(name="x", type=FieldType.NUMBER)

    assert () == colliding_labels(field, ["1.0", "1"])


def test_distinct_labels_do_not_collide() -> None:
    field = OutputField(name="x", type=FieldType.TEXT)

    assert () == colliding_labels(field, ["valid", "invalid", 3, None])
