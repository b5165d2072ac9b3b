"""What a budget has to say at the end of a session."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.gates.budget import Budget, Spending, reaches_time
from pytest_sopbench._reports.text.layout import packed
from pytest_sopbench._reports.text.numbers import counted, minutes, money


def budget_lines(
    budget: Budget, spending: Spending, *, seconds: float, not_started: int
) -> Iterator[str]:
    """Yield what was spent of a budget, and what was not started for its sake.

    Args:
        budget: what may be spent; nothing is said where it bounds nothing.
        spending: what the runs have cost.
        seconds: how long the session took.
        not_started: runs that were planned, and never started.
    """
    parts: list[str] = []
    if budget.usd is not None:
        judge = f" ({money(spending.judge_usd)} of it by the judge)" if spending.judge_usd else ""
        parts.append(f"{money(spending.total_usd)} of {money(budget.usd)} spent{judge}")
        if spending.unpriced:
            runs = counted(spending.unpriced, "run")
            parts.append(f"beside what {runs} cost that told nothing of it")
    if budget.seconds is not None:
        parts.append(f"{minutes(seconds)} of {minutes(budget.seconds)} spent")
    reached = [
        word
        for word, is_reached in (
            ("money", spending.reaches_money(budget)),
            ("time", reaches_time(budget, seconds)),
        )
        if is_reached
    ]
    if not_started:
        runs = counted(not_started, "run was", "runs were")
        why = f", since the {' and the '.join(reached)} had been spent" if reached else ""
        unknown = spending.unpriced_first or spending.judge_usd is None
        if unknown and budget.usd is not None:
            why = ", since nobody could say what is spent"
        parts.append(f"{runs} not started{why}")
    if parts:
        yield from packed("budget", ", ".join(parts).split(), gap=" ", indent=7)
