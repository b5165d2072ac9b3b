"""Runs as a session keeps them, with no more said than a test is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_sopbench import Mismatch, Outcome, RunRecord


def run(
    task: str = "T1", outcome: Outcome = Outcome.CORRECT, *, domain: str = "lab", **more: Any
) -> RunRecord:
    """Build the run of a task; `more` is whatever else its record holds."""
    return RunRecord(domain=domain, task=task, outcome=outcome, **more)


def timed_run(task: str = "T1", outcome: Outcome = Outcome.CORRECT, **more: Any) -> RunRecord:
    """Build a run that was to answer grade A and took one second, as a report shows it."""
    return run(task, outcome, **({"expected": {"grade": "A"}, "duration_s": 1.0} | more))


def differing(
    fields: Iterable[str], *, expected: Any = "x", actual: Any = "y", why: str = "different"
) -> tuple[Mismatch, ...]:
    """Build a mismatch for each field."""
    return tuple(
        Mismatch(field=field, expected=expected, actual=actual, why=why) for field in fields
    )
