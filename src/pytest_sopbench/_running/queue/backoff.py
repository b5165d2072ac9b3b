"""How long to wait before a run is made again: exponential back-off with full jitter.

The source of the formula is Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog,
2015): random between 0 and min(most, first * 2 ** n).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits between the attempts of a run, in seconds.

    `random` gives a number from 0 to 1. `sleep` is used only where the run is made in the thread
    that waits for it; elsewhere nothing sleeps.
    """

    first: float = 1.0
    most: float = 60.0
    random: Callable[[], float] = random.random
    sleep: Callable[[float], object] = time.sleep

    def delay(self, failed: int, retry_after: float | None = None) -> float:
        """Return the wait after `failed` attempts, at least as long as the provider asks for."""
        # The exponent is held down, as 2 ** 1024 is no float.
        bound = min(self.most, self.first * 2.0 ** min(failed - 1, 60))
        return (retry_after or 0.0) + self.random() * bound
