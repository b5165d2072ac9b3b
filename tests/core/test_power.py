"""What a comparison can see, by simulation, and that the page about it says the same."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/what-a-comparison-can-see.md"
CELLS = [(50, 1), (50, 3), (50, 5), (100, 1), (100, 3), (200, 1), (200, 3)]


@pytest.fixture(scope="module")
def called_regressions() -> Callable[..., float]:
    return runpy.run_path(str(ROOT / "benchmarks/power.py"))["called_regressions"]


@pytest.mark.parametrize("trials", [1, 3])
def test_an_unchanged_agent_is_hardly_ever_called_a_regression(
    called_regressions: Callable[..., float], trials: int
) -> None:
    share = called_regressions(tasks=200, trials=trials, loss=0.0, sessions=500)

    assert share <= 0.05


@pytest.mark.parametrize(("trials", "least"), [(1, 0.55), (3, 0.95)])
def test_an_agent_that_loses_8_points_is_found(
    called_regressions: Callable[..., float], trials: int, least: float
) -> None:
    share = called_regressions(tasks=200, trials=trials, loss=0.08, sessions=500)

    assert share >= least


def losses() -> dict[tuple[int, int], int]:
    """Read the page's table: (tasks, trials) to the least loss in points."""
    rows = re.findall(
        r"^\| ([\d,]+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    return {
        (int(tasks.replace(",", "")), trials): int(loss)
        for tasks, *row in rows
        for trials, loss in zip((1, 3, 5), row, strict=True)
    }


@pytest.mark.parametrize(("tasks", "trials"), CELLS)
def test_the_page_says_what_can_be_seen(
    called_regressions: Callable[..., float], tasks: int, trials: int
) -> None:
    """With other random numbers than those of the page, so within what chance leaves open."""
    loss = losses()[tasks, trials] / 100

    seen, hardly = (
        called_regressions(tasks=tasks, trials=trials, loss=one, sessions=250, seed=1)
        for one in (loss, loss - 0.02)
    )

    assert seen >= 0.72
    assert hardly < 0.84
