"""A project may configure how xdist distributes, and then run without any workers."""

from __future__ import annotations

import pytest


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("how", ["--dist=loadfile", "-d"])
@pytest.mark.parametrize("budget", [(), ("--sop-budget=1h",)], ids=["", "with a budget"])
def test_without_workers_the_session_makes_its_runs_itself(
    pytester: pytest.Pytester, how: str, budget: tuple[str, ...]
) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", how, *budget)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["TSR*correct, 6 of 6 *"])
