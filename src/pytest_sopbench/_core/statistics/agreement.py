"""How far two raters agree on yes and no, beyond what chance gives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .intervals import wilson


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Counts of what two raters said of the same cases.

    Attributes:
        both_yes: cases that both called right.
        only_first: cases that the first rater alone called right.
        only_second: cases that the second rater alone called right.
        both_no: cases that both called wrong.
    """

    both_yes: int = 0
    only_first: int = 0
    only_second: int = 0
    both_no: int = 0

    @property
    def cases(self) -> int:
        return self.both_yes + self.only_first + self.only_second + self.both_no

    @property
    def agreed(self) -> int:
        return self.both_yes + self.both_no

    @property
    def rate(self) -> float | None:
        """The share of cases on which both agree; `None` without a case."""
        return self.agreed / self.cases if self.cases else None

    @property
    def chance(self) -> float | None:
        """The rate at which raters with the same shares of yes would agree by chance."""
        if not self.cases:
            return None
        first = (self.both_yes + self.only_first) / self.cases
        second = (self.both_yes + self.only_second) / self.cases
        return first * second + (1 - first) * (1 - second)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; `None` where chance alone explains everything, as with equal labels.

        Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and
        Psychological Measurement 20 (1960).
        """
        return None if self.rate is None else self._beyond_chance(self.rate)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of kappa; `None` where kappa is.

        As in Cohen's paper the agreement by chance is taken as fixed, so a bound of kappa follows
        from a bound of the rate. That bound is Wilson's: with Cohen's own, as with the variance of
        Fleiss, Cohen and Everitt (1969), a judge that agreed on all of 50 cases would be certain.
        """
        bounds = wilson(self.agreed, self.cases)
        if bounds is None:
            return None
        low, high = (self._beyond_chance(one) for one in bounds)
        return None if low is None or high is None else (low, high)

    def _beyond_chance(self, rate: float) -> float | None:
        chance = self.chance
        if chance is None or chance >= 1:
            return None
        return (rate - chance) / (1 - chance)


def agreement_of(pairs: Iterable[tuple[bool, bool]]) -> Agreement:
    """Count what the first and the second rater said of each case."""
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for pair in pairs:
        counts[pair] += 1
    return Agreement(
        both_yes=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        both_no=counts[False, False],
    )
