"""Intervals and tests, by the standard library alone: scipy costs half a second to import."""

from __future__ import annotations

from math import comb, exp, lgamma, log, sqrt
from statistics import NormalDist

EXACT_LIMIT = 2_000
"""Discordant pairs up to which binomials are exact integers; above, logarithms of gamma."""


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the bounds of the Wilson score interval of a rate, or `None` where n is 0.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    JASA 22 (1927), without continuity correction.

    Raises:
        ValueError: the counts are not 0 <= successes <= n, or the confidence is not in (0, 1).
    """
    if not 0 <= successes <= n:
        msg = f"{successes} successes of {n} is no rate"
        raise ValueError(msg)
    if not 0 < confidence < 1:
        msg = f"a confidence lies between 0 and 1, not at {confidence}"
        raise ValueError(msg)
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = successes / n
    centre = rate + z * z / (2 * n)
    spread = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The bounds of no and of all successes are 0 and 1, which rounding would miss by a hair.
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return low, high


def mcnemar(lost: int, gained: int) -> float:
    """Return the two-sided p of the exact McNemar test; 1.0 where no pair is discordant.

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
