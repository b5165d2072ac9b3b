"""Expected answers as tests see them: typed by their field, and judged as before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.fields.values import equal_values
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue


@pytest.mark.parametrize(
    ("kind", "cell", "typed"),
    [
        pytest.param(FieldType.INTEGER, "0", 0, id="a-zero-is-false"),
        pytest.param(FieldType.INTEGER, "1.0", 1, id="a-whole-number"),
        pytest.param(FieldType.NUMBER, "12.50", 12.5, id="a-number"),
        pytest.param(FieldType.NUMBER, "1e4000", "1e4000", id="beyond-what-json-writes"),
        pytest.param(FieldType.BOOLEAN, "No", False, id="a-boolean"),
        pytest.param(FieldType.LIST, '["a", 1]', ["a", 1], id="a-list"),
        pytest.param(FieldType.LIST, "a, b", ["a", "b"], id="a-list-with-commas"),
        pytest.param(FieldType.DATE, "2026-05-01", "2026-05-01", id="a-date-stays-text"),
        pytest.param(FieldType.TEXT, "007", "007", id="a-text"),
        pytest.param(FieldType.TEXT, "none", "none", id="a-word-that-may-be-a-label"),
        pytest.param(FieldType.NUMBER, "n/a", None, id="an-explicit-empty"),
        pytest.param(FieldType.ENUM, "", None, id="an-empty-cell"),
        pytest.param(FieldType.NUMBER, "heavy", "heavy", id="what-cannot-be-read"),
        pytest.param(FieldType.NUMBER, 7, 7, id="what-json-has-typed"),
    ],
)
def test_a_cell_has_the_type_of_its_field(
    kind: FieldType, cell: JsonValue, typed: JsonValue
) -> None:
    found = typed_value(OutputField(name="out", type=kind), cell)

    assert (typed, type(typed)) == (found, type(found))


def test_an_alias_is_the_label_it_stands_for() -> None:
    field = OutputField(name="out", type=FieldType.BOOLEAN, aliases={"Y": "true"})

    assert typed_value(field, "y") is True


@given(
    kind=st.sampled_from(FieldType),
    cell=st.one_of(
        st.text(max_size=12),
        st.integers().map(str),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.sampled_from(["yes", "No", "1", "0", "n/a", "[1, 'a']", "a, b", "1.0, 2", "2026-01-02"]),
    ),
)
def test_the_typed_value_is_a_right_answer(kind: FieldType, cell: str) -> None:
    field = OutputField(name="out", type=kind)

    assert equal_values(field, cell, typed_value(field, cell))
