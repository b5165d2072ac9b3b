"""Which spellings are one word, and which words say that there is no value."""

from __future__ import annotations

import decimal
import unicodedata
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_sopbench._core.values.text import (
    as_seconds,
    as_words,
    distance,
    fold,
    is_empty,
    is_json_number,
    normal_form,
    read_moment,
    read_number,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        pytest.param("Berth SEVEN", "berth seven", id="case"),
        pytest.param("  berth \t\n seven ", "berth seven", id="white-space"),
        pytest.param("berth_seven-b", "berth seven b", id="underscore-and-hyphen"),
        pytest.param("berth\u00a0seven", "berth seven", id="nbsp"),
        pytest.param("ber\u200bth\ufeff", "berth", id="zero-width"),
        pytest.param("berth\u2011seven", "berth seven", id="hyphen-that-does-not-break"),
        pytest.param("\uff22\uff25\uff32\uff34\uff28", "berth", id="full-width"),
        pytest.param("STRASSE", "strasse", id="capital-sharp-s"),
        pytest.param("Stra\u00dfe", "strasse", id="sharp-s"),
        pytest.param("\ufb01ne", "fine", id="ligature"),
        pytest.param("e\u0301", "\u00e9", id="composed"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_spellings_fold(text: str, folded: str) -> None:
    assert folded == fold(text)


ALIKE = [
    ("hazard_class-d", "Hazard Class D"),
    ("tier-2", "Tier 2"),
    ("2_nd", "2 nd"),
    ("10-20", "10 20"),
    ("10 - 20", "10-20"),
    ("10\u201320", "10-20"),
    ("2024-01-02", "2024\u201101\u201102"),
    ("North - Quay", "north_quay"),
    ("North \u2014 Quay", "North-Quay"),
    ("a--b", "a b"),
    ("a-_-b", "a b"),
    ("a-b-c", "a b c"),
    ("\u00c5-\u00e9", "\u00e5 \u00c9"),
    ("\u0915\u0940-\u090f", "\u0915\u0940 \u090f"),
    ("\u22127", "-7"),
    ("\u20137", "-7"),
    ("\uff0d7", "-7"),
    ("A\u2212", "a-"),
    ("A\u2013", "A-"),
    ("\uff37\uff4f\uff52\uff44\uff3f\uff11", "word 1"),
    ("\ufb01le", "file"),
    ("\u2160V", "iv"),
    ("\U0001d7d5", "7"),
    ("\u33cf", "kt"),
    ("\u1e9b", "\u1e61"),
    ("\u1112\u1161\u11ab", "\ud55c"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_these_are_one_word(one: str, other: str) -> None:
    assert fold(one) == fold(other)


APART = [
    ("-7", "7"),
    ("\u22127", "7"),
    ("- 7", "7"),
    ("-1200.50", "1200.50"),
    ("-20 C", "20 C"),
    ("-.5", ".5"),
    ("+7", "7"),
    ("+7", "-7"),
    ("-$7", "$7"),
    ("$-7", "$7"),
    ("(-7)", "(7)"),
    ("5 -3", "5 3"),
    ("temp - 7", "temp 7"),
    ("5 usd - 7 usd", "5 usd 7 usd"),
    ("-5--3", "-5-3-"),
    ("A-", "A"),
    ("A-", "A+"),
    ("A\u2013", "A"),
    ("O-", "O"),
    ("O- negative", "O negative"),
    ("AB-, B+", "AB, B+"),
    ("7-", "7"),
    ("7 -", "7"),
    ("-a", "a"),
    ("- x", "x"),
    ("-- x", "x"),
    ("_id", "id"),
    ("-", ""),
    ("--", "-"),
    ("B-12", "B12"),
    ("e-mail", "email"),
    ("10\u00b2", "102"),
    ("10\u00b2", "10^2"),
    ("m\u00b3", "m3"),
    ("\u33a1", "m2"),
    ("H\u2082O", "H2O"),
    ("10\u207b\u00b2", "10-2"),
    ("1\u00bd", "11/2"),
    ("\u00bd", "1\u20442"),
    ("\u2460", "1"),
    ("\u2468", "9"),
    ("\u24b6", "A"),
    ("1.10", "1.1"),
    ("007", "7"),
    ("1E5", "100000"),
    ("1,000", "1000"),
]


@pytest.mark.parametrize(("one", "other"), APART)
def test_these_are_two_words(one: str, other: str) -> None:
    assert fold(one) != fold(other)


WORDS = st.text(
    st.sampled_from("aZ7 _-\u2212\u2013+.\u00b2\u00bd\u2460\uff21\u00e9\u200b"), max_size=8
)


@given(WORDS)
def test_a_fold_of_a_fold_is_itself(text: str) -> None:
    assert fold(text) == fold(fold(text))


@given(WORDS, st.sampled_from("-\u2212\u2013\uff0d"), st.integers(0, 10**6))
def test_a_sign_that_stands_before_a_number_is_never_lost(
    before: str, sign: str, number: int
) -> None:
    # After a letter or a digit it is a hyphen: `tier-2`, `10-20`.
    words = f"{before} ("

    assert fold(f"{words}{sign}{number})") != fold(f"{words}{number})")
    assert fold(f"{sign}{number}") != fold(str(number))


@given(st.text(min_size=1), st.sampled_from("-\u2212"))
def test_a_trailing_sign_is_never_lost(text: str, sign: str) -> None:
    assert fold(f"{text}{sign}") != fold(text)


@given(st.text())
def test_all_else_of_the_normal_form_is_unicodes_own(text: str) -> None:
    assume(not any(map(_holds_a_kept_one, unicodedata.normalize("NFD", text))))

    assert unicodedata.normalize("NFKC", text) == normal_form(text)


def _holds_a_kept_one(character: str) -> bool:
    """Whether a superscript or the like is in what a character is made of."""
    tag, *codes = unicodedata.decomposition(character).split() or ("",)
    if tag in {"<super>", "<sub>", "<fraction>", "<circle>"}:
        return True
    return any(_holds_a_kept_one(chr(int(code, 16))) for code in codes)


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(text) == fold(fold(text))


@given(st.text(max_size=10))
def test_long_and_short_texts_fold_alike(text: str) -> None:
    assert fold(text) == fold(f"{text}{' ' * 300}")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null"),
        pytest.param("", id="empty-text"),
        pytest.param("  ", id="white-space"),
        pytest.param("None", id="none"),
        pytest.param("NULL", id="null-as-text"),
        pytest.param("n/a", id="not-applicable"),
    ],
)
def test_an_explicit_empty_is_known(value: str | None) -> None:
    assert is_empty(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("0", id="zero"),
        pytest.param(0, id="number-zero"),
        pytest.param(False, id="false"),
        pytest.param([], id="empty-list"),
        pytest.param("nan", id="nan"),
        pytest.param("unknown", id="unknown"),
    ],
)
def test_a_value_is_not_empty(value: object) -> None:
    assert not is_empty(value)  # type: ignore[arg-type]  # JSON values all


@pytest.mark.parametrize(
    "marks",
    [
        pytest.param("\u0301\u0327", id="above and below"),
        pytest.param("\u0301\uff9e", id="a mark in another width"),
        pytest.param("\u0f73\u0f75", id="marks made of marks"),
    ],
)
def test_very_many_marks_on_one_letter_are_folded(marks: str) -> None:
    text = f"e{marks * 20_000}"

    folded = fold(text)

    # A joiner ends each run, and makes it short enough to be sorted.
    assert max(map(len, folded.split("\u034f"))) <= 130
    assert folded == fold(folded)


def test_as_many_marks_as_a_script_has_stay_as_they_are() -> None:
    assert "\u034f" not in fold("e" + "\u0301\u0327" * 15)


# Numbers by value and moments by instant, as they are written.


@pytest.mark.parametrize(
    ("value", "number"),
    [
        pytest.param("12.50", "12.5", id="trailing-zero"),
        pytest.param(12.5, "12.5", id="float"),
        pytest.param(-3, "-3", id="integer"),
        pytest.param(" +7 ", "7", id="plus-and-space"),
        pytest.param("007", "7", id="leading-zeros"),
        pytest.param("1e3", "1000", id="exponent"),
        pytest.param(".5", "0.5", id="no-digit-before-the-point"),
        pytest.param("5.", "5", id="no-digit-after-the-point"),
        pytest.param("\u22125", "-5", id="minus-sign"),
        pytest.param("\uff15", "5", id="full-width"),
    ],
)
def test_a_number_is_read_by_value(value: str | float, number: str) -> None:
    assert Decimal(number) == read_number(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(True, id="boolean"),
        pytest.param(None, id="null"),
        pytest.param("1,000", id="thousands"),
        pytest.param("12 kg", id="unit"),
        pytest.param("$5", id="currency"),
        pytest.param("1_000", id="underscore"),
        pytest.param("nan", id="nan"),
        pytest.param("inf", id="infinity"),
        pytest.param("", id="nothing"),
        pytest.param("-", id="sign"),
        pytest.param("1" * 401, id="too-long"),
        pytest.param(10**400, id="too-large"),
        pytest.param("1e99999", id="exponent-too-long"),
        pytest.param([1], id="list"),
    ],
)
def test_what_is_no_number_is_not_read(value: object) -> None:
    assert read_number(value) is None  # type: ignore[arg-type]  # JSON values all


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_and_its_text_are_one_number(number: float) -> None:
    assert read_number(number) == read_number(repr(number))


def test_the_precision_of_the_thread_is_of_no_consequence() -> None:
    with decimal.localcontext(prec=1):
        assert Decimal("0.45") == distance(Decimal("100.45"), Decimal(100))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        pytest.param("0.4500", "0.45", id="zeros-at-the-end"),
        pytest.param("1000", "1000", id="no-exponent"),
        pytest.param("1E+30", "1E+30", id="large"),
        pytest.param("0", "0", id="zero"),
    ],
)
def test_a_number_is_said_as_short_as_it_can_be(number: str, words: str) -> None:
    assert words == as_words(Decimal(number))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("2026-01-31", "2026-01-31T00:00:00", id="a-day-is-its-midnight"),
        pytest.param("2026-01-31T08:00Z", "2026-01-31 09:00:00+01:00", id="offsets"),
        pytest.param("2026-01-31T08:00", "2026-01-31T08:00:00.000z", id="no-offset-is-utc"),
        pytest.param("2026-01-31T08:00+0130", " 2026-01-31T06:30Z ", id="offset-without-colon"),
    ],
)
def test_two_ways_to_write_one_moment(one: str, other: str) -> None:
    assert read_moment(one) is not None
    assert read_moment(one) == read_moment(other)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2026\u201105\u201101", id="hyphens-that-do-not-break"),
        pytest.param("2026\u201305\u201301", id="en-dashes"),
        pytest.param("\u200e2026-05-01\u200b", id="marks-that-nobody-sees"),
        pytest.param("\uff12\uff10\uff12\uff16-05-01", id="full-width"),
    ],
)
def test_a_date_is_read_however_its_hyphens_are_typed(value: str) -> None:
    assert read_moment("2026-05-01") == read_moment(value)


def test_a_mark_that_nobody_sees_is_no_part_of_a_number() -> None:
    assert read_number("-7.5") == read_number("\u200b\u22127.5\ufeff")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("2026-02-30", id="no-such-day"),
        pytest.param("31.01.2026", id="other-order"),
        pytest.param("20260131", id="no-hyphens"),
        pytest.param("2026-01-31T25:00", id="no-such-hour"),
        pytest.param(20260131, id="number"),
        pytest.param("soon", id="word"),
    ],
)
def test_what_is_no_iso_date_is_not_read(value: str | int) -> None:
    assert read_moment(value) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", True, id="zero"),
        pytest.param("-1.50e-3", True, id="all-parts"),
        pytest.param("007", False, id="leading-zeros"),
        pytest.param("+1", False, id="plus"),
        pytest.param(".5", False, id="no-whole-part"),
    ],
)
def test_json_numbers_have_no_leading_zeros(text: str, expected: bool) -> None:
    assert expected is is_json_number(text)


def test_seconds_are_said_with_their_unit() -> None:
    assert ("600 s", "0.5 s") == (as_seconds(600.0), as_seconds(0.52))
