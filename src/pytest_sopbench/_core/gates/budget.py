"""How much a session may spend, in money and in time, and how much of it is spent."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_sopbench._core.verdict import COMPLETED, Outcome

_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_RETURNED = COMPLETED | {Outcome.NO_ANSWER}
# Costs are added up in floats: 0.1 + 0.2 has to reach a budget of 0.3.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A bound in dollars, one in seconds, both or none; what is `None` is not bounded."""

    usd: float | None = None
    seconds: float | None = None

    def __bool__(self) -> bool:
        return self.usd is not None or self.seconds is not None


def read_budget(values: Sequence[str]) -> Budget:
    """Read `5usd`, `90s`, `14m` and `2h`: one in money and one in time at most.

    Raises:
        ValueError: a value is written otherwise, is not above 0, or bounds what another bounds.
    """
    usd: float | None = None
    seconds: float | None = None
    for value in values:
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(usd|s|m|h)", value)
        number = float(found[1]) if found else 0.0
        if found is None or not 0 < number < math.inf:
            msg = f"{value}: money such as 5usd or 0.50usd, or time such as 90s, 14m or 2h expected"
            raise ValueError(msg)
        if found[2] == "usd":
            usd = _once(usd, number, f"{value}: the money is bounded already, by {usd}usd")
        else:
            amount = number * _SECONDS[found[2]]
            seconds = _once(seconds, amount, f"{value}: the time is bounded already")
    return Budget(usd=usd, seconds=seconds)


def _once(known: float | None, amount: float, msg: str) -> float:
    if known is not None:
        raise ValueError(msg)
    return amount


@dataclass(slots=True, kw_only=True)
class Spending:
    """What a session has cost so far.

    `usd` is what its runs have cost, `judge_usd` what a model has that judges them, `None` if
    nobody knows. `runs` counts those that told a cost, `unpriced` those that did not. `telling` are
    the agents that told any.
    """

    usd: float = 0.0
    judge_usd: float | None = 0.0
    runs: int = 0
    unpriced: int = 0
    unpriced_first: bool = False
    telling: set[str] = field(default_factory=set[str])

    def add(self, outcome: Outcome, cost_usd: float | None, agent: str = "") -> None:
        """Count one run that was started.

        A run that returned and reported no cost, while no earlier one of its agent reported any,
        shows that the agent tells none at all: `unpriced_first` then. What was cut short may not
        have
        come to telling its cost.
        """
        if cost_usd is not None:
            self.usd += cost_usd
            self.runs += 1
            self.telling.add(agent)
            return
        self.unpriced += 1
        if agent not in self.telling and outcome in _RETURNED:
            self.unpriced_first = True

    @property
    def total_usd(self) -> float:
        """What is known to be spent."""
        return self.usd + (self.judge_usd or 0.0)

    def reaches(self, budget: Budget, seconds: float) -> bool:
        """Tell whether nothing more may start, `seconds` after the first run could."""
        return self.reaches_money(budget) or reaches_time(budget, seconds)

    def reaches_money(self, budget: Budget) -> bool:
        """Tell whether the money is spent, or whether nobody will ever know that it is."""
        if budget.usd is None:
            return False
        if self.unpriced_first or self.judge_usd is None:
            return True
        return self.total_usd + _TOLERANCE >= budget.usd


def reaches_time(budget: Budget, seconds: float) -> bool:
    """Tell whether the time is over."""
    return budget.seconds is not None and seconds >= budget.seconds
