"""Several tests at once: with twenty of them, one p below 0.05 is what chance gives."""

from __future__ import annotations

from collections.abc import Sequence


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
