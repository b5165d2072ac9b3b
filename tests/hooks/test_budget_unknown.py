"""A budget of money, and an agent that tells no cost: nothing more starts, and nothing is lost."""

from __future__ import annotations

import pytest

from .conftest import ReadSaved

FREE = """
import threading
import time

begun = threading.Lock()

def agent(inputs, task_id):
    with begun, open("begun.txt", "a") as file:
        file.write(f"{task_id}\\n")
    # The first to return ends it all; the others are still in flight then.
    time.sleep(0.0 if task_id == "T_01" else 0.5)
    return "pass"
"""


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "how",
    [
        pytest.param(("--sop-concurrency=4",), id="in flight"),
        pytest.param(("--sop-concurrency=4", "-n2"), id="in flight in two workers"),
        pytest.param(("-n2",), id="two workers"),
    ],
)
def test_what_was_in_flight_ends_and_counts(
    pytester: pytest.Pytester, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    pytester.makepyfile(free=FREE)

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=free:agent", "--sop-budget=1usd", "--sop-trials=5", *how
    )

    begun = (pytester.path / "begun.txt").read_text().split()
    ended = [run for run in saved().runs if run["outcome"] != "not_run"]
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert sorted(begun) == sorted(run["task"] for run in ended)
    assert 30 == len(saved().runs) > len(ended)
    result.stdout.no_fnmatch_line("*not saved*")
    result.stdout.fnmatch_lines(["budget $0.00 of $1.00 spent, *"])
