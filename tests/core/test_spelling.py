"""Which spellings are one word, and which words say that there is no value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.spelling import fold, is_empty


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
