"""A budget, and workers that die or make a run twice: what began is known, and what it cost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .conftest import ReadSaved

DEADLY = """
import glob
import os
import threading
import time

pair = threading.Barrier(2)
three = threading.Barrier(3)

def together(inputs):
    pair.wait(60)
    os._exit(7)

def overdue(inputs):
    # Two are in flight; the second that may be spent is over when they end their process.
    pair.wait(60)
    time.sleep(1.1)
    os._exit(7)

def dear(inputs, tools):
    # The first is paid with all there is, and the two beside it wait until that is known.
    three.wait(60)
    if inputs["sample_id"] == "T_01":
        tools.report(usage={"cost_usd": 0.1})
        return "pass"
    while not glob.glob(".sop/sessions/*.journals/budget-spent"):
        time.sleep(0.01)
    os._exit(7)

def doubled(inputs, tools):
    with open("calls.txt", "a") as file:
        file.write("called\\n")
    # Not before the other worker has begun as well.
    end = time.monotonic() + 60
    while len(open("calls.txt").readlines()) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    tools.report(usage={"cost_usd": 0.1})
    return "pass"
"""
ONE_FILE = """
import pytest

@pytest.mark.sop(domain="lab", agent="deadly:{agent}")
def test_one(sop_run):
    print(sop_run.outcome)
    sop_run.verdict
"""
PAIR = ("-n1", "--sop-concurrency=2")
THREE = ("-n1", "--sop-concurrency=3", *(f"--sop-domain=lab::T_0{n}" for n in (1, 2, 3)))


@pytest.fixture(autouse=True)
def deadly(pytester: pytest.Pytester, lab: Path) -> Path:
    pytester.makepyfile(deadly=DEADLY)
    return lab


def test_a_session_whose_runs_all_died_knows_what_was_planned(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    """Only workers know what a project's tests ask for, and no test was ever reported."""
    pytester.makepyfile(test_one=ONE_FILE.format(agent="overdue"))

    result = pytester.runpytest_subprocess(
        *PAIR, "test_one.py", "--sop-budget=1s", "--sop-gate=tsr=0.5"
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert {"crash": 2, "not_run": 4} == Counter(saved().outcomes.values())
    result.stdout.fnmatch_lines(
        [
            "gate   TSR >= 50% inconclusive*4 of 6 runs were never started*",
            "alarm  2 runs were in flight when a worker died, and not made again; counted*",
            "*lab/T_0[12], lab/T_0[12]",  # in whatever order they began
            "budget * 4 runs were not started*",
        ]
    )


def test_a_session_counts_what_workers_had_begun_that_died_before_any_report(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_one=ONE_FILE.format(agent="together"))

    result = pytester.runpytest_subprocess(*PAIR, "test_one.py", "--max-worker-restart=0")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "ECR     0.0% answered, 0 of 6*4 not_run, 2 crash",
            "alarm  2 runs were in flight when a worker died, and not made again;*",
        ]
    )


def test_a_session_fails_whose_plan_no_worker_could_tell(pytester: pytest.Pytester) -> None:
    """As on another machine, where no plan can be left beside a journal."""
    pytester.makepyfile(test_one=ONE_FILE.format(agent="together"))
    pytester.makeconftest(
        "from pytest_sopbench._hooks.items import collection\n"
        "collection.leave_plan = lambda _: None\n"
    )

    result = pytester.runpytest_subprocess(*PAIR, "test_one.py", "--max-worker-restart=0")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "alarm  2 runs were in flight when a worker died, and not made again:*",
            "       no worker has told what was planned, so nothing is counted or saved",
        ]
    )


@pytest.mark.parametrize(
    ("workers", "agent", "budget", "expected"),
    [
        pytest.param(
            (*PAIR, "--sop-domain=lab"), "overdue", "1s", {"crash": ["T_01", "T_02"]}, id="time"
        ),
        pytest.param(
            THREE, "dear", "0.1usd", {"wrong": ["T_01"], "crash": ["T_02", "T_03"]}, id="money"
        ),
    ],
)
def test_runs_that_died_and_are_not_made_again_are_crashes(
    pytester: pytest.Pytester,
    saved: ReadSaved,
    workers: tuple[str, ...],
    agent: str,
    budget: str,
    expected: dict[str, list[str]],
) -> None:
    """They were begun: it would be false to say that they were never started."""
    result = pytester.runpytest_subprocess(
        *workers, f"--agent=deadly:{agent}", f"--sop-budget={budget}"
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    found: dict[str, list[str]] = {}
    for task, outcome in saved().outcomes.items():
        found.setdefault(outcome, []).append(task)
    assert expected == {name: tasks for name, tasks in found.items() if name != "not_run"}
    crashed = [run for run in saved().runs if run["outcome"] == "crash"]
    assert ["whether it ended the worker is unknown"] * 2 == [
        note.rpartition(": ")[2] for run in crashed for note in run["notes"]
    ]


def test_a_gate_that_would_hold_forgives_no_run_that_was_left_behind(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    """Nothing is `not_run` here, and no test has failed."""
    result = pytester.runpytest_subprocess(
        *THREE, "--agent=deadly:dear", "--sop-budget=0.1usd", "--sop-gate=ecr=0.1"
    )

    assert {"wrong": 1, "crash": 2} == Counter(saved().outcomes.values())
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate   ECR >= 10% holds*", "*1 other failure, which no gate*"])


def test_a_run_that_two_workers_make_is_paid_for_twice(pytester: pytest.Pytester) -> None:
    for name in ("one", "two"):
        pytester.makepyfile(**{f"test_{name}": ONE_FILE.format(agent="doubled")})

    result = pytester.runpytest_subprocess(
        *("-n2", "--dist=loadfile", "test_one.py", "test_two.py", "--sop-budget=1usd")
    )

    made = len((pytester.path / "calls.txt").read_text().splitlines())
    assert 10 <= made <= 12
    result.stdout.fnmatch_lines([f"budget ${made / 10:.2f} of $1.00 spent*"])
