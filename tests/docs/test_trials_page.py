"""The page on trials and budgets shows what the session prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_sopbench import Outcome, Summary
from pytest_sopbench._core.gates.budget import Budget, Spending
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._reports.notices import budget_lines
from pytest_sopbench._reports.terminal.summary import domain_lines

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "repeat-and-resume.md").read_text(
    encoding="utf-8"
)
TEXTS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def test_the_summary_is_as_shown() -> None:
    summary = Summary(
        runs=600,
        tasks=120,
        outcomes={Outcome.CORRECT: 534, Outcome.WRONG: 66},
        trials_by={(5, 5): 106, (5, 3): 1, (5, 1): 1, (5, 0): 12},
        durations=(1.0,) * 600,
    )
    disagreeing = [
        TaskTrials(domain="refunds", task=task, trials=5, correct=correct)
        for task, correct in (("R-112", 3), ("R-104", 1))
    ]

    lines = [*domain_lines("refunds", "mypkg:agent", summary, disagreeing=disagreeing)]

    assert TEXTS[1].splitlines() == lines[1:6]


def test_the_budget_is_as_shown() -> None:
    lines = budget_lines(Budget(usd=5), Spending(usd=5.02, runs=9), seconds=1, not_started=62)

    assert TEXTS[2].splitlines() == [*lines]


def test_five_trials_of_nine_in_ten_are_all_right_as_often_as_said() -> None:
    assert f"in {0.9**5:.0%} of the tasks".replace("%", " %") in PAGE


def test_the_test_of_the_page_runs(pytester: pytest.Pytester) -> None:
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "mark" in one]
    pytester.makepyfile(test_page=code, mine="def agent(inputs):\n    return {}")

    result = pytester.runpytest(
        "test_page.py", "--sop-domain=dangerous_goods", "--sop-sample=first:2", "--agent=mine:agent"
    )

    result.assert_outcomes(failed=10, deselected=5 * 327 - 10)
