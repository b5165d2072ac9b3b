"""The numbers of a session are those of arithmetic, in one process and in many.

The agent is wrong on every fifth task, raises on every seventh, and makes one bad call on every
third, so that each number is known before the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Counts = dict[str, float]


def counted(numbers: Sequence[int]) -> Counts:
    """Count by the words of the agent's docstring."""
    raising = [n for n in numbers if n % 7 == 0]
    wrong = [n for n in numbers if n % 5 == 0 and n % 7]
    bad = [n for n in numbers if n % 3 == 0]
    calls = len(bad) + len(numbers) - len(raising)
    runs, completed = len(numbers), len(numbers) - len(raising)
    correct = completed - len(wrong)
    return {
        "tasks": runs,
        "runs": runs,
        "completed": completed,
        "correct": correct,
        "tsr": correct / runs,
        "ecr": completed / runs,
        "c_tsr": correct / completed,
        "tool_accuracy": (calls - len(bad)) / calls,
    }


@pytest.mark.parametrize(
    "workers", [pytest.param("-n0", id="one process"), pytest.param("-n4", id="four workers")]
)
def test_thirty_five_tasks(
    pytester: pytest.Pytester,
    lab: Path,
    make_domain: Callable[..., Path],
    saved: Callable[..., Any],
    workers: str,
) -> None:
    make_domain("ward", tasks=35)

    result = pytester.runpytest("--sop-domain=ward", "--agent=habits:fifths_and_sevenths", workers)

    # 5 raise (7, 14, 21, 28, 35), 6 are wrong (5, 10, 15, 20, 25, 30), 11 make a bad call.
    expected = {
        "tasks": 35,
        "runs": 35,
        "completed": 30,
        "correct": 24,
        "tsr": 24 / 35,
        "ecr": 30 / 35,
        "c_tsr": 24 / 30,
        "tool_accuracy": 30 / 41,
    }
    summary = saved().summary["domains"]["ward"]
    assert expected == counted(range(1, 36))
    assert expected == pytest.approx({name: summary[name] for name in expected})
    assert {"correct": 24, "wrong": 6, "error": 5} == summary["outcomes"]
    result.assert_outcomes(passed=24, failed=11)


BUNDLED_AGENT = """
import csv
import importlib.resources
import importlib.util

FOLDER = importlib.resources.files("pytest_sopbench") / "bundled" / "dangerous_goods"
SPEC = importlib.util.spec_from_file_location("bundled_policy", FOLDER / "policy.py")
POLICY = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(POLICY)
ROWS = csv.DictReader((FOLDER / "data.csv").read_text("utf-8").splitlines())
NUMBERS = {row["product_id"]: number for number, row in enumerate(ROWS, start=1)}


def agent(task_id, inputs, tools, output_fields):
    number = NUMBERS[task_id]
    if number % 3 == 0:
        tools.execute_tool("no_such_tool", {})
    if number % 7 == 0:
        raise ValueError("every seventh")
    answer = POLICY.decide(inputs, tools.call)
    return {field: "unknown" for field in output_fields} if number % 5 == 0 else answer
"""


def test_a_bundled_domain_in_two_workers(
    pytester: pytest.Pytester, saved: Callable[..., Any]
) -> None:
    """On as many tasks as have every third, fifth and seventh meet in every way."""
    pytester.makepyfile(seasoned=BUNDLED_AGENT)

    result = pytester.runpytest(
        "--sop-domain=dangerous_goods",
        "--agent=seasoned:agent",
        "--sop-sample=first:105",
        "-n2",
        "-q",
    )

    calls = sum(len(run["calls"]) for run in saved().runs)
    expected = counted(range(1, 106)) | {"tool_accuracy": (calls - 105 // 3) / calls}
    summary = saved().summary["domains"]["dangerous_goods"]
    assert expected == pytest.approx({name: summary[name] for name in expected})
    failed = 105 - int(expected["correct"])
    result.assert_outcomes(passed=105 - failed, failed=failed)
