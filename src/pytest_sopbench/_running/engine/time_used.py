"""How much of its time limit each run has used, less what kept it from its work.

A limit counts the time in which a run was able to go on. Two things may keep it from that for
which it is not to blame: the process stands still, or another agent holds the event loop on which
the run is. A loop whose holder was ended is left: runs that it has not come to begin on a new one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic

from pytest_sopbench._core.model.run_notes import HELD, STOOD_STILL
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.values.quantities import as_seconds
from pytest_sopbench._running.event_loop.shared_loop import SharedLoop
from pytest_sopbench._running.queue.job import K
from pytest_sopbench._running.queue.pending import PendingRun
from pytest_sopbench._running.queue.queues import RunQueues
from pytest_sopbench._running.threads.clock import Clock
from pytest_sopbench._running.threads.pulse import Pulse

from .attempt import run_trace

if TYPE_CHECKING:
    from pytest_sopbench._running.event_loop.loop_thread import LoopThread

SILENT: Final = 0.5
"""Seconds without an answer after which a loop counts as blocked: any step takes some time."""

PATIENCE: Final = 10.0
"""Seconds that a loop has to come back once it was left, before its runs are made again."""

WORTH_A_NOTE: Final = 1.0
"""Seconds; less is not told of."""

_MOST_LIMITS: Final = 10
_MOST_SECONDS: Final = 600.0


class TimeUsed(Generic[K]):
    """Counts for every run in flight; not safe by itself, the engine's lock guards it.

    Args:
        register: what is in flight.
        loops: the loops on which async agents are.
        clock: seconds.
        pulse: tells for how long the process stood still.
    """

    def __init__(
        self, register: RunQueues[K], loops: SharedLoop, *, clock: Clock, pulse: Pulse
    ) -> None:
        self._register = register
        self._loops = loops
        self._clock = clock
        self._pulse = pulse
        self._looked, self._lost = clock(), pulse.lost()
        self._silent: dict[LoopThread, float] = {}
        self._left: dict[LoopThread, float] = {}

    def begin(self, flight: PendingRun[K]) -> None:
        """Count the time of a run from this moment on."""
        flight.began = self._clock()
        flight.lost_before = self._pulse.lost()
        flight.held_up = 0.0

    def kept(self, flight: PendingRun[K]) -> float:
        """Return the seconds for which a run was kept from its work."""
        return self._stood(flight) + flight.held_up

    def of(self, flight: PendingRun[K], limit: float) -> float:
        """Return the seconds that a run has used; what it is excused from has an end.

        Of one that waits for its loop no time runs: it is given another where that is blocked.
        """
        if flight.settling is not None and flight.settling.waits:
            return 0.0
        most = max(_MOST_LIMITS * limit, _MOST_SECONDS)
        return self._clock() - flight.began - min(self.kept(flight), most)

    def since(self, flight: PendingRun[K], limit: float) -> float:
        """Return when a run would have begun that has used as much, and was never held up."""
        return self._clock() - self.of(flight, limit)

    def _notes(self, flight: PendingRun[K], stood: float) -> list[str]:
        """Say what kept a run from its work; `stood` is for how long the process stood still."""
        notes: list[str] = []
        if stood >= WORTH_A_NOTE:
            notes.append(f"{STOOD_STILL} {as_seconds(stood)}, which its time limit does not count")
        if flight.held_up >= WORTH_A_NOTE:
            held = f"{flight.held_up_by or 'another agent'} {HELD} {as_seconds(flight.held_up)}"
            notes.append(f"{held}, which its time limit does not count")
        return notes

    def run_trace(
        self,
        flight: PendingRun[K],
        trace: Trace,
        timeout: float | None,
        *,
        most: int,
        limited: bool,
    ) -> Trace:
        """Return the trace of an attempt as that of the run, with what its time was used for.

        `limited` tells whether there is a time limit at all; see `attempt.told` for the rest.
        """
        stood = self._stood(flight)
        notes = self._notes(flight, stood) if limited else ()
        kept = stood + flight.held_up
        return run_trace(flight, trace, timeout=timeout, most=most, kept=kept, notes=notes)

    def look(self, limit: float | None) -> None:
        """Ask all loops whether they go on; leave those that a run blocks which was ended."""
        now, lost = self._clock(), self._pulse.lost()
        passed = max(0.0, now - self._looked - (lost - self._lost))
        homes = self._homes()
        self._silent = {home: since for home, since in self._silent.items() if home in homes}
        for home, runs in homes.items():
            if home.answers():
                self._silent.pop(home, None)
            else:
                silent = now - self._silent.setdefault(home, self._looked)
                self._hold_up(home, runs, silent, passed=passed, limit=limit)
        self._looked, self._lost = now, lost

    def _homes(self) -> dict[LoopThread, list[PendingRun[K]]]:
        homes: dict[LoopThread, list[PendingRun[K]]] = {}
        standing = self._loops.standing()
        if standing is not None:
            homes[standing] = []
        for flight in self._register.at_work():
            home = flight.settling.home if flight.settling is not None else None
            if home is not None:
                homes.setdefault(home, []).append(flight)
        return homes

    def _hold_up(
        self,
        home: LoopThread,
        runs: list[PendingRun[K]],
        silent: float,
        *,
        passed: float,
        limit: float | None,
    ) -> None:
        holder = home.holder()
        if holder is None:
            # Nobody knows who is to blame, so that the time of all goes on.
            has_ended = limit is not None and silent >= limit
        else:
            has_ended = not self._excuse(holder, runs, passed) and silent >= SILENT
        if has_ended:
            self._leave(home, runs)

    def _excuse(self, holder: object, runs: list[PendingRun[K]], passed: float) -> bool:
        """Excuse the runs on a blocked loop but for the one that holds it; tell if it is here."""
        others = [one for one in runs if one.settling is not holder]
        for one in others:
            one.held_up += passed
            one.held_up_by = getattr(holder, "name", "")
        return len(others) < len(runs)

    def _leave(self, home: LoopThread, runs: list[PendingRun[K]]) -> None:
        self._loops.replace(home)
        left = self._left.setdefault(home, self._clock())
        is_lost = self._clock() - left >= PATIENCE
        for one in runs:
            if one.settling is None:
                continue
            # Where there is no thread for another loop, the next look tries again.
            with suppress(RuntimeError, MemoryError):
                if one.settling.move():
                    # All of its time was spent on waiting.
                    one.held_up = self._clock() - one.began - self._stood(one)
            if is_lost and not one.settling.waits:
                one.settling.lose()

    def _stood(self, flight: PendingRun[K]) -> float:
        return self._pulse.lost() - flight.lost_before
