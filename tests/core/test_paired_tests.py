"""Tests and intervals of paired tasks, against scipy, brute force and simulation."""

from __future__ import annotations

from itertools import product
from math import sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from pytest_sopbench._core import statistics as paired_tests
from pytest_sopbench._core.statistics import needed_for, newcombe, paired_test, wilson

CLOSE = {"rel": 1e-9, "abs": 1e-9}
DIFFERENCES = st.lists(st.integers(-5, 5), min_size=1, max_size=9)


def brute_force(differences: list[int]) -> float:
    signed = [
        sum(sign * one for sign, one in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return sum(abs(one) >= abs(sum(differences)) for one in signed) / len(signed)


@settings(max_examples=80, deadline=None)
@given(DIFFERENCES)
def test_p_is_the_share_of_all_signs_that_lead_as_far(differences: list[int]) -> None:
    assert brute_force(differences) == pytest.approx(paired_test(differences).p, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(DIFFERENCES.filter(any).map(lambda drawn: [*drawn, 0]))
def test_p_agrees_with_scipy(differences: list[int]) -> None:
    def total(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        return np.sum(one - other, axis=axis)

    expected = permutation_test(
        (np.array(differences), np.zeros(len(differences), dtype=int)),
        total,
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )

    assert expected.pvalue == pytest.approx(paired_test(differences).p, **CLOSE)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 700), st.integers(0, 700), st.integers(1, 6))
def test_of_one_trial_it_is_the_exact_mcnemar_test(lost: int, gained: int, unit: int) -> None:
    found = paired_test([-unit] * lost + [unit] * gained + [0] * 9)

    expected = binomtest(lost, lost + gained).pvalue if lost + gained else 1.0
    assert expected == pytest.approx(found.p, **CLOSE)
    assert "exact McNemar" == found.source


@given(DIFFERENCES)
def test_it_does_not_matter_which_session_came_first(differences: list[int]) -> None:
    turned = [-one for one in differences]

    assert paired_test(differences) == paired_test(turned)
    assert paired_test(differences) == paired_test(differences[::-1])


def test_a_long_list_is_drawn_and_comes_close_to_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(3)  # noqa: S311 - a simulation
    differences = [random.choice([-2, -1, -1, 0, 1, 1]) for _ in range(300)]
    whole = paired_test(differences)
    monkeypatch.setattr(paired_tests, "_EXACT_STEPS", 0)

    drawn = paired_test(differences)

    assert "exact permutation" == whole.source
    assert "permutation, 99999 draws, seed 0" == drawn.source
    spread = sqrt(whole.p * (1 - whole.p) / paired_tests.DRAWS)
    assert drawn.p == pytest.approx(whole.p, abs=4 * spread)
    assert drawn == paired_test(differences)


def test_a_p_that_was_drawn_is_never_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_tests, "_EXACT_STEPS", 0)

    assert paired_test([-2] * 100 + [-1] * 100).p == 1e-5


def test_thousands_of_tasks_are_drawn() -> None:
    """A float has no room for 2**-1100, so the whole distribution would come out as 0."""
    found = paired_test([-1, 1] * 4_000 + [2, -2] * 500)

    assert "permutation, 99999 draws, seed 0" == found.source
    assert found.p == 1.0
    assert paired_test([-1] * 1_500 + [-2]).p == 1e-5


def test_nothing_that_differs_is_no_difference() -> None:
    assert paired_test([0, 0]).p == paired_test([]).p == 1.0


@pytest.mark.parametrize(
    ("alpha", "needed"),
    [
        pytest.param(0.05, 6, id="usual"),
        pytest.param(0.01, 8, id="strict"),
        pytest.param(0.5, 3, id="at the very bound, which is not below it"),
        pytest.param(1.0, 2, id="anything"),
    ],
)
def test_so_many_tasks_must_differ(alpha: float, needed: int) -> None:
    assert needed == needed_for(alpha)
    assert paired_test([-1] * needed).p < alpha <= paired_test([-1] * (needed - 1)).p


@pytest.mark.parametrize("alpha", [0.0, -1.0, 1.5])
def test_a_bound_that_no_p_has_is_refused(alpha: float) -> None:
    with pytest.raises(ValueError, match="a bound on p"):
        needed_for(alpha)


COUNTS = st.tuples(*[st.integers(0, 60)] * 4).filter(any)


@settings(max_examples=80)
@given(COUNTS)
def test_the_interval_holds_the_change(counts: tuple[int, int, int, int]) -> None:
    _, lost, gained, _ = counts
    bounds = newcombe(*counts)

    assert bounds is not None
    assert -1 <= bounds[0] <= (gained - lost) / sum(counts) + 1e-12
    assert (gained - lost) / sum(counts) - 1e-12 <= bounds[1] <= 1


@settings(max_examples=80)
@given(COUNTS)
def test_the_interval_is_turned_where_the_sessions_are(counts: tuple[int, int, int, int]) -> None:
    both, lost, gained, neither = counts
    one, other = newcombe(both, lost, gained, neither), newcombe(both, gained, lost, neither)

    assert one is not None
    assert other is not None
    assert one == pytest.approx((-other[1], -other[0]))


def test_sessions_that_have_nothing_in_common_are_as_two_samples() -> None:
    """Without correlation the formula is Newcombe's for independent rates, of Wilson's bounds."""
    found = newcombe(0, 20, 0, 0)

    low, _ = wilson(20, 20) or (0, 0)
    _, high = wilson(0, 20) or (0, 0)
    assert found == pytest.approx((-1.0, -1 + sqrt((1 - low) ** 2 + high**2)))


@pytest.mark.parametrize(
    ("before", "both"), [pytest.param(0.9, 0.85, id="alike"), pytest.param(0.6, 0.4, id="unlike")]
)
def test_the_interval_holds_the_truth_in_about_95_of_100(before: float, both: float) -> None:
    random, tasks, sessions = Random(7), 120, 800  # noqa: S311 - a simulation
    gained = 0.3 * (1 - before)
    kinds = [both, before - both, gained, 1 - before - gained]
    truth = kinds[2] - kinds[1]
    held = 0

    for _ in range(sessions):
        drawn = random.choices(range(4), kinds, k=tasks)
        low, high = newcombe(*(drawn.count(kind) for kind in range(4))) or (0, 0)
        held += low <= truth <= high

    assert 0.93 <= held / sessions <= 0.985


def test_no_task_has_no_interval() -> None:
    assert newcombe(0, 0, 0, 0) is None
