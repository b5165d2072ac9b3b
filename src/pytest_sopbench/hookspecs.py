"""The hooks that other plugins and a project's `conftest.py` may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.summary import Summary
    from pytest_sopbench._core.records.record import RunRecord


def pytest_sop_run_finished(run: RunRecord) -> None:
    """Called once for each run, in the controller, as the run is recorded."""


def pytest_sop_summary(summary: dict[str, Summary]) -> list[str] | None:
    """Called before the summary is printed, with one summary per domain.

    Returns:
        Lines to print below ours, or `None`.
    """
