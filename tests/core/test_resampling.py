"""The bootstrap over tasks: as wide as it is known to be, and always the same."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import sqrt
from random import Random

import pytest
from scipy.stats import binom, chisquare

from pytest_sopbench._core.statistics import _binomial, _resample, bootstrap


def rate(kinds: Mapping[bool, int]) -> tuple[float | None]:
    total = sum(kinds.values())
    return ((kinds.get(True, 0) / total) if total else None,)


@pytest.mark.parametrize(
    "tasks", [pytest.param(80, id="drawn one by one"), pytest.param(20_000, id="drawn by kinds")]
)
def test_the_interval_of_a_rate_is_as_wide_as_theory_has_it(tasks: int) -> None:
    (bounds,) = bootstrap({True: tasks * 3 // 4, False: tasks // 4}, rate)

    assert bounds is not None
    half = 1.96 * sqrt(0.75 * 0.25 / tasks)
    assert bounds == pytest.approx((0.75 - half, 0.75 + half), abs=0.15 * half + 0.5 / tasks)


@pytest.mark.parametrize(("n", "p"), [(7, 0.4), (200, 0.03), (1_000, 0.7)])
def test_binomial_numbers_are_distributed_as_such(n: int, p: float) -> None:
    random, drawn = Random(5), 4_000  # noqa: S311 - a simulation
    edges = [-1, *sorted({int(binom.ppf(share / 10, n, p)) for share in range(1, 10)}), n]

    numbers = [_binomial(n, p, random) for _ in range(drawn)]

    pairs = list(pairwise(edges))
    found = [sum(low < one <= high for one in numbers) for low, high in pairs]
    expected = [drawn * (binom.cdf(high, n, p) - binom.cdf(low, n, p)) for low, high in pairs]
    assert chisquare(found, expected).pvalue > 0.001


@pytest.mark.parametrize("each", [pytest.param(3, id="few"), pytest.param(5_000, id="many")])
def test_a_resample_has_as_many_tasks(each: int) -> None:
    table = dict.fromkeys("abc", each)
    random = Random(9)  # noqa: S311 - a simulation

    drawn = [_resample(table, random) for _ in range(30)]

    assert {3 * each} == {sum(one.values()) for one in drawn}
    assert all(number >= 0 for one in drawn for number in one.values())


def test_the_order_of_kinds_leaves_no_trace() -> None:
    kinds = {True: 30, False: 12}

    assert bootstrap(kinds, rate) == bootstrap(dict(reversed(kinds.items())), rate)


def test_a_rate_that_some_resample_lacks_has_no_interval() -> None:
    def of_the_rare(kinds: Mapping[bool, int]) -> tuple[float | None]:
        return (1.0 if kinds.get(True) else None,)

    assert bootstrap({True: 1, False: 9}, of_the_rare) == (None,)


def test_no_task_has_no_interval() -> None:
    assert bootstrap({}, rate) == ()
    assert bootstrap({True: 0}, rate) == ()
