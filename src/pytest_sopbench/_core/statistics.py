"""Intervals and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, comb, exp, gcd, lgamma, log, sqrt
from random import Random
from statistics import NormalDist
from typing import Final, TypeVar

# Intervals and tests, by the standard library alone: scipy costs half a second to import.

CONFIDENCE: Final = 0.95
"""How sure every interval is."""

EXACT_LIMIT = 2_000
"""Discordant pairs up to which binomials are exact integers; above, logarithms of gamma."""


def wilson(successes: int, n: int) -> tuple[float, float] | None:
    """Return the bounds of the Wilson 95 % score interval of a rate, or `None` if n is 0.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    JASA 22 (1927), without continuity correction.

    Raises:
        ValueError: the counts are not 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        msg = f"{successes} successes of {n} is no rate"
        raise ValueError(msg)
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    rate = successes / n
    centre = rate + z * z / (2 * n)
    spread = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The bounds of no and of all successes are 0 and 1, which rounding would miss by a hair.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return low, high


def mcnemar(lost: int, gained: int) -> float:
    """Return the two-sided p of the exact McNemar test; 1.0 if no pair is discordant.

    Under the null hypothesis each discordant pair is lost or gained with equal chance, so this
    is the exact binomial test of `lost` in `lost + gained` at 1/2.

    Raises:
        ValueError: a count is negative.
    """
    if lost < 0 or gained < 0:
        msg = f"counts are not negative: lost {lost}, gained {gained}"
        raise ValueError(msg)
    n = lost + gained
    fewer = min(lost, gained)
    if n <= EXACT_LIMIT:
        tail = sum(comb(n, k) for k in range(fewer + 1)) / (1 << n)
    else:
        tail = sum(exp(_log_binomial(n, k) - n * log(2)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)


def _log_binomial(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


# How far two raters agree on yes and no, beyond what chance gives them.


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
        """Cohen's kappa; `None` if chance alone explains everything, as with equal labels.

        Source: J. Cohen, A coefficient of agreement for nominal scales, Educational and
        Psychological Measurement 20 (1960).
        """
        return None if self.rate is None else self._beyond_chance(self.rate)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of kappa; `None` if kappa is.

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
    counts = Counter(pairs)
    return Agreement(
        both_yes=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        both_no=counts[False, False],
    )


# The bootstrap over tasks: how far a rate would move had other tasks been drawn.
#
# Tasks that came to the same are one kind, and a resample is a number of tasks for each kind. That
# is the ordinary bootstrap, drawn as a multinomial: its time grows with the kinds rather than with
# the tasks.

SEED: Final = 0
"""Of all that is drawn, so that the same counts have the same numbers."""

RESAMPLES = 2_000
"""Resamples of a bootstrap."""

Bounds = tuple[float, float]
"""The lower and the upper bound of an interval."""

_Kind = TypeVar("_Kind", bound=Hashable)
_TASKS_PER_KIND = 50
_FEW = 16


def bootstrap(
    kinds: Mapping[_Kind, int],
    rates: Callable[[Mapping[_Kind, int]], Sequence[float | None]],
) -> tuple[Bounds | None, ...]:
    """Return percentile intervals of rates; the same for the same counts.

    Source: B. Efron, R. Tibshirani, An introduction to the bootstrap (1993), chapter 13.

    Args:
        kinds: what tasks came to, to the number of tasks.
        rates: derives the rates, always equally many, from such a table, whose order is free.

    Returns:
        The bounds of each rate, `None` if some resample has nothing to divide. Empty without a
        task.
    """
    # By their text: the order in which runs arrived must leave no trace.
    table = {kind: kinds[kind] for kind in sorted(kinds, key=repr) if kinds[kind]}
    if not table:
        return ()
    random = Random(SEED)  # noqa: S311 - a resample hides nothing
    drawn = [rates(_resample(table, random)) for _ in range(RESAMPLES)]
    return tuple(_percentiles(column) for column in zip(*drawn, strict=True))


def _percentiles(values: Sequence[float | None]) -> Bounds | None:
    known = sorted(value for value in values if value is not None)
    if len(known) < len(values):
        return None
    outside = (1 - CONFIDENCE) / 2
    return known[int(outside * len(known))], known[ceil((1 - outside) * len(known)) - 1]


def _resample(table: Mapping[_Kind, int], random: Random) -> Mapping[_Kind, int]:
    tasks = sum(table.values())
    if tasks < _TASKS_PER_KIND * len(table):
        # Drawing task by task is the quicker way if there are few of each kind.
        return Counter(random.choices(list(table), weights=list(table.values()), k=tasks))
    drawn: dict[_Kind, int] = {}
    left, weight = tasks, tasks
    for kind, number in table.items():
        drawn[kind] = _binomial(left, number / weight, random) if number < weight else left
        left -= drawn[kind]
        weight -= number
    return drawn


def _binomial(n: int, p: float, random: Random) -> int:
    """Draw how many of n uniform numbers lie below p, by halving.

    Source: D. A. Relles, A simple algorithm for generating binomial random variables when n is
    large, JASA 67 (1972): the middle one of n uniform numbers has a beta distribution.
    """
    count = 0
    while n > _FEW:
        middle = 1 + n // 2
        value = random.betavariate(middle, n + 1 - middle)
        if value >= p:
            n, p = middle - 1, p / value
        else:
            count += middle
            n, p = n - middle, (p - value) / (1 - value)
    return count + sum(random.random() < p for _ in range(n))


# Several tests at once: with twenty of them, one p below 0.05 is what chance gives.


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Return adjusted p in the order given, so that each may be held against the same alpha.

    With m tests the smallest p is multiplied by m, the next one by m - 1, and so on; none is
    smaller than one before it, nor above 1. The chance that any true null hypothesis is rejected is
    then at most alpha, however the tests depend on one another.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal
    of Statistics 6 (1979) 65-70.

    Raises:
        ValueError: one is no probability.
    """
    if not all(0 <= p <= 1 for p in ps):
        msg = f"a probability lies between 0 and 1: {[*ps]}"
        raise ValueError(msg)
    adjusted = [1.0] * len(ps)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        least = adjusted[place] = max(least, min(1.0, (len(ps) - rank) * ps[place]))
    return tuple(adjusted)


# Is a difference between two sessions more than chance? Tests and intervals of paired tasks.

ALPHA = 0.05
"""The p below which a difference is called one."""

DRAWS = 99_999
"""Random signs that are drawn if their distribution is too long to be computed."""

_EXACT_STEPS = 1_000_000
_EXACT_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A two-sided p, and how it was found."""

    p: float
    source: str


def paired_test(differences: Sequence[int]) -> PairedTest:
    """Test whether tasks came to the same in both sessions.

    Under the null hypothesis each difference has either sign with equal chance, so p is the
    chance that random signs give a sum at least as far from 0. If each task is as good as
    another that is the exact McNemar test. The distribution is computed in full if it is
    short; else p = (1 + draws as far out) / (1 + draws).

    Sources: R. A. Fisher, The design of experiments (1935), section 21; B. Phipson, G. Smyth,
    Permutation p-values should never be zero (2010), for the one that is added.

    Args:
        differences: for each pair current minus baseline, in one unit for all of them.
    """
    unit = gcd(*differences)
    if not unit:
        return PairedTest(p=1.0, source="exact McNemar")
    sizes = Counter(abs(one) // unit for one in differences if one)
    total = abs(sum(differences)) // unit
    if set(sizes) == {1}:
        n = sizes[1]
        return PairedTest(p=mcnemar((n - total) // 2, (n + total) // 2), source="exact McNemar")
    if _is_short(sizes):
        return PairedTest(p=_exact(sizes, total), source="exact permutation")
    source = f"permutation, {DRAWS} draws, seed {SEED}"
    return PairedTest(p=_drawn(sizes, total), source=source)


def needed_for(alpha: float = ALPHA) -> int:
    """Return how many tasks must differ, all in one direction, before p can be below alpha.

    Raises:
        ValueError: alpha is not in (0, 1].
    """
    if not 0 < alpha <= 1:
        msg = f"a bound on p lies above 0 and not above 1, not at {alpha}"
        raise ValueError(msg)
    needed = 1
    # All of n signs are alike in 2 of 2**n cases.
    while 2 / 2**needed >= alpha:
        needed += 1
    return needed


def newcombe(both: int, lost: int, gained: int, neither: int) -> Bounds | None:
    """Return the 95 % interval of the change of a rate between paired tasks; `None` without any.

    Source: R. G. Newcombe, Improved confidence intervals for the difference between binomial
    proportions based on paired data, Statistics in Medicine 17 (1998) 2635-2650, method 10:
    Wilson's bounds of both rates, put together with their correlation.

    Args:
        both: tasks that count in both sessions.
        lost: tasks that count in the baseline only.
        gained: tasks that count in the current session only.
        neither: tasks that count in none.
    """
    n = both + lost + gained + neither
    before, after = wilson(both + lost, n), wilson(both + gained, n)
    if before is None or after is None:
        return None
    phi = _correlation(both, lost, gained, neither)
    old, new = (both + lost) / n, (both + gained) / n
    change = new - old
    down = _together(new - after[0], before[1] - old, phi)
    up = _together(after[1] - new, old - before[0], phi)
    return max(-1.0, change - down), min(1.0, change + up)


def _together(one: float, other: float, phi: float) -> float:
    # Rounding may leave a hair below 0 if both are the same and the correlation is 1.
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _correlation(both: int, lost: int, gained: int, neither: int) -> float:
    margins = (both + lost) * (gained + neither) * (both + gained) * (lost + neither)
    if not margins:
        return 0.0
    excess: float = both * neither - lost * gained
    if excess > 0:
        # Newcombe's continuity correction, of a positive correlation only.
        excess = max(0, excess - (both + lost + gained + neither) / 2)
    return excess / sqrt(margins)


def _is_short(sizes: Mapping[int, int]) -> bool:
    """Tell whether the sum's distribution takes few enough steps, and its terms fit a float."""
    steps, reach = 0, 0
    for size, number in sorted(sizes.items()):
        steps += (reach + 1) * (number + 1)
        reach += size * number
    return steps <= _EXACT_STEPS and sum(sizes.values()) <= _EXACT_TASKS


def _exact(sizes: Mapping[int, int], total: int) -> float:
    """Return the chance of a sum at least as far from 0 as `total`, over all signs.

    With m of the signs of one size being plus, its part of the sum is (2m - number) * size, and
    m is binomial; the parts are independent.
    """
    chances = {0: 1.0}
    for size, number in sorted(sizes.items()):
        parts = [
            ((2 * plus - number) * size, comb(number, plus) / 2**number)
            for plus in range(number + 1)
        ]
        sums: dict[int, float] = {}
        for before, chance in chances.items():
            for part, share in parts:
                sums[before + part] = sums.get(before + part, 0.0) + chance * share
        chances = sums
    return min(1.0, sum(chance for far, chance in chances.items() if abs(far) >= total))


def _drawn(sizes: Mapping[int, int], total: int) -> float:
    random = Random(SEED)  # noqa: S311 - a permutation hides nothing
    groups = sorted(sizes.items())
    as_far = 0
    for _ in range(DRAWS):
        # One bit is one sign.
        drawn = sum(
            (2 * random.getrandbits(number).bit_count() - number) * size for size, number in groups
        )
        as_far += abs(drawn) >= total
    return (1 + as_far) / (1 + DRAWS)
