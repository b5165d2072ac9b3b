"""The seconds that somebody may take, less those in which the process stood still.

Native code that holds the interpreter's lock keeps a comparison from its end as it keeps a run. So
one waits in short steps, and a step that comes back far too late counts as long as it was to be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

STEP: Final = 0.5
"""Seconds of one step at most."""

LATE: Final = 1.0
"""Seconds by which a step is late at least where the process stood still."""

# Taken at import: an agent may put another clock into its place.
_clock = time.perf_counter


class Allowance:
    """Counts down the seconds that are left."""

    def __init__(self, seconds: float, clock: Callable[[], float] = _clock) -> None:
        self._left = seconds
        self._clock = clock
        self._step = 0.0
        self._began = clock()

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def step(self) -> float:
        """Begin a step; return how many seconds to wait."""
        self._step = max(0.0, min(STEP, self._left))
        self._began = self._clock()
        return self._step

    def waited(self) -> None:
        """End a step that was waited for in vain."""
        took = self._clock() - self._began
        self._left -= took if took - self._step < LATE else self._step
