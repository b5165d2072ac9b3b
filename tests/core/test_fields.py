"""The type of an output field, learned from the whole column."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_sopbench import OutputField
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.kinds import typed_value
from pytest_sopbench._core.fields.values import colliding_labels, equal_values, infer_field
from pytest_sopbench._core.model.task import Compare, FieldType, Scoring
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import fold


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


# Expected answers as tests see them: typed by their field, and judged as before.


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


# Expected against actual: laws for every type, and a table of reasons.


def field_of(kind: FieldType = FieldType.TEXT, **options: Any) -> OutputField:
    return OutputField(name="berth", type=kind, **options)


ENUM = field_of(
    FieldType.ENUM, values=("North Quay", "South Quay", "7"), aliases={"NQ": "North Quay"}
)
BOOLEAN = field_of(FieldType.BOOLEAN)
INTEGER = field_of(FieldType.INTEGER)
NUMBER = field_of(FieldType.NUMBER)
NEAR = field_of(FieldType.NUMBER, tolerance=0.5)
DATE = field_of(FieldType.DATE)
LIST = field_of(FieldType.LIST)
ORDERED = field_of(FieldType.LIST, ordered=True)
TEXT = field_of()
EVERY_TYPE = [field_of(kind) for kind in FieldType] + [ORDERED, NEAR, ENUM]


@pytest.mark.parametrize(
    ("field", "expected", "actual"),
    [
        pytest.param(ENUM, "North Quay", "north_quay", id="case-and-underscore"),
        pytest.param(ENUM, "North Quay", " North\u00a0\n Quay ", id="white-space"),
        pytest.param(ENUM, "North Quay", "nq", id="alias"),
        pytest.param(ENUM, "NQ", "North Quay", id="alias-in-the-expected-cell"),
        pytest.param(ENUM, "7", 7, id="number-for-a-label"),
        pytest.param(ENUM, "7", 7.0, id="float-for-a-label"),
        pytest.param(ENUM, None, "n/a", id="empty-label"),
        pytest.param(BOOLEAN, "True", True, id="json-true"),
        pytest.param(BOOLEAN, "yes", 1, id="one-is-yes"),
        pytest.param(BOOLEAN, "No", "0", id="zero-is-no"),
        pytest.param(BOOLEAN, "maybe", "Maybe", id="no-boolean-at-all"),
        pytest.param(INTEGER, "3", 3.0, id="integer-by-value"),
        pytest.param(NUMBER, "12.50", "12.5", id="trailing-zero"),
        pytest.param(NUMBER, "12.50", 12.5, id="json-number"),
        pytest.param(NUMBER, "-0.0", 0, id="minus-zero"),
        pytest.param(NEAR, "10", 10.5, id="within-tolerance"),
        pytest.param(DATE, "2026-01-31", "2026-01-31T00:00:00Z", id="moment"),
        pytest.param(DATE, "2026-01-31", "31 January 2026", id="day-in-words"),
        pytest.param(DATE, "2026-01-31", "Saturday, Jan. 31st, 2026", id="weekday-and-month-first"),
        pytest.param(DATE, "2026-01-31", "31.01.2026", id="day-in-numbers"),
        pytest.param(DATE, "2026-01-31", "1/31/2026", id="month-first-in-numbers"),
        pytest.param(LIST, "['a', 'b']", ["B", "a"], id="list-in-any-order"),
        pytest.param(LIST, "['a', 'b']", "b, a", id="text-with-commas"),
        pytest.param(LIST, "['a', 'b']", "- a\n- b\n", id="bullets"),
        pytest.param(LIST, '["a", "b"]', '"a", "b"', id="quoted-items"),
        pytest.param(LIST, "[1, -2.5, true]", "1.0, -2.5, True", id="list-of-values"),
        pytest.param(LIST, [{"a": [1, 1.0]}], [{"A": [1, 1]}], id="list-of-objects"),
        pytest.param(LIST, ["007", None], ["007", "none"], id="names-and-empties"),
        pytest.param(LIST, "[]", [], id="empty-list"),
        pytest.param(ORDERED, "['a', 'b']", "(\"a\", 'b')", id="ordered"),
        pytest.param(TEXT, "12.5", 12.5, id="number-as-it-is-spelled"),
        pytest.param(TEXT, "7", 7, id="whole-number-as-it-is-spelled"),
        pytest.param(TEXT, "7", 7.0, id="json-has-one-number-for-both"),
        pytest.param(TEXT, "7.0", 7.0, id="float-as-it-is-spelled"),
        pytest.param(TEXT, "-7", "\u22127", id="minus-sign"),
        pytest.param(TEXT, "-7", -7, id="negative-number"),
        pytest.param(TEXT, "100000", 1e5, id="number-without-exponent"),
        pytest.param(NUMBER, "-7", "\u20137", id="dash-as-minus"),
        pytest.param(NUMBER, "7", "\uff17", id="full-width-number"),
        pytest.param(NUMBER, "100000", "1E5", id="numbers-are-equal-by-value"),
        pytest.param(LIST, ["7", "1.5"], [7, 1.5], id="items-as-they-are-spelled"),
        pytest.param(LIST, ["1.0", "2.0"], "1.0, 2.0", id="texts-in-a-text-with-commas"),
        pytest.param(LIST, [1.0, 2.0], "1.0, 2.0", id="numbers-in-a-text-with-commas"),
        pytest.param(LIST, ["1.10", "007"], "1.10, 007", id="names-in-a-text-with-commas"),
        pytest.param(LIST, [1], [1.0], id="items-by-value"),
        pytest.param(TEXT, {"a": 1, "b": 2}, {"b": 2, "a": 1}, id="objects"),
        pytest.param(TEXT, "", "null", id="empty"),
        pytest.param(TEXT, "None", None, id="none"),
    ],
)
def test_equal_values_match(field: OutputField, expected: Any, actual: Any) -> None:
    assert compare(field, expected, actual) is None
    assert compare(field, actual, expected) is None


@pytest.mark.parametrize(
    ("field", "expected", "actual", "why"),
    [
        pytest.param(ENUM, "North Quay", "South Quay", "other known label", id="wrong-label"),
        pytest.param(ENUM, "South Quay", "NQ", "other known label", id="wrong-alias"),
        pytest.param(ENUM, "North Quay", "West", "not a known label", id="unknown-label"),
        pytest.param(
            ENUM, "North Quay", "Quay", "near: part of the expected value", id="part-of-it"
        ),
        pytest.param(
            ENUM, "North Quay", "North Quay (2)", "near: more than the expected value", id="more"
        ),
        pytest.param(ENUM, "North Quay", "'North Quay!'", "near: punctuation", id="punctuation"),
        pytest.param(ENUM, "North Quay", "", "empty", id="empty"),
        pytest.param(ENUM, "North Quay", None, "empty", id="null"),
        pytest.param(
            field_of(FieldType.ENUM, values=("None", "Low")),
            "Low",
            "none",
            "other known label",
            id="empty-that-is-a-label",
        ),
        pytest.param(ENUM, "", "North Quay", "a value, but empty is expected", id="value"),
        pytest.param(BOOLEAN, True, "no", "different", id="wrong-boolean"),
        pytest.param(BOOLEAN, True, "sure", "not true or false", id="no-boolean"),
        pytest.param(BOOLEAN, True, 2, "not true or false", id="two-is-no-boolean"),
        pytest.param(BOOLEAN, True, [True], "not true or false", id="list-is-no-boolean"),
        pytest.param(NUMBER, "12.50", "12.05", "number off by 0.45", id="number"),
        pytest.param(NUMBER, 1, "1,5", "not a number", id="decimal-comma"),
        pytest.param(NUMBER, 1, True, "not a number", id="true-is-not-one"),
        pytest.param(NEAR, 10, 10.51, "number off by 0.51", id="beyond-tolerance"),
        pytest.param(INTEGER, "many", 3, "different", id="expected-is-no-number"),
        pytest.param(DATE, "2026-01-31", "2026-02-01", "different", id="date"),
        pytest.param(DATE, "2026-01-31", "31 January", "not an ISO date", id="no-date"),
        pytest.param(DATE, "2026-02-01", "1/2/2026", "not an ISO date", id="two-days"),
        pytest.param(
            DATE, "2026-01-31", "Monday, 31 January 2026", "not an ISO date", id="weekday"
        ),
        pytest.param(LIST, ["a", "b"], ["a"], "list lacks 1, has 0 too many", id="list-lacks"),
        pytest.param(LIST, ["a", "b"], "a,c,c", "list lacks 1, has 2 too many", id="list-other"),
        pytest.param(LIST, ["a"], ["a", "a"], "list lacks 0, has 1 too many", id="list-twice"),
        pytest.param(LIST, ["a"], 3, "not a list", id="no-list"),
        pytest.param(LIST, ["1"], [True], "list lacks 1, has 1 too many", id="one-is-not-true"),
        pytest.param(ORDERED, ["a", "b"], ["b", "a"], "near: order", id="order"),
        pytest.param(TEXT, "1.10", "1.1", "near: part of the expected value", id="versions"),
        pytest.param(TEXT, "007", "7", "near: part of the expected value", id="names"),
        pytest.param(TEXT, "007", 7, "near: part of the expected value", id="name-by-number"),
        pytest.param(TEXT, "1.10", 1.1, "near: part of the expected value", id="version-by-number"),
        pytest.param(TEXT, "1.0", 1, "near: part of the expected value", id="version-by-integer"),
        pytest.param(TEXT, "1E5", 100000, "different", id="exponent-by-number"),
        pytest.param(TEXT, "12.50", 12.5, "near: part of the expected value", id="trailing-zero"),
        pytest.param(TEXT, "+7", 7, "near: sign", id="plus-by-number"),
        pytest.param(ENUM, "007", 7, "other known label", id="label-by-number"),
        pytest.param(TEXT, "-7", "7", "near: sign", id="minus"),
        pytest.param(TEXT, "-7", 7, "near: sign", id="minus-by-number"),
        pytest.param(TEXT, "-1200.50", "1200.50", "near: sign", id="amount"),
        pytest.param(TEXT, "-20 C", "20 C", "near: sign", id="temperature"),
        pytest.param(TEXT, "A-", "A", "near: sign", id="grade"),
        pytest.param(TEXT, "O-", "O+", "near: sign", id="blood-type"),
        pytest.param(TEXT, "- approve", "approve", "near: punctuation", id="bullet"),
        pytest.param(LIST, ["A-"], ["A"], "list lacks 1, has 1 too many", id="grades"),
        pytest.param(LIST, [-7], [7], "list lacks 1, has 1 too many", id="negative-item"),
        pytest.param(LIST, ["-7 C"], "7 C", "list lacks 1, has 1 too many", id="negative-part"),
        pytest.param(LIST, ["007"], [7], "list lacks 1, has 1 too many", id="item-name"),
        pytest.param(LIST, ["1.10"], [1.1], "list lacks 1, has 1 too many", id="item-version"),
        pytest.param(LIST, "1.10, 2", [1.1, 2], "list lacks 1, has 1 too many", id="part-version"),
        pytest.param(LIST, ["1.0"], [1], "list lacks 1, has 1 too many", id="item-integer"),
        pytest.param(LIST, ["1.0"], ["1"], "list lacks 1, has 1 too many", id="item-texts"),
        pytest.param(LIST, ["1E5"], [100000], "list lacks 1, has 1 too many", id="item-exponent"),
        pytest.param(LIST, [10**500], [2 * 10**500], "list lacks 1, has 1 too many", id="huge"),
        pytest.param(
            LIST, [{"a": "1.10"}], [{"a": 1.1}], "list lacks 1, has 1 too many", id="item-inside"
        ),
        pytest.param(TEXT, "10\u00b2", "102", "different", id="superscript"),
        pytest.param(TEXT, "10\u00b2", 102, "different", id="superscript-by-number"),
        pytest.param(NUMBER, 102, "10\u00b2", "not a number", id="superscript-is-no-digit"),
        pytest.param(NUMBER, 1, "\u2460", "not a number", id="circled-digit-is-no-digit"),
        pytest.param(TEXT, "valid", "invalid", "near: more than the expected value", id="in"),
        pytest.param(TEXT, "yes", True, "different", id="no-boolean-declared"),
        pytest.param(TEXT, "abc", 5, "different", id="number-for-a-text"),
        pytest.param(TEXT, "!!", "??", "different", id="nothing-but-punctuation"),
    ],
)
def test_a_mismatch_says_why(field: OutputField, expected: Any, actual: Any, why: str) -> None:
    mismatch = compare(field, expected, actual)

    assert mismatch is not None
    assert ("berth", expected, actual, why) == (
        mismatch.field,
        mismatch.expected,
        mismatch.actual,
        mismatch.why,
    )


def test_a_private_field_tells_nothing_of_its_value() -> None:
    mismatch = compare(field_of(FieldType.NUMBER, private=True), 10, 12)

    assert mismatch is not None
    assert "different" == mismatch.why


def test_any_value_is_present() -> None:
    field = field_of(FieldType.NUMBER, compare=Compare.PRESENT)

    assert compare(field, 1, "whatever") is None
    mismatch = compare(field, 1, "n/a")
    assert mismatch is not None
    assert "empty, any value would do" == mismatch.why


def test_an_ignored_field_never_differs() -> None:
    assert compare(field_of(compare=Compare.IGNORE), "a", "b") is None


SCALARS = (
    st.none()
    | st.sampled_from(["1.10", 1.1, "1.0", 1.0, "1.0, 2", "007", "-7", "\u22127", "7", "1E5", 1e5])
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["yes", "1", "0", "a, b", "[1]", "2026-01-31", "12.50", "12.5", "none", "NQ"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=6,
)
FIELDS = st.sampled_from(EVERY_TYPE)


@given(FIELDS, VALUES)
def test_a_value_matches_itself(field: OutputField, value: Any) -> None:
    assert compare(field, value, value) is None


@given(FIELDS, VALUES, VALUES)
def test_matching_is_symmetric(field: OutputField, one: Any, other: Any) -> None:
    assert (compare(field, one, other) is None) == (compare(field, other, one) is None)


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False), st.data())
def test_a_text_is_a_number_only_as_it_is_spelled(number: float, data: st.DataObject) -> None:
    spelled = json.dumps(number)
    other = data.draw(
        st.sampled_from([f"0{spelled}", f"+{spelled}", f"{spelled}0e0", f"-{spelled}"])
    )

    assert compare(TEXT, spelled, number) is None
    assert compare(TEXT, other, number) is not None
    assert compare(LIST, [other], [number]) is not None


@given(st.text(min_size=1), st.text(min_size=1))
def test_containment_never_counts(text: str, more: str) -> None:
    longer = text + more
    assume(fold(longer) != fold(text))
    assume(not (fold(text) in {"none", "null", "n/a", ""} and fold(longer) in {"none", "null", ""}))

    assert compare(TEXT, longer, text) is not None
    assert compare(TEXT, text, longer) is not None


@given(
    st.lists(st.text(max_size=3), max_size=5).flatmap(
        lambda one: st.tuples(st.just(one), st.permutations(one))
    )
)
def test_a_list_matches_in_any_order(lists: tuple[list[str], list[str]]) -> None:
    assert compare(LIST, lists[0], lists[1]) is None


@pytest.mark.parametrize(
    ("expected", "actual", "matches"),
    [
        pytest.param("Berth D", "d", True, id="part-of-the-expected-value"),
        pytest.param("D", "berth_d", True, id="expected-value-within"),
        pytest.param("North-Quay", "north_quay", True, id="separators"),
        pytest.param(None, "N/A", True, id="null-like"),
        pytest.param("", "x", False, id="null-like-is-in-nothing"),
        pytest.param("x", None, False, id="nothing-is-in-a-value"),
        pytest.param(12, "12.5", True, id="number-as-text"),
        pytest.param("North", "South", False, id="different"),
    ],
)
def test_the_published_rules_take_a_part_for_the_whole(
    expected: Any, actual: Any, matches: bool
) -> None:
    mismatch = compare(TEXT, expected, actual, Scoring.PUBLISHED)

    assert matches is (mismatch is None)


class TestALabelThatSaysNone:
    FIELD = field_of(FieldType.ENUM, values=("waive", "none"), declared=True)

    @pytest.mark.parametrize("given", ["none", " None ", "NONE"])
    def test_it_is_a_label_like_any_other(self, given: str) -> None:
        assert compare(self.FIELD, "none", given) is None

    @pytest.mark.parametrize("given", ["", None, "n/a", "null"])
    def test_an_empty_answer_is_not_that_label(self, given: str | None) -> None:
        assert compare(self.FIELD, "none", given) is not None
        assert compare(self.FIELD, given, "none") is not None

    def test_without_a_declaration_it_means_that_there_is_no_value(self) -> None:
        inferred = field_of(FieldType.ENUM, values=("waive", "none"))

        assert compare(inferred, "none", "") is None
