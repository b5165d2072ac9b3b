"""What is compared without code, and otherwise than by equal values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import OutputField
from tests.builders.judged import Compare, FieldType, JsonValue, compare, typed_value


def field(
    kind: Compare = Compare.EXACT, of: FieldType = FieldType.TEXT, **more: Any
) -> OutputField:
    return OutputField(name="f", type=of, compare=kind, **more)


def why(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    mismatch = compare(field, expected, actual)
    return mismatch.why if mismatch else ""


MATCHES, ONE_OF, ALL = (
    field(one) for one in (Compare.MATCHES, Compare.ONE_OF, Compare.CONTAINS_ALL)
)


@pytest.mark.parametrize(
    ("pattern", "actual"),
    [
        (r"R-\d{4}", "R-1234"),
        (r"R-\d{4}", "  R-1234\n"),
        ("(?i)paid on .*", "Paid on\nMonday"),
        (r"\d+", 7),
        ("a|b", "b"),
        ("(a+)+b", "a" * 50 + "b"),
    ],
)
def test_a_value_matches_a_whole_pattern(pattern: str, actual: JsonValue) -> None:
    assert "" == why(MATCHES, pattern, actual)


@pytest.mark.parametrize(
    ("pattern", "actual"),
    [
        (r"R-\d{4}", "see R-1234"),
        (r"R-\d{4}", "R-12345"),
        ("valid", "invalid"),
        (".*", None),
        ("", ""),
        ("(", "("),
        ("(a+)+b", "a" * 5000),
    ],
)
def test_a_part_of_a_value_matches_nothing(pattern: str, actual: JsonValue) -> None:
    assert "does not match the pattern" == why(MATCHES, pattern, actual)


def test_one_of_several_patterns_is_enough() -> None:
    cell = r'["refund \\d+", "(?i)no refund, .*"]'

    assert "" == why(ONE_OF, cell, "refund 12")
    assert "" == why(ONE_OF, "refund .*\nnothing, alas", "nothing, alas")
    assert "matches none of 2 patterns" == why(ONE_OF, cell, "a refund 12")
    assert "matches none of 0 patterns" == why(ONE_OF, "", "")


@pytest.mark.parametrize(
    "actual",
    [
        "We refund 10.50 to you, within five days.",
        "WITHIN  FIVE\ndays you get 10.50: refund",
        "refund: 10.50. (within five days)",
    ],
)
def test_a_text_has_every_phrase(actual: str) -> None:
    assert "" == why(ALL, '["refund", "10.50", "within five days"]', actual)


@pytest.mark.parametrize(
    ("phrase", "actual"),
    [
        ("valid", "It is invalid."),
        ("refundable", "This is non-refundable."),
        ("10", "We pay 10.50"),
        ("10", "We pay 1,10"),
        ("50", "We pay 10.50"),
        ("10", "We pay -10"),
        ("10", "We pay 100"),
        ("don", "I don't"),
        ("late", ""),
        ("late", None),
    ],
)
def test_a_part_of_a_word_or_number_is_no_phrase(phrase: str, actual: JsonValue) -> None:
    assert f"lacks {phrase!r}" == why(ALL, phrase, actual)


def test_a_text_says_which_phrases_it_lacks() -> None:
    said = why(ALL, ["a", "b", "c", "d", "e"], "only e")

    assert "lacks 'a', 'b', 'c' and 1 more" == said
    assert "nothing is asked for" == why(ALL, "", "anything")


@given(st.lists(st.text("abc 1.-", min_size=1).filter(str.strip), min_size=1, max_size=4))
def test_phrases_between_strokes_are_all_found(phrases: list[str]) -> None:
    assert "" == why(ALL, phrases, " | ".join(phrases))


EURO = field(of=FieldType.NUMBER, units=("€", "EUR"), grouping=".", decimal=",")
PERCENT = field(of=FieldType.NUMBER, units=("%", "percent"))
US = field(of=FieldType.NUMBER, units=("$", "US$"), grouping=",")
FRENCH = field(of=FieldType.NUMBER, grouping=" ", decimal=",")
SWISS = field(of=FieldType.NUMBER, units=("CHF",), grouping="'")


@pytest.mark.parametrize(
    ("one", "value", "spellings"),
    [
        (
            EURO,
            1234.5,
            ["1.234,50 €", "EUR 1.234,5", "1234,50", "€1.234,50", "1.234,50 eur", 1234.5],
        ),
        (EURO, -5, ["-5 €", "-€5", "\u22125,00 EUR", "EUR -5"]),
        (PERCENT, 12.5, ["12.5 %", "12.50%", "12.5 percent", "12.5"]),
        (US, 1234567, ["$1,234,567", "US$ 1,234,567.00", "1234567"]),
        (FRENCH, 1234.5, ["1 234,5", "1\u00a0234,50", "1\u202f234,5", "1234,5"]),
        (SWISS, 1234.5, ["CHF 1'234.50", "1\u2019234.5"]),
    ],
)
def test_a_number_is_read_with_its_unit_and_marks(
    one: OutputField, value: float, spellings: list[JsonValue]
) -> None:
    for spelling in spellings:
        assert "" == why(one, value, spelling), spelling
        assert "" == why(one, spelling, value), spelling


@pytest.mark.parametrize(
    ("one", "actual"),
    [
        (EURO, "1.5"),
        (EURO, "1.23,5"),
        (EURO, "12.34.567"),
        (EURO, "5 $"),
        (EURO, "€5 EUR"),
        (EURO, "--5"),
        (EURO, "-€-5"),
        (EURO, "about 5 €"),
        (PERCENT, "1,234 %"),
        (PERCENT, "%"),
        (US, "1,23"),
    ],
)
def test_what_is_written_otherwise_is_no_number(one: OutputField, actual: str) -> None:
    assert "not a number" == why(one, 5, actual)


def test_a_number_that_is_off_says_how_far() -> None:
    assert "number off by 0.5" == why(EURO, "1.234,50 €", "1.234 EUR")
    assert 1234.5 == typed_value(EURO, "1.234,50 €")


@given(st.decimals(-(10**9), 10**9, places=2, allow_nan=False))
def test_every_grouped_number_is_read_by_value(number: Any) -> None:
    english = f"{number:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))

    assert "" == why(US, float(number), f"$ {english}".replace("$ -", "-$ "))
    assert "" == why(EURO, float(number), f"{german} €")


DAY = field(of=FieldType.DATE, formats=("%d.%m.%Y", "%d %B %Y", "%m/%d/%Y", "%d/%m/%Y"))


@pytest.mark.parametrize(
    "spelling", ["2026-05-01", "01.05.2026", "1.5.2026", "1 May 2026", "2026-05-01T00:00:00Z"]
)
def test_a_date_is_read_in_its_formats(spelling: str) -> None:
    assert "" == why(DAY, "2026-05-01", spelling)


@pytest.mark.parametrize("spelling", ["05/01/2026", "01/05/2026", "May 1", "31.02.2026", "x" * 200])
def test_a_date_that_reads_as_two_days_or_none_is_no_date(spelling: str) -> None:
    assert "not an ISO date" == why(DAY, "2026-05-01", spelling)


def test_a_date_that_fits_two_formats_and_is_one_day_is_read() -> None:
    assert "" == why(DAY, "2026-05-05", "05/05/2026")


LINES = field(of=FieldType.LIST, key="sku")
ORDERED = field(of=FieldType.LIST, key="sku", ordered=True)
WANTED = '[{"sku": "A1", "price": 5}, {"sku": "B2", "price": 7}]'


@pytest.mark.parametrize(
    ("actual", "said"),
    [
        ([{"sku": "B2", "price": 7.0}, {"SKU": "a1", "price": "5", "note": "x"}], ""),
        ([{"sku": "A1", "price": 6}, {"sku": "B2", "price": 7}], "A1 has another price"),
        ([{"sku": "A1"}, {"sku": "B2", "price": 7}], "A1 lacks price"),
        (["A1", "B2"], "A1 lacks price; B2 lacks price"),
        ([{"sku": "A1", "price": 5}], "lacks B2"),
        ('[{"sku": "A1", "price": 5}, {"price": 7}]', "an item has no 'sku'; lacks B2"),
        (
            [*({"sku": one, "price": 5} for one in ["A1", "C3", "D4", "E5", "F6"])],
            "lacks B2; has C3, which is not expected; has D4, which is not expected; and 2 more",
        ),
        (
            [{"sku": "A1", "price": 9}, {"sku": "A1", "price": 5}, {"sku": "B2", "price": 7}],
            "has an item twice",
        ),
        ("", "lacks A1; lacks B2"),
        (7, "not a list"),
    ],
)
def test_items_are_compared_with_those_of_the_same_key(actual: JsonValue, said: str) -> None:
    assert said == why(LINES, WANTED, actual)


def test_items_may_be_nothing_but_keys() -> None:
    assert "" == why(LINES, "A1, B2", [{"sku": "b2", "price": 1}, {"sku": "A1"}])
    assert "near: order" == why(ORDERED, "A1, B2", ["B2", "A1"])
    assert "" == why(LINES, "[]", None)


@given(st.lists(st.integers(0, 99), unique=True), st.randoms())
def test_the_order_of_items_does_not_count(keys: list[int], random: Any) -> None:
    items: list[JsonValue] = [{"sku": key, "price": key} for key in keys]
    other = random.sample(items, len(items))

    assert "" == why(LINES, items, other)


def test_a_private_field_tells_nothing() -> None:
    private = field(Compare.CONTAINS_ALL, private=True)

    assert "different" == why(private, ["secret"], "no")


# A field that holds a JSON document is compared by its paths.

CELL = '{"to": "Vela", "note": "by hand", "berths": [{"no": 3, "tags": ["a", "b"]}, {"no": 4}]}'


def why_not(expected: JsonValue, actual: JsonValue, **more: Any) -> str:
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
    assert "" == why_not(CELL, actual)
    assert "" == why_not(json.loads(CELL), actual)


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
    found = why_not(CELL, actual)

    assert found == said if said else found.startswith("berths: missing")


def test_three_paths_are_told_and_the_rest_is_counted() -> None:
    found = why_not({"a": 1, "b": [1], "c": {"d": 1}, "e": 1, "f": 1}, {"a": 2, "b": [2], "c": {}})

    assert "a: number off by 1; b: missing 1; unexpected 2; c.d: missing; and 2 more" == found


def test_an_ignored_path_is_passed_over_at_every_depth() -> None:
    other = changed(note="by mail", berths=[{"no": 3, "tags": []}, {"no": 4, "note": "x"}])

    assert "" == why_not(CELL, other, ignored_paths=("note", "berths.tags"))
    assert "" != why_not(CELL, other, ignored_paths=("note",))


def test_the_order_of_a_list_counts_where_it_is_said() -> None:
    turned = changed(berths=[{"no": 3, "tags": ["b", "a"]}, {"no": 4}])

    assert "" == why_not(CELL, turned, ordered_paths=("berths",))
    assert "berths[0].tags[0]: different" in why_not(CELL, turned, ordered_paths=("berths", "tags"))
    assert "[0]: number off by 1; [1]: number off by 1" == why_not([1, 2], "[2, 1]", ordered=True)
    assert "" == why_not([1, 2], "[2, 1]")


def test_an_expected_cell_that_is_no_document_fits_nothing() -> None:
    assert "the expected cell is empty" == why_not("", "{}")
    assert why_not("soon", "soon").startswith("the expected cell is not JSON")


def test_a_private_document_tells_nothing() -> None:
    assert "different" == why_not(CELL, changed(to="Nave"), private=True)


def test_what_is_told_of_a_path_is_bounded() -> None:
    assert 160 >= len(why_not({}, {"k" * 1000: 1}))


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

    held = why_not(json.dumps(expected), json.dumps(other))
    other["at"]["number"] = 2
    lost = why_not(expected, other)

    assert ("", "at.number: number off by 1") == (held, lost)
