"""The first runs of a session, which may all end in the same error: the set-up is at fault."""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.run_notes import NO_RECORDING
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._hooks.session.pace import shares

ALIKE: Final = 5
"""First runs that must end alike before no more are paid for."""

GRACE_S: Final = 2.0
"""Seconds without a failure after which others start beside the first runs.

A wrong key or a missing module fails sooner. An agent that takes half a minute would else take
half a minute longer.
"""


class Likeness:
    """Compares the first runs in the order in which they end."""

    def __init__(self) -> None:
        self.alike = 0
        self.differ = False
        self._problem: tuple[str, str] | None = None

    def watch(self, record: RunRecord) -> None:
        """Look at one more run; a problem of the same type and message is the same."""
        problem = (record.problem.type, record.problem.message) if record.problem else None
        unlike = problem is None or self._problem not in {None, problem}
        # What has no recording costs nothing, and is worth counting to the last run.
        if unlike or any(note.startswith(NO_RECORDING) for note in record.notes):
            # A run that is unlike the others: the set-up is not to blame.
            self.differ = True
        self._problem = problem
        self.alike += not self.differ


class Starts:
    """How many runs this process may begin before it is known that they do not all fail alike."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = inf
        given: dict[str, Any] = getattr(config, "workerinput", {})
        # `gw3`, but a user may name workers as he likes.
        digits = "".join(filter(str.isdecimal, given.get("workerid", "")))
        workers: int = given.get("workercount", 1)
        place = int(digits or 0)
        self._most = max(1, shares(ALIKE, workers)[place % workers])
        self.begun = 0
        self.likeness = Likeness()
        # A worker that takes over from a dead one has a number beyond those of the first ones,
        # and a run in which a process died was unlike the others.
        self.likeness.differ = place >= workers

    def begin(self) -> None:
        """Count a run that begins."""
        self._began = min(self._began, self._clock())
        self.begun += 1

    @property
    def are_open(self) -> bool:
        """Whether one more may be begun before its test asks for it.

        Once a run has failed, the others wait until one ends otherwise.
        """
        if self.likeness.differ or self.begun < self._most:
            return True
        return not self.likeness.alike and self._clock() >= self._began + GRACE_S
