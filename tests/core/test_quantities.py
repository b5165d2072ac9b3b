"""Numbers by value and moments by instant, as they are written."""

from __future__ import annotations

import decimal
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.values.text import (
    as_seconds,
    as_words,
    distance,
    is_json_number,
    read_moment,
    read_number,
)


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
