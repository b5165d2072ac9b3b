"""Is a difference between two sessions more than chance? Tests and intervals of paired tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, gcd, sqrt
from random import Random

from .bootstrap import Bounds
from .intervals import mcnemar, wilson

ALPHA = 0.05
"""The p below which a difference is called one."""

DRAWS = 99_999
"""Random signs that are drawn where their distribution is too long to be computed."""

_EXACT_STEPS = 1_000_000
_EXACT_TASKS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """A two-sided p, and how it was found."""

    p: float
    source: str


def paired_test(differences: Sequence[int], *, seed: int = 0) -> PairedTest:
    """Test whether tasks came to the same in both sessions.

    Under the null hypothesis each difference has either sign with equal chance, so p is the
    chance that random signs give a sum at least as far from 0. Where each task is as good as
    another that is the exact McNemar test. The distribution is computed in full where it is
    short; else p = (1 + draws as far out) / (1 + draws).

    Sources: R. A. Fisher, The design of experiments (1935), section 21; B. Phipson, G. Smyth,
    Permutation p-values should never be zero (2010), for the one that is added.

    Args:
        differences: for each pair current minus baseline, in one unit for all of them.
        seed: of the random signs.
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
    source = f"permutation, {DRAWS} draws, seed {seed}"
    return PairedTest(p=_drawn(sizes, total, seed), source=source)


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
    # Rounding may leave a hair below 0 where both are the same and the correlation is 1.
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


def _drawn(sizes: Mapping[int, int], total: int, seed: int) -> float:
    random = Random(seed)  # noqa: S311 - a permutation hides nothing
    groups = sorted(sizes.items())
    as_far = 0
    for _ in range(DRAWS):
        # One bit is one sign.
        drawn = sum(
            (2 * random.getrandbits(number).bit_count() - number) * size for size, number in groups
        )
        as_far += abs(drawn) >= total
    return (1 + as_far) / (1 + DRAWS)
