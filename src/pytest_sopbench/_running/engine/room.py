"""The room that there is for runs, which changes with what becomes of them."""

from __future__ import annotations

from math import inf

from pytest_sopbench._running.threads.clock import Clock

from .adaptive import Limit
from .attempt import Attempt


class Room:
    """Holds the limit of runs in flight; not safe by itself, the engine's lock guards it."""

    def __init__(self, limit: Limit, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._resumes_at = -inf

    @property
    def count(self) -> int:
        return self._limit.count

    def is_there(self, in_flight: int) -> bool:
        """Tell whether one more run may start beside those that are in flight."""
        return self._limit.room(in_flight, self._clock()) > 0

    def pause(self) -> float | None:
        """Return when runs may start again; once for each pause that the provider asked for."""
        until = self._limit.paused_until
        if not self._clock() < until > self._resumes_at:
            return None
        self._resumes_at = until
        return until

    def learn(self, made: Attempt, *, began: float, in_flight: int) -> None:
        """Adapt the limit to what became of a run, itself among those in flight."""
        if made.unavailable:
            self._limit = self._limit.throttled(
                in_flight, began=began, now=self._clock(), retry_after=made.retry_after
            )
        elif made.ended_well:
            self._limit = self._limit.ended_well(in_flight)
