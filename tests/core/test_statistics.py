"""Our intervals and tests against scipy's, which only tests may import."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import sqrt
from random import Random

import pytest
import scipy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.statistics import (
    EXACT_LIMIT,
    Agreement,
    _binomial,
    _resample,
    agreement_of,
    bootstrap,
    mcnemar,
    wilson,
)

CLOSE = {"rel": 1e-9, "abs": 1e-9}


@st.composite
def counts(draw: st.DrawFn, most: int = 5_000) -> tuple[int, int]:
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


@settings(max_examples=100, deadline=None)
@given(counts())
def test_wilson_agrees_with_scipy(pair: tuple[int, int]) -> None:
    successes, n = pair

    bounds = wilson(successes, n)

    expected = scipy.stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
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
    ("successes", "n"),
    [
        pytest.param(-1, 3, id="negative successes"),
        pytest.param(4, 3, id="more successes than runs"),
        pytest.param(0, -1, id="negative runs"),
    ],
)
def test_wilson_refuses(successes: int, n: int) -> None:
    with pytest.raises(ValueError, match="is no rate"):
        wilson(successes, n)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 1_500), st.integers(0, 1_500))
@example(0, 0)
@example(EXACT_LIMIT, 0)
@example(EXACT_LIMIT // 2, EXACT_LIMIT // 2 + 1)
@example(2_450, 2_550)
@example(2_600, 2_600)
def test_mcnemar_agrees_with_scipy(lost: int, gained: int) -> None:
    n = lost + gained

    expected = scipy.stats.binomtest(lost, n).pvalue if n else 1.0
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


# Agreement beyond chance, held against published numbers and against laws.

COUNTS = st.integers(min_value=0, max_value=400)
TABLES = st.builds(
    Agreement, both_yes=COUNTS, only_first=COUNTS, only_second=COUNTS, both_no=COUNTS
)


def test_kappa_is_that_of_a_table_reckoned_by_hand() -> None:
    """Of 50 cases 35 agree; by chance it is 0.5 * 0.6 + 0.5 * 0.4 = 0.5 of them."""
    table = Agreement(both_yes=20, only_first=5, only_second=10, both_no=15)

    assert (0.7, 0.5) == pytest.approx((table.rate, table.chance))
    assert 0.4 == pytest.approx(table.kappa)


def test_the_interval_is_wilson_s_of_the_rate_carried_over() -> None:
    """Wilson's 95 % bounds of 35 of 50 are 0.5625 and 0.8090."""
    table = Agreement(both_yes=20, only_first=5, only_second=10, both_no=15)

    assert (0.1249, 0.6179) == pytest.approx(table.interval, abs=1e-3)


def test_agreeing_on_all_of_few_cases_is_not_certain() -> None:
    table = Agreement(both_yes=25, both_no=25)

    assert 1.0 == table.kappa
    assert table.interval is not None
    assert table.interval[0] < 0.9
    assert 1.0 == pytest.approx(table.interval[1])


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(Agreement(), id="no-case"),
        pytest.param(Agreement(both_yes=60), id="all-right"),
        pytest.param(Agreement(both_no=60), id="all-wrong"),
    ],
)
def test_where_chance_explains_everything_there_is_no_kappa(table: Agreement) -> None:
    assert table.kappa is None
    assert table.interval is None


@given(TABLES)
def test_kappa_lies_within_its_interval_and_is_the_same_for_either_rater(table: Agreement) -> None:
    turned = Agreement(
        both_yes=table.both_yes,
        only_first=table.only_second,
        only_second=table.only_first,
        both_no=table.both_no,
    )

    assert turned.kappa == table.kappa
    if table.kappa is not None:
        assert table.interval is not None
        low, high = table.interval
        assert -1 - 1e-9 <= table.kappa <= 1 + 1e-9
        assert low - 1e-9 <= table.kappa <= high + 1e-9


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_every_pair_is_counted_once(pairs: list[tuple[bool, bool]]) -> None:
    table = agreement_of(pairs)

    assert len(pairs) == table.cases
    assert sum(one == other for one, other in pairs) == table.agreed


# The bootstrap over tasks: as wide as it is known to be, and always the same.


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
    theirs = scipy.stats.binom(n, p)
    edges = [-1, *sorted({int(theirs.ppf(share / 10)) for share in range(1, 10)}), n]

    numbers = [_binomial(n, p, random) for _ in range(drawn)]

    pairs = list(pairwise(edges))
    found = [sum(low < one <= high for one in numbers) for low, high in pairs]
    expected = [drawn * (theirs.cdf(high) - theirs.cdf(low)) for low, high in pairs]
    assert scipy.stats.chisquare(found, expected).pvalue > 0.001


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
