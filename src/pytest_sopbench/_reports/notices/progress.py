"""How far a session has come, in one line, while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.layout import WIDTH, cut
from pytest_sopbench._reports.text.numbers import rate_of_runs, seconds

MINUTE = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a session stands; times in seconds.

    `done` counts runs that ended, `recorded` is what those of them came to that were entered, as
    far as outcomes tell. `in_flight` is `None` where it is not known. `slowest` is the longest
    time of a run so far, also of one in flight.
    """

    planned: int
    done: int
    recorded: Summary
    in_flight: int | None
    slowest: float
    elapsed: float

    @property
    def left(self) -> float | None:
        """Return the seconds that are left if the rest goes on as before; `None` at the start."""
        if not self.done:
            return None
        return self.elapsed / self.done * (self.planned - self.done)


def progress_line(progress: Progress, width: int = WIDTH) -> str:
    """Return what a status line says; nothing in it is final."""
    left = progress.left
    parts = [
        f"sop: {progress.done} of {progress.planned} done",
        "" if progress.in_flight is None else f"{progress.in_flight} in flight",
        f"TSR {rate_of_runs(progress.recorded.tsr, progress.recorded)}",
        f"slowest {seconds(progress.slowest)}",
        "" if left is None else f"{_rough(left)} left",
    ]
    return cut(", ".join(filter(None, parts)), width)


def _rough(left: float) -> str:
    # More digits would promise what an estimate cannot hold.
    return f"{left / MINUTE:.0f} min" if left >= 2 * MINUTE else f"{left:.0f} s"
