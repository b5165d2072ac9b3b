"""How many runs may be in flight: a number that stays, or one that learns from the provider.

The adaptive limit is additive increase, multiplicative decrease, as congestion control has it
(RFC 5681), and as Inspect AI limits its connections. It first grows by one with each run that ends
well, which doubles it in every round, and from the first throttling on by one in every round. A
limit that is not used up does not grow, as nothing was learned about more. Throttling cuts it to
seven tenths (the factor of CUBIC, RFC 9438), once per round: only a run that began after the last
cut can tell anything of the limit since then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Final

START: Final = 20
"""Runs in flight with which an adaptive limit starts."""

HIGHEST: Final = 200
"""Runs in flight that an adaptive limit never exceeds, unless told."""

CUT: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The number of runs that may be in flight; a value, so that every change is a new one.

    Times are seconds of one clock. Made with `Limit.fixed` or `Limit.adaptive`.
    """

    lowest: int
    highest: int
    level: float
    probing: bool = True
    cut_at: float = -inf
    paused_until: float = -inf

    @classmethod
    def fixed(cls, count: int) -> Limit:
        """Return a limit that nothing changes.

        Raises:
            ValueError: fewer than one run could never start.
        """
        return cls.adaptive(start=count, highest=count, lowest=count)

    @classmethod
    def adaptive(cls, *, start: int = START, highest: int = HIGHEST, lowest: int = 1) -> Limit:
        """Return a limit between two bounds; a start beyond them is moved to the nearer one.

        Raises:
            ValueError: the bounds are below one, or the wrong way round.
        """
        if not 1 <= lowest <= highest:
            msg = f"a limit of runs in flight from {lowest} to {highest}: start no lower than 1"
            raise ValueError(msg)
        return cls(lowest=lowest, highest=highest, level=min(max(start, lowest), highest))

    @property
    def adapts(self) -> bool:
        return self.lowest < self.highest

    @property
    def count(self) -> int:
        """How many runs may be in flight, were there no pause."""
        return int(self.level)

    def room(self, in_flight: int, now: float) -> int:
        """Return how many more runs may start at this moment."""
        return 0 if now < self.paused_until else max(0, self.count - in_flight)

    def ended_well(self, in_flight: int) -> Limit:
        """Learn that a run ended well, with so many in flight, itself among them."""
        if in_flight < self.count or not self.adapts:
            return self
        step = 1.0 if self.probing else 1.0 / self.level
        return replace(self, level=min(float(self.highest), self.level + step))

    def throttled(
        self, in_flight: int, *, began: float, now: float, retry_after: float | None = None
    ) -> Limit:
        """Learn that the provider turned a run away.

        Args:
            in_flight: how many runs were in flight, itself among them.
            began: when the run began.
            now: when it ended.
            retry_after: the seconds for which the provider asks to be left alone, if it said so.
        """
        if not self.adapts:
            return self
        paused = max(self.paused_until, now + (retry_after or 0.0))
        if began < self.cut_at:
            return replace(self, paused_until=paused)
        level = max(float(self.lowest), min(self.level, float(in_flight)) * CUT)
        return replace(self, level=level, probing=False, cut_at=now, paused_until=paused)
