"""Laws of cells: nothing is lost or changed unless the whole column says what it is."""

from __future__ import annotations

import json
import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import (
    CellError,
    ColumnType,
    convert,
    infer_type,
    parse_literal,
)

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
containers = st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4)


@settings(max_examples=60)
@given(st.lists(st.text(min_size=1), max_size=6))
def test_a_column_with_one_word_in_it_keeps_every_cell_as_written(cells: list[str]) -> None:
    column = [*cells, "a word"]

    inferred = infer_type(column)

    assert ColumnType.TEXT is inferred
    assert column == [convert(cell, inferred) for cell in column]


@settings(max_examples=60)
@given(st.lists(numbers, min_size=1, max_size=6))
def test_a_column_of_json_numbers_is_read_back_exactly(column: list[float]) -> None:
    cells = [json.dumps(number) for number in column]

    inferred = infer_type(cells)

    assert ColumnType.NUMBER is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=60)
@given(st.lists(containers, min_size=1, max_size=4))
def test_a_column_of_json_containers_is_read_back_exactly(column: list[JsonValue]) -> None:
    cells = [json.dumps(value) for value in column]

    inferred = infer_type(cells)

    assert ColumnType.LIST is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=60)
@given(st.lists(containers, min_size=1, max_size=4))
def test_a_column_of_python_containers_is_read_back_exactly(column: list[JsonValue]) -> None:
    cells = [repr(value) for value in column]

    inferred = infer_type(cells)

    assert ColumnType.LIST is inferred
    assert column == [convert(cell, inferred) for cell in cells]


@settings(max_examples=100)
@given(st.lists(st.text(alphabet="0123456789.-+eE[]{}'\":, TrueFalsnN"), min_size=1, max_size=3))
def test_an_inferred_type_fits_each_cell_and_gives_what_json_can_say(cells: list[str]) -> None:
    inferred = infer_type(cells)

    converted = [convert(cell, inferred) for cell in cells]

    assert converted == json.loads(json.dumps(converted, allow_nan=False))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param(["1", "2.50", "-3e2", ""], ColumnType.NUMBER, id="numbers-and-an-empty-cell"),
        pytest.param(["007", "12"], ColumnType.TEXT, id="a-leading-zero"),
        pytest.param([" 5"], ColumnType.TEXT, id="a-space-before-the-number"),
        pytest.param(["+5"], ColumnType.TEXT, id="a-plus-sign"),
        pytest.param(["1_000"], ColumnType.TEXT, id="an-underscore"),
        pytest.param(["١٢"], ColumnType.TEXT, id="digits-of-another-script"),
        pytest.param(["1e999"], ColumnType.TEXT, id="a-number-too-large"),
        pytest.param(["9" * 400], ColumnType.TEXT, id="four-hundred-digits"),
        pytest.param(["NaN", "1"], ColumnType.TEXT, id="not-a-number"),
        pytest.param(["1", "NA"], ColumnType.TEXT, id="not-available"),
        pytest.param(["True", "False", ""], ColumnType.BOOLEAN, id="as-python-writes-it"),
        pytest.param(["TRUE", "false"], ColumnType.BOOLEAN, id="as-excel-and-json-write-it"),
        pytest.param(["yes", "no"], ColumnType.TEXT, id="yes-and-no"),
        pytest.param(["True", "1"], ColumnType.TEXT, id="a-truth-value-and-a-number"),
        pytest.param(["None", ""], ColumnType.TEXT, id="the-word-none"),
        pytest.param(["2025-01-31"], ColumnType.TEXT, id="a-date"),
        pytest.param(["[true,false]", "['a']", "{'a': 1}"], ColumnType.LIST, id="both-notations"),
        pytest.param(["[1, 2", "[3]"], ColumnType.TEXT, id="a-list-that-never-ends"),
        pytest.param(["[nan]"], ColumnType.TEXT, id="a-name-in-a-list"),
        pytest.param(["[NaN]"], ColumnType.TEXT, id="not-a-number-in-a-list"),
        pytest.param(["[1e999]"], ColumnType.TEXT, id="an-infinite-number-in-a-list"),
        pytest.param([f"[{'9' * 400}.0]"], ColumnType.TEXT, id="an-infinite-list-of-digits"),
        pytest.param(["{1, 2}"], ColumnType.TEXT, id="a-set"),
        pytest.param(["{1: 2}"], ColumnType.TEXT, id="an-object-with-a-number-as-key"),
        pytest.param(["[(1, 2)]"], ColumnType.TEXT, id="a-tuple-in-a-list"),
        pytest.param(["[b'a']"], ColumnType.TEXT, id="bytes-in-a-list"),
        pytest.param([r"['\ud800']"], ColumnType.TEXT, id="half-a-surrogate-pair"),
        pytest.param([r'["\ud800"]'], ColumnType.TEXT, id="half-a-surrogate-pair-in-json"),
        pytest.param([r'["\u00e9", "NaN", "1e5"]'], ColumnType.LIST, id="texts-that-only-look-odd"),
        pytest.param(["[" * 500 + "]" * 500], ColumnType.TEXT, id="nested-too-deeply"),
        pytest.param(["[" * 99999 + "]" * 99999], ColumnType.TEXT, id="nested-beyond-the-stack"),
        pytest.param(["__import__('os').abort()"], ColumnType.TEXT, id="code"),
        pytest.param(["[__import__('os').abort()]"], ColumnType.TEXT, id="code-in-a-list"),
        pytest.param(["", ""], ColumnType.TEXT, id="nothing-but-empty-cells"),
        pytest.param([], ColumnType.TEXT, id="no-cells"),
    ],
)
def test_a_column_has_the_type_that_every_cell_has(
    cells: list[JsonValue], expected: ColumnType
) -> None:
    assert expected is infer_type(cells)


@pytest.mark.parametrize("column_type", [t for t in ColumnType if t is not ColumnType.WRITTEN])
def test_an_empty_cell_is_null_in_each_type(column_type: ColumnType) -> None:
    assert convert("", column_type) is None


def test_what_json_wrote_stays_as_it_is() -> None:
    assert "" == convert("", ColumnType.WRITTEN)
    assert [1] == convert([1], ColumnType.NUMBER)


@pytest.mark.parametrize(
    ("cell", "column_type", "expected"),
    [
        pytest.param("007", ColumnType.NUMBER, 7, id="leading-zeros"),
        pytest.param(" +1.50 ", ColumnType.NUMBER, 1.5, id="sign-and-spaces"),
        pytest.param("12", ColumnType.TEXT, "12", id="a-number-that-is-a-name"),
        pytest.param("Yes", ColumnType.BOOLEAN, True, id="yes"),
        pytest.param("0", ColumnType.BOOLEAN, False, id="zero"),
    ],
)
def test_a_declared_type_reads_more_than_an_inferred_one(
    cell: str, column_type: ColumnType, expected: JsonValue
) -> None:
    converted = convert(cell, column_type)

    assert expected == converted
    assert type(expected) is type(converted)


@pytest.mark.parametrize(
    ("cell", "column_type", "expected"),
    [
        pytest.param("red", ColumnType.NUMBER, "'red' is not a number", id="a-word"),
        pytest.param("1e999", ColumnType.NUMBER, "'1e999' is too large a number", id="too-large"),
        pytest.param("maybe", ColumnType.BOOLEAN, "'maybe' is neither true nor false", id="maybe"),
        pytest.param("a, b", ColumnType.LIST, "'a, b' is neither a list nor an object", id="bare"),
    ],
)
def test_a_cell_against_its_declared_type_is_told_in_words(
    cell: str, column_type: ColumnType, expected: str
) -> None:
    with pytest.raises(CellError) as caught:
        convert(cell, column_type)

    assert expected == str(caught.value)


def test_a_backslash_in_a_literal_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        value = parse_literal(r"['\d']")

    assert [r"\d"] == value


def test_a_number_of_many_digits_keeps_them_all() -> None:
    assert 12345678901234567890123 == convert("12345678901234567890123", ColumnType.NUMBER)
    assert math.isclose(0.1, float(str(convert("0.1", ColumnType.NUMBER))))
