"""The page on trials and budgets: its numbers are right, and its test runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "repeat-and-resume.md").read_text(
    encoding="utf-8"
)


def test_five_trials_of_nine_in_ten_are_all_right_as_often_as_said() -> None:
    assert f"in {0.9**5:.0%} of the tasks".replace("%", " %") in PAGE


def test_the_test_of_the_page_runs(pytester: pytest.Pytester) -> None:
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "mark" in one]
    pytester.makepyfile(test_page=code, mine="def agent(inputs):\n    return {}")

    result = pytester.runpytest(
        "test_page.py", "--sop-domain=dangerous_goods", "--sop-sample=first:2", "--agent=mine:agent"
    )

    result.assert_outcomes(failed=10, deselected=5 * 327 - 10)
