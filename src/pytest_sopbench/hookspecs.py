"""The hooks that other plugins and a project's `conftest.py` may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.summary import Summary
    from pytest_sopbench._core.records.record import RunRecord


def pytest_sop_run_finished(run: RunRecord) -> None:
    """Called once for each run as it is recorded, in the process that prints the summary.

    Runs come in the order in which their tests end. A run that was taken over by `--sop-resume`
    and one that never started are among them. What this hook raises ends the session.

    Args:
        run: the run as it is saved: task, outcome, answer, calls, usage and duration in seconds.
    """


def pytest_sop_summary(summary: dict[str, Summary]) -> list[str] | None:
    """Called once before the summary is printed.

    Args:
        summary: domain to what its runs came to; where several agents were run, one entry for
            each group of domain and agent.

    Returns:
        Lines to print below ours, or `None`.
    """
