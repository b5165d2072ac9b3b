"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._reports import text as numbers


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        pytest.param(None, "n/a", id="nothing to divide"),
        pytest.param(0.0, "0.0%", id="none"),
        pytest.param(1.0, "100.0%", id="all"),
        pytest.param(258 / 274, "94.2%", id="of the interface"),
        pytest.param(2410 / 2411, "99.9%", id="nearly all is not all"),
        pytest.param(1 / 9999, "0.1%", id="nearly none is not none"),
    ],
)
def test_a_rate_reads(rate: float | None, text: str) -> None:
    assert text == numbers.as_percent(rate)


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_only_all_reads_as_all_and_only_none_as_none(part: int, n: int) -> None:
    part = min(part, n)

    text = numbers.as_percent(part / n)

    assert (text == "100.0%") is (part == n)
    assert (text == "0.0%") is (part == 0)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        pytest.param(None, "", id="no bounds"),
        pytest.param((0.9071, 0.9641), "[90.7, 96.4]", id="of the interface"),
        pytest.param((0.98, 1.0), "[98.0, 100.0]", id="up to all"),
    ],
)
def test_an_interval_reads(bounds: tuple[float, float] | None, text: str) -> None:
    assert text == numbers.interval(bounds)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0.0, "<1 ms", id="nothing"),
        pytest.param(0.2309, "230 ms", id="milliseconds"),
        pytest.param(0.9999, "999 ms", id="nearly a second"),
        pytest.param(1.39, "1.3 s", id="seconds"),
        pytest.param(59.99, "59.9 s", id="nearly a minute"),
        pytest.param(125.9, "2 min 5 s", id="minutes"),
    ],
)
def test_a_duration_reads(duration: float | None, text: str) -> None:
    assert text == numbers.seconds(duration)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0, "0", id="none"),
        pytest.param(5, "5", id="a count"),
        pytest.param(5.0, "5", id="a mean that is whole"),
        pytest.param(4.04, "4.0", id="calls"),
        pytest.param(812.4, "812", id="hundreds"),
        pytest.param(5_234, "5.2k", id="thousands"),
    ],
)
def test_an_amount_reads(number: float | None, text: str) -> None:
    assert text == numbers.amount(number)


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0.0, "$0.00", id="free"),
        pytest.param(29.655, "$29.66", id="dollars"),
        pytest.param(0.25, "$0.25", id="cents"),
        pytest.param(0.0123, "$0.012", id="less than two cents"),
        pytest.param(0.0000031, "$0.0000031", id="next to nothing"),
        pytest.param(1e-12, "$0.000000000", id="less than anything has a price"),
    ],
)
def test_money_reads(dollars: float | None, text: str) -> None:
    assert text == numbers.money(dollars)


def test_counted_things_are_one_or_many() -> None:
    assert numbers.counted(1, "task") == "1 task"
    assert numbers.counted(0, "task") == "0 tasks"
    assert numbers.counted(2, "miss", "misses") == "2 misses"
