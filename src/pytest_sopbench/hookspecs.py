"""The hooks that other plugins and a project's `conftest.py` may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from pytest_sopbench._core.metrics.summary import Summary
    from pytest_sopbench._core.model.task import RunKey
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
        summary: domain to what its runs came to; if several agents were run, one entry for
            each group of domain and agent.

    Returns:
        Lines to print below ours, or `None`.
    """


def pytest_sop_comparers() -> Mapping[str, Callable[..., object]] | None:
    """Called for each domain as it is loaded, in every process.

    Returns:
        Comparers by the name that `"comparer"` in a `metadata.json` gives them, or `None`. Each is
        called as `comparer(expected, actual, *, field, task, answer)`, and may be async.
    """


def pytest_sop_wrap_run(key: RunKey, attempt: int) -> AbstractContextManager[None] | None:
    """Called before each attempt at a run, in the thread and the process that makes it.

    The agent is called inside what the hook returns, also an async one. What is set in a
    `ContextVar` on the way in is seen by the agent and its tools, and gone with the run. Of several
    hooks, each is entered inside the one before. A run that is taken over from another session is
    not made, and not wrapped. Runs overlap with `--sop-concurrency`, so what wrappers share needs a
    lock.

    What the hook or its context manager raises makes the run an `error` with that reason, as if
    the agent had raised it. What the agent raises it sees, and cannot swallow. The time that it
    takes is a part of the run, and `--sop-timeout` bounds it.

    Args:
        key: which run it is: `domain`, `task`, `trial` from 1, and `agent` as it is named. The
            task of a variant has `/v-` and the variant behind its id.
        attempt: from 1; more if the provider was away before.

    Returns:
        What to enter around the attempt, or `None`.
    """
