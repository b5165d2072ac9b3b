"""Stops a session whose first runs all end in the same error: the set-up is at fault."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.records.record import RunRecord

ALIKE = 5
"""First runs that must end alike before no more are paid for."""


class FirstRuns:
    """Watches the first runs of a session."""

    def __init__(self) -> None:
        self._seen = 0
        self._problem: tuple[str, str] | None = None
        self._fault = ""

    def watch(self, record: RunRecord) -> None:
        """Look at one more run, in the order in which they end."""
        if self._seen >= ALIKE:
            return
        problem = (record.problem.type, record.problem.message) if record.problem else None
        if problem is None or self._problem not in {None, problem}:
            # A run that is unlike the others: the set-up is not to blame.
            self._seen = ALIKE
            return
        self._problem = problem
        self._seen += 1
        if self._seen == ALIKE:
            kind, message = problem
            msg = (
                f"the first {ALIKE} runs ended in the same error, so nothing more was started\n"
                f"{kind}: {message}"
            )
            self._fault = msg

    def check(self) -> None:
        """Stop, once the item of the last of them was reported.

        Raises:
            pytest.UsageError: the first runs ended in one error, of the same type and message.
        """
        if self._fault:
            raise pytest.UsageError(self._fault)
