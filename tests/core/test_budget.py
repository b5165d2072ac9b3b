"""A budget: what may be spent, as it is written, and when it is spent."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.gates.budget import Budget, Spending, reaches_time, read_budget
from pytest_sopbench._core.verdict import Outcome

COSTS = st.lists(st.integers(0, 500).map(lambda cents: cents / 100), max_size=30)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], Budget(), id="none"),
        pytest.param(["5usd"], Budget(usd=5), id="dollars"),
        pytest.param(["0.50usd"], Budget(usd=0.5), id="cents"),
        pytest.param([".5usd"], Budget(usd=0.5), id="cents without a nought"),
        pytest.param(["90s"], Budget(seconds=90), id="seconds"),
        pytest.param(["14m"], Budget(seconds=840), id="minutes"),
        pytest.param(["1.5h"], Budget(seconds=5_400), id="hours"),
        pytest.param(["14m", "5usd"], Budget(usd=5, seconds=840), id="both"),
    ],
)
def test_a_budget_is_read(values: Sequence[str], expected: Budget) -> None:
    assert expected == read_budget(values)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        pytest.param(["5"], "5: money such as 5usd", id="no unit"),
        pytest.param(["5min"], "5min: money", id="an unknown unit"),
        pytest.param(["0usd"], "0usd: money", id="nothing"),
        pytest.param(["-5usd"], "-5usd: money", id="less than nothing"),
        pytest.param(["nanusd"], "nanusd: money", id="no number"),
        pytest.param([f"{'9' * 400}s"], "money such as", id="no end"),
        pytest.param([""], "money such as", id="empty"),
        pytest.param(["5usd", "6usd"], "6usd: the money is bounded already", id="money twice"),
        pytest.param(["90s", "14m"], "14m: the time is bounded already", id="time twice"),
    ],
)
def test_what_is_no_budget_is_refused(values: Sequence[str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_budget(values)


def test_a_budget_of_nothing_bounds_nothing() -> None:
    spending = Spending(usd=1e6)

    assert not Budget()
    assert not spending.reaches(Budget(), seconds=1e6)


@given(COSTS, st.integers(1, 5_000).map(lambda cents: cents / 100))
def test_money_is_spent_once_the_costs_add_up_to_it(costs: Sequence[float], usd: float) -> None:
    spending = Spending()
    for cost in costs:
        spending.add(Outcome.CORRECT, cost)

    cents = sum(round(100 * cost) for cost in costs)

    assert (cents >= round(100 * usd)) == spending.reaches(Budget(usd=usd), seconds=0)


def test_time_is_spent_when_it_is_over() -> None:
    assert not reaches_time(Budget(seconds=90), 89.9)
    assert reaches_time(Budget(seconds=90), 90.0)
    assert not reaches_time(Budget(usd=1), 1e6)


def test_an_agent_that_returns_without_a_cost_tells_none() -> None:
    spending = Spending()

    spending.add(Outcome.WRONG, None)

    assert spending.unpriced_first
    assert 1 == spending.unpriced


def test_nothing_more_starts_where_nobody_can_say_what_is_spent() -> None:
    spending = Spending(unpriced_first=True)

    assert spending.reaches_money(Budget(usd=5))
    assert not spending.reaches_money(Budget(seconds=5))


def test_a_run_that_was_cut_short_need_not_tell_its_cost() -> None:
    spending = Spending()

    for outcome in (Outcome.ERROR, Outcome.TIMEOUT, Outcome.UNAVAILABLE, Outcome.CRASH):
        spending.add(outcome, None)

    assert not spending.unpriced_first
    assert 4 == spending.unpriced


def test_one_cost_shows_that_the_agent_tells_them() -> None:
    spending = Spending()

    spending.add(Outcome.CORRECT, 0.0)
    spending.add(Outcome.CORRECT, None)

    assert not spending.unpriced_first
    assert (1, 1) == (spending.runs, spending.unpriced)
