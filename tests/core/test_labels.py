"""Which spellings are counted as one label."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.fields.values import value_key
from pytest_sopbench._core.metrics.summary import (
    ANSWER_LIMIT,
    NO_VALUE,
    FieldLabels,
    answer_label,
    field_labels,
    is_joint,
)
from pytest_sopbench._core.model.task import MASK, Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue

HAZARD = OutputField(
    name="hazard_class",
    type=FieldType.ENUM,
    values=("Hazard Class A", "Hazard Class D"),
    aliases={"D": "Hazard Class D", "dee": "hazard class d"},
)


def field(type_: FieldType, **more: object) -> OutputField:
    return OutputField(name="field", type=type_, **more)  # type: ignore[arg-type]  # test sugar


@pytest.mark.parametrize(
    ("output", "value", "label"),
    [
        pytest.param(HAZARD, "hazard_class  a", "Hazard Class A", id="another spelling"),
        pytest.param(HAZARD, "d", "Hazard Class D", id="alias"),
        pytest.param(HAZARD, "DEE", "Hazard Class D", id="alias of another spelling"),
        pytest.param(HAZARD, "Something Else", "something else", id="unknown label is folded"),
        pytest.param(field(FieldType.ENUM, values=("7", "8.0")), 7.0, "7", id="float for a label"),
        pytest.param(field(FieldType.ENUM, values=("7", "8.0")), 8.0, "8.0", id="label of a float"),
        pytest.param(field(FieldType.ENUM, values=("A", "A-")), "a-", "A-", id="label with a sign"),
        pytest.param(field(FieldType.LIST), ["1.10", 1.1], "[1.1, 1.10]", id="texts and numbers"),
        pytest.param(HAZARD, " N/A ", NO_VALUE, id="explicit empty"),
        pytest.param(HAZARD, None, NO_VALUE, id="null"),
        pytest.param(field(FieldType.BOOLEAN), "Yes", "true", id="written true"),
        pytest.param(field(FieldType.BOOLEAN), "0", "false", id="written false"),
        pytest.param(field(FieldType.BOOLEAN), False, "false", id="false"),
        pytest.param(field(FieldType.BOOLEAN), True, "true", id="true"),
        pytest.param(field(FieldType.BOOLEAN), "maybe", "maybe", id="no boolean"),
        pytest.param(field(FieldType.NUMBER), "12.50", "12.5", id="written number"),
        pytest.param(field(FieldType.NUMBER), 12.5, "12.5", id="number"),
        pytest.param(field(FieldType.INTEGER), 3.0, "3", id="whole number"),
        pytest.param(field(FieldType.NUMBER), "Twelve  Fifty", "twelve fifty", id="no number"),
        pytest.param(field(FieldType.TEXT), "Two_Words", "two words", id="text is folded"),
        pytest.param(field(FieldType.LIST), ["b", 1], "[1, b]", id="list in any order"),
        pytest.param(field(FieldType.LIST), "['B', 1]", "[1, b]", id="written list"),
        pytest.param(field(FieldType.LIST, ordered=True), ["b", 1], "[b, 1]", id="ordered list"),
        pytest.param(field(FieldType.LIST), "none", NO_VALUE, id="no list"),
        pytest.param(field(FieldType.LIST), 7, "7", id="not a list"),
        pytest.param(field(FieldType.DATE), "2026-01-31", "2026-01-31", id="day"),
        pytest.param(field(FieldType.DATE), "2026-01-31T00:00Z", "2026-01-31", id="midnight"),
        pytest.param(
            field(FieldType.DATE), "2026-01-31T01:30:00+01:00", "2026-01-31T00:30:00", id="moment"
        ),
        pytest.param(field(FieldType.DATE), "Some Day", "some day", id="no date"),
        pytest.param(None, ["b", 1], '["b", 1]', id="list of an unknown field"),
        pytest.param(None, "Two  Words", "Two Words", id="unknown field keeps the spelling"),
        pytest.param(None, 2, "2", id="number of an unknown field"),
    ],
)
def test_a_value_is_counted_under(output: OutputField | None, value: JsonValue, label: str) -> None:
    assert label == FieldLabels(output).of(value)


@pytest.mark.parametrize(
    ("output", "counted"),
    [
        pytest.param(HAZARD, True, id="enum"),
        pytest.param(field(FieldType.BOOLEAN), True, id="boolean"),
        pytest.param(field(FieldType.TEXT), False, id="text"),
        pytest.param(field(FieldType.NUMBER), False, id="number"),
        pytest.param(None, True, id="unknown field"),
    ],
)
def test_fields_of_few_values_are_counted_by_label(
    output: OutputField | None, counted: bool
) -> None:
    assert counted is FieldLabels(output).counted


def test_fields_that_ask_for_no_certain_value_have_no_labels() -> None:
    fields = (
        HAZARD,
        OutputField(name="note", type=FieldType.TEXT, compare=Compare.PRESENT),
        OutputField(name="id", type=FieldType.TEXT, compare=Compare.IGNORE),
    )

    assert ["hazard_class"] == list(field_labels(fields))


@pytest.mark.parametrize(
    ("expected", "label"),
    [
        pytest.param({"a": "x", "b": "y"}, "x / y", id="joint"),
        pytest.param({"a": "x / y", "b": "z"}, '"x / y" / z', id="separator inside"),
        pytest.param({"a": "x"}, None, id="missing field"),
        pytest.param({"a": MASK, "b": "y"}, None, id="masked field"),
    ],
)
def test_an_answer_has_one_label(expected: dict[str, JsonValue], label: str | None) -> None:
    fields = {"a": FieldLabels(), "b": FieldLabels()}

    assert label == answer_label(expected, fields)


def test_an_answer_without_fields_has_no_label() -> None:
    assert answer_label({}, {}) is None


def test_long_answers_that_begin_alike_have_different_labels() -> None:
    fields = {"a": FieldLabels()}
    start = "x" * ANSWER_LIMIT

    one, other = (answer_label({"a": start + end}, fields) for end in "12")

    assert one is not None
    assert other is not None
    assert one != other
    assert one.startswith(start)
    assert len(one) < ANSWER_LIMIT + 20


@pytest.mark.parametrize("type_", list(FieldType))
@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("12.50", "12.5", id="numbers"),
        pytest.param("Yes", "true", id="booleans"),
        pytest.param("2026-01-31", "2026-01-31T00:00:00Z", id="dates"),
        pytest.param("Two_Words", "two  words", id="spellings"),
        pytest.param("", None, id="empties"),
        pytest.param("A", "B", id="different"),
        pytest.param("1", 1, id="number and text"),
    ],
)
def test_what_the_judge_holds_equal_has_one_label(
    type_: FieldType, one: JsonValue, other: JsonValue
) -> None:
    output = field(type_)
    labels = FieldLabels(output)

    same = value_key(output, one) == value_key(output, other)

    assert same is (labels.of(one) == labels.of(other))


def test_a_text_that_is_no_label_is_shown_as_it_was_given() -> None:
    labels = FieldLabels(OutputField(name="f", type=FieldType.ENUM, values=("Free", "Refuse")))

    assert ["Free", "89,50 EUR", "False"] == [
        labels.written(value) for value in ("FREE", "89,50  EUR", "False")
    ]


@pytest.mark.parametrize(
    ("label", "is_of_several"),
    [("a", False), ("a / b", True), ('"a / b"', False), ('"a / b" / "c / d"', True)],
)
def test_a_label_of_several_fields_can_be_told(label: str, is_of_several: bool) -> None:
    assert is_of_several is is_joint(label)
