"""How long runs take at best, if starting and ending them took no time."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence


def ideal(latencies: Sequence[float], in_flight: int) -> float:
    """Return when the last of these ends, each begun in turn on the place that is free first.

    Equal latencies come to `ceil(tasks / in_flight) * latency`.
    """
    free = [0.0] * in_flight
    for latency in latencies:
        heapq.heapreplace(free, free[0] + latency)
    return max(free)


def bound(latencies: Sequence[float], in_flight: int) -> float:
    """Return what no order of the runs could beat: all places busy, or the longest run alone."""
    return max(sum(latencies) / in_flight, *latencies)


def heavy_tail(runs: int) -> list[float]:
    """Draw latencies with a mean of about 0.3 s, a few of them near 3 s; the same each time."""
    draw = random.Random(0)  # noqa: S311 - no secret
    return [round(min(3.0, draw.lognormvariate(-1.9, 1.2)), 3) for _ in range(runs)]
