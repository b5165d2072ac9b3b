"""Our intervals and tests against scipy's, which only tests may import."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pytest_sopbench._core.statistics import EXACT_LIMIT, mcnemar, wilson

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def counts(draw: st.DrawFn, most: int = 5_000) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


@settings(max_examples=100, deadline=None)
@given(counts(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_wilson_agrees_with_scipy(pair: tuple[int, int], confidence: float) -> None:
    successes, n = pair

    bounds = wilson(successes, n, confidence)

    expected = binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert bounds == pytest.approx((expected.low, expected.high), **CLOSE)


@settings(max_examples=100)
@given(counts())
def test_wilson_holds_the_rate_between_zero_and_one(pair: tuple[int, int]) -> None:
    successes, n = pair

    bounds = wilson(successes, n)

    assert bounds is not None
    low, high = bounds
    assert 0 <= low <= successes / n <= high <= 1


def test_wilson_has_no_bounds_without_runs() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(
    ("successes", "n", "confidence"),
    [
        pytest.param(-1, 3, 0.95, id="negative successes"),
        pytest.param(4, 3, 0.95, id="more successes than runs"),
        pytest.param(0, -1, 0.95, id="negative runs"),
        pytest.param(1, 3, 1.0, id="certainty"),
        pytest.param(1, 3, 0.0, id="no confidence"),
    ],
)
def test_wilson_refuses(successes: int, n: int, confidence: float) -> None:
    with pytest.raises(ValueError, match=r"is no rate|lies between 0 and 1"):
        wilson(successes, n, confidence)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1_500), st.integers(0, 1_500))
@example(0, 0)
@example(EXACT_LIMIT, 0)
@example(EXACT_LIMIT // 2, EXACT_LIMIT // 2 + 1)
@example(2_450, 2_550)
@example(2_600, 2_600)
def test_mcnemar_agrees_with_scipy(lost: int, gained: int) -> None:
    n = lost + gained

    expected = binomtest(lost, n).pvalue if n else 1.0
    assert mcnemar(lost, gained) == pytest.approx(expected, **CLOSE)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_does_not_care_which_side_is_called_lost(lost: int, gained: int) -> None:
    assert mcnemar(lost, gained) == mcnemar(gained, lost)


def test_mcnemar_of_the_interface() -> None:
    """The figure that the interface shows: lost 2, gained 5, p = 0.45."""
    assert round(mcnemar(2, 5), 2) == 0.45


@pytest.mark.parametrize(
    ("lost", "gained"), [pytest.param(-1, 0, id="lost"), pytest.param(0, -1, id="gained")]
)
def test_mcnemar_refuses_negative_counts(lost: int, gained: int) -> None:
    with pytest.raises(ValueError, match="not negative"):
        mcnemar(lost, gained)
