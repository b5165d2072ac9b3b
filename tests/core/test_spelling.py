"""Which spellings are one word, and which words say that there is no value."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_sopbench._core.values.text import fold, is_empty, normal_form


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
