"""Stops a session whose first runs all end in the same error: the set-up is at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.first_runs import ALIKE, Likeness
from pytest_sopbench._reports.text.numbers import counted

AWAY: Final = (
    "the provider was not available: a rate limit, or it is away\n"
    "--sop-retries=3 (or sop_retries) makes such runs again after a wait, and "
    "--sop-concurrency=auto\nfinds out how many runs at once it bears"
)


class EarlyAbort:
    """Watches the first runs of a session.

    Args:
        begun: how many runs were begun, as far as this process knows.
    """

    def __init__(self, begun: Callable[[], int]) -> None:
        self._begun = begun
        self._likeness = Likeness()
        # In the controller of xdist, the tests that began are what is known.
        self._asked: dict[RunKey, None] = {}
        self._fault = ""

    def start(self, key: RunKey) -> None:
        """Count a run whose test begins."""
        self._asked[key] = None

    def watch(self, record: RunRecord) -> None:
        """Look at one more run, in the order in which they end."""
        if self._likeness.differ or self._likeness.alike >= ALIKE:
            return
        self._likeness.watch(record)
        problem = record.problem
        if self._likeness.alike == ALIKE and problem is not None:
            begun = counted(max(self._begun(), len(self._asked)), "run was", "runs were")
            hint = f"\n{AWAY}" if record.outcome is Outcome.UNAVAILABLE else ""
            self._fault = (
                f"the first {ALIKE} runs ended in the same error; {begun} started, and no more is\n"
                f"{problem.type}: {problem.message}{hint}"
            )

    def check(self) -> None:
        """Stop, once the item of the last of them was reported.

        Raises:
            pytest.UsageError: the first runs ended in one error, of the same type and message.
        """
        if self._fault:
            raise pytest.UsageError(self._fault)
