"""Kills of a session at random moments: of its process, of a worker, of all of them."""

from __future__ import annotations

import functools
import random
import signal
from collections.abc import Sequence

from campaign.killing import Kill, run_killed
from campaign.kit import Case, Part
from campaign.victims import AGENTS, MODES

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOMENTS = ("step", "step", "line", "time")
# Kills of each mode, by whom they hit; a worker costs most, and there is none without workers.
TIMES = {
    ("default", "controller"): 24,
    ("default", "group"): 4,
    ("in flight", "controller"): 32,
    ("in flight", "group"): 4,
    ("workers", "controller"): 8,
    ("workers", "worker"): 8,
    ("workers", "group"): 4,
    ("workers in flight", "controller"): 8,
    ("workers in flight", "worker"): 8,
    ("workers in flight", "group"): 4,
}


def cases(seed: int) -> Sequence[Case]:
    lot = random.Random(seed)  # noqa: S311 - no secret
    found: list[Case] = []
    for (mode, whom), times in TIMES.items():
        for number in range(times):
            kill = Kill(
                mode=mode,
                agent=AGENTS[number % 2],
                whom=whom,
                # Each signal at each sort of moment, however the lot falls.
                signal=SIGNALS[number % 3],
                moment=MOMENTS[number // 2 % 4],
                at=round(lot.random(), 3),
            )
            name = f"{mode}, {whom}/{kill.signal.name} at {kill.moment} {kill.at}, {kill.agent}"
            found.append(Case(name=f"{name}, {number}", run=functools.partial(run_killed, kill)))
    return found


PART = Part(name="kills", cases=cases)

if set(MODES) != {mode for mode, _ in TIMES}:
    msg = "a mode is never killed"
    raise RuntimeError(msg)
