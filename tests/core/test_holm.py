"""Holm's adjustment of several p, against values worked out by hand and its laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.statistics import holm

_PS = st.lists(st.floats(0, 1), max_size=8)


@pytest.mark.parametrize(
    ("ps", "adjusted"),
    [
        pytest.param([], [], id="none"),
        pytest.param([0.03], [0.03], id="one"),
        pytest.param([0.01, 0.04], [0.02, 0.04], id="two"),
        pytest.param([0.04, 0.01, 0.03], [0.06, 0.03, 0.06], id="none-below-one-before-it"),
        pytest.param([0.5, 0.6, 0.4], [1.0, 1.0, 1.0], id="none-above-1"),
    ],
)
def test_it_gives_what_a_hand_works_out(ps: list[float], adjusted: list[float]) -> None:
    assert adjusted == pytest.approx(holm(ps))


@given(_PS)
def test_it_never_makes_a_p_smaller_and_keeps_their_order(ps: list[float]) -> None:
    adjusted = holm(ps)

    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    ordered = sorted(zip(ps, adjusted, strict=True))
    assert [q for _, q in ordered] == sorted(adjusted)


@given(_PS)
def test_it_rejects_no_more_than_no_adjustment_and_no_less_than_bonferroni(
    ps: list[float],
) -> None:
    assert all(q <= min(1.0, len(ps) * p) + 1e-12 for p, q in zip(ps, holm(ps), strict=True))


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])
