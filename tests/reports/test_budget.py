"""What a budget has to say at the end."""

from __future__ import annotations

from pytest_sopbench._core.gates.budget import Budget, Spending
from pytest_sopbench._reports.notices import budget_lines

BOTH = Budget(usd=5, seconds=840)


def test_what_is_spent_stands_beside_what_may_be() -> None:
    lines = budget_lines(BOTH, Spending(usd=2.1, runs=9), seconds=181, not_started=0)

    assert ["budget $2.10 of $5.00 spent, 3 min of 14 min spent"] == [*lines]


def test_a_spent_budget_says_what_was_not_started() -> None:
    lines = budget_lines(Budget(usd=5), Spending(usd=5.02, runs=9), seconds=1, not_started=62)

    assert (
        "budget $5.02 of $5.00 spent, 62 runs were not started, since the money had been spent"
        == " ".join(line.strip() for line in lines)
    )


def test_both_can_be_spent() -> None:
    lines = budget_lines(BOTH, Spending(usd=6, runs=9), seconds=900, not_started=1)

    text = " ".join(line.strip() for line in lines)
    assert text.endswith("1 run was not started, since the money and the time had been spent")


def test_a_budget_that_is_left_is_not_blamed() -> None:
    lines = budget_lines(Budget(usd=5), Spending(usd=1, runs=2), seconds=1, not_started=3)

    assert ["budget $1.00 of $5.00 spent, 3 runs were not started"] == [*lines]


def test_runs_of_unknown_cost_are_told() -> None:
    spending = Spending(usd=1, runs=2, unpriced=3)

    lines = budget_lines(Budget(usd=5), spending, seconds=1, not_started=0)

    assert "$1.00 of $5.00 spent, beside what 3 runs cost that told nothing of it" in next(lines)


def test_without_a_budget_nothing_is_said() -> None:
    assert [] == [*budget_lines(Budget(), Spending(usd=1), seconds=1, not_started=0)]


def test_a_cost_that_nobody_knows_is_no_money_spent() -> None:
    spending = Spending(unpriced=1, unpriced_first=True)

    (*_, last) = budget_lines(Budget(usd=5), spending, seconds=1, not_started=3)

    assert last.endswith("since nobody could say what is spent")
