"""The bootstrap over tasks: how far a rate would move had other tasks been drawn.

Tasks that came to the same are one kind, and a resample is a number of tasks for each kind. That
is the ordinary bootstrap, drawn as a multinomial: its time grows with the kinds rather than with
the tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import ceil
from random import Random
from typing import TypeVar

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
    *,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[Bounds | None, ...]:
    """Return percentile intervals of rates; the same for the same counts and seed.

    Source: B. Efron, R. Tibshirani, An introduction to the bootstrap (1993), chapter 13.

    Args:
        kinds: what tasks came to, to the number of tasks.
        rates: derives the rates, always equally many, from such a table, whose order is free.
        seed: of the resamples.
        confidence: the share of resamples within the bounds.

    Returns:
        The bounds of each rate, `None` where some resample has nothing to divide. Empty without a
        task.
    """
    # By their text: the order in which runs arrived must leave no trace.
    table = {kind: kinds[kind] for kind in sorted(kinds, key=repr) if kinds[kind]}
    if not table:
        return ()
    random = Random(seed)  # noqa: S311 - a resample hides nothing
    drawn = [rates(_resample(table, random)) for _ in range(RESAMPLES)]
    return tuple(_percentiles(column, confidence) for column in zip(*drawn, strict=True))


def _percentiles(values: Sequence[float | None], confidence: float) -> Bounds | None:
    known = sorted(value for value in values if value is not None)
    if len(known) < len(values):
        return None
    outside = (1 - confidence) / 2
    return known[int(outside * len(known))], known[ceil((1 - outside) * len(known)) - 1]


def _resample(table: Mapping[_Kind, int], random: Random) -> Mapping[_Kind, int]:
    tasks = sum(table.values())
    if tasks < _TASKS_PER_KIND * len(table):
        # Drawing task by task is the quicker way where there are few of each kind.
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
