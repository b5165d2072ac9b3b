"""`--sop-budget`: once it is spent no run starts, and what was not run has not passed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from .conftest import ReadSaved

AGENTS = """
import glob
import os
import time

def right(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}

def is_told():
    return glob.glob(".sop/sessions/*.journals/budget-spent")

def priced(inputs, tools):
    with open("calls.txt", "a") as file:
        file.write(inputs["sample_id"] + "\\n")
    if "PYTEST_XDIST_WORKER" in os.environ and len(open("calls.txt").readlines()) > 10:
        # Ten spend whatever there is, of which a worker is told a moment later; but not before a
        # run in front of one of the ten, which waits here, has ended.
        for _ in range(500):
            if is_told():
                break
            time.sleep(0.01)
    tools.report(usage={"cost_usd": 0.1})
    return right(inputs, tools)

def slow(inputs, tools):
    time.sleep(0.05)
    return right(inputs, tools)

def free(inputs, tools):
    return right(inputs, tools)

def raising_first(inputs, tools):
    if inputs["sample_id"] == "T_01":
        raise ValueError("before it could tell")
    return priced(inputs, tools)
"""
COMMON = ("--sop-domain=lab", "--sop-trials=10")
PROCESSES = pytest.mark.parametrize(
    ("how", "beyond"),
    [
        pytest.param((), 0, id="plain"),
        pytest.param(("--sop-concurrency=4",), 4, id="four in flight"),
        pytest.param(("-n2",), 8, id="two workers"),
        pytest.param(("-n2", "--sop-concurrency=4"), 16, id="four in flight in two workers"),
    ],
)


@pytest.fixture(autouse=True)
def purse(pytester: pytest.Pytester, lab: Path) -> Path:
    pytester.makepyfile(purse=AGENTS)
    return lab


def made(pytester: pytest.Pytester) -> int:
    return len((pytester.path / "calls.txt").read_text().splitlines())


@PROCESSES
def test_nothing_starts_once_the_money_is_spent(
    pytester: pytest.Pytester, saved: ReadSaved, how: tuple[str, ...], beyond: int
) -> None:
    """Sixty runs at ten cents each: runs in flight end, and count with their cost."""
    result = pytester.runpytest(*COMMON, "--agent=purse:priced", "--sop-budget=1usd", *how)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    runs = made(pytester)
    assert 10 <= runs <= 10 + beyond
    assert "failed" not in result.parseoutcomes()
    outcomes = [one["outcome"] for one in saved().runs]
    assert (runs, 60 - runs) == (outcomes.count("correct"), outcomes.count("not_run"))
    result.stdout.fnmatch_lines(
        [f"budget ${runs / 10:.2f} of $1.00 spent, {60 - runs} runs were not started, since*"]
    )


@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_nothing_starts_once_the_time_is_over(
    pytester: pytest.Pytester, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*COMMON, "--agent=purse:slow", "--sop-budget=0.3s", *how)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    outcomes = [one["outcome"] for one in saved().runs]
    assert 60 == len(outcomes)
    assert outcomes.count("correct")
    assert outcomes.count("not_run")
    result.stdout.fnmatch_lines(["budget * of 300 ms spent, * runs were not started*"])


@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_gates_say_nothing_of_what_was_not_run(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        *COMMON, "--agent=purse:priced", "--sop-budget=1usd", "--sop-fail-under=0.01", *how
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["gate   TSR >= 1% inconclusive*of 60 runs were never started*"])


def test_a_budget_that_suffices_changes_nothing(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        *COMMON, "--agent=purse:priced", "--sop-budget=7usd", "--sop-budget=1h"
    )

    assert pytest.ExitCode.OK == result.ret
    result.assert_outcomes(passed=60)
    result.stdout.fnmatch_lines(["budget $6.00 of $7.00 spent, * of 1 h spent"])


def test_the_last_cent_is_no_fault(pytester: pytest.Pytester) -> None:
    """What is spent by the last run stops nothing."""
    result = pytester.runpytest("--sop-domain=lab", "--agent=purse:priced", "--sop-budget=0.6usd")

    assert pytest.ExitCode.OK == result.ret
    result.assert_outcomes(passed=6)


@pytest.mark.parametrize(
    "how", [(), ("--sop-concurrency=4",), ("-n2",)], ids=["plain", "in flight", "two workers"]
)
def test_money_cannot_be_bounded_where_cost_is_unknown(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*COMMON, "--agent=purse:free", "--sop-budget=1usd", *how)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: --sop-budget=1usd: the first run that returned reported no cost*",
            "let the agent tell it with tools.report*",
        ]
    )


def test_a_run_that_raised_need_not_tell_its_cost(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=purse:raising_first", "--sop-budget=1usd"
    )

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(
        ["budget $0.50 of $1.00 spent, beside the cost of 1 run that reported none"]
    )


def test_time_can_be_bounded_where_cost_is_unknown(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=purse:free", "--sop-budget=1h")

    result.assert_outcomes(passed=6)


def test_tests_without_runs_go_on(pytester: pytest.Pytester) -> None:
    """Fixtures of a module whose tests are passed over are torn down before the next module."""
    pytester.makepyfile(
        test_a="""
        import pytest

        @pytest.fixture(scope="module")
        def opened():
            yield
            print("closed")

        def test_run(sop_run, opened):
            pass
        """,
        test_b="""
        def test_run(sop_run):
            pass

        def test_unit():
            pass
        """,
    )
    (pytester.path / "sub").mkdir()
    (pytester.path / "sub" / "test_c.py").write_text("def test_other_unit(): pass\n")

    result = pytester.runpytest(
        "test_a.py", "test_b.py", "sub", *COMMON, "--agent=purse:priced", "--sop-budget=0.3usd"
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    # Three runs, which both tests of them share, and the two tests without any.
    result.assert_outcomes(passed=8)


@pytest.mark.parametrize(
    "how",
    [
        pytest.param((), id="alone"),
        pytest.param(("-p", "rerunfailures"), id="with rerunfailures"),
        pytest.param(("-p", "rerunfailures", "-n1"), id="in a worker"),
    ],
)
def test_a_fixture_that_fails_to_close_is_reported(
    pytester: pytest.Pytester, how: tuple[str, ...]
) -> None:
    """Its test was passed over, and never set up."""
    pytester.makepyfile(
        test_a="""
        import pytest

        @pytest.fixture(scope="module")
        def opened():
            yield
            raise RuntimeError("cannot close")

        def test_run(sop_run, opened):
            pass
        """
    )

    result = pytester.runpytest(
        "test_a.py", *COMMON, "--agent=purse:priced", "--sop-budget=0.3usd", *how
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert 1 == result.parseoutcomes()["errors"]
    result.stdout.fnmatch_lines(["*RuntimeError: cannot close"])


def test_a_run_that_is_asked_for_by_name_does_not_begin(
    pytester: pytest.Pytester, saved: ReadSaved, workers: tuple[str, ...]
) -> None:
    """Nobody had planned it, and so it has to be counted when it is refused."""
    pytester.makepyfile(
        test_a="""
        def test_late(request, sop_task):
            request.getfixturevalue("sop_run").assert_correct()
        """
    )

    result = pytester.runpytest(
        *("test_a.py", *COMMON, "--agent=purse:priced", "--sop-budget=0.3usd"),
        *("--sop-gate=tsr=0.5", *workers),
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    runs = made(pytester)
    assert 3 <= runs < 60
    result.assert_outcomes(passed=runs, skipped=60 - runs)
    assert Counter(correct=runs, not_run=60 - runs) == Counter(
        one["outcome"] for one in saved().runs
    )
    result.stdout.fnmatch_lines(["gate   TSR >= 50% inconclusive*"])


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--sop-budget=5"], id="no unit"),
        pytest.param(["--sop-budget=5min"], id="an unknown unit"),
        pytest.param(["--sop-budget=1usd", "--sop-budget=2usd"], id="money twice"),
    ],
)
def test_what_is_no_budget_is_refused(pytester: pytest.Pytester, options: list[str]) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=purse:priced", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: {options[-1]}: *"])


def test_money_of_other_machines_cannot_be_bounded(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab",
        "--agent=purse:priced",
        "--sop-budget=1usd",
        "-d",
        "--tx=ssh=nowhere",
        "--tx=popen",
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-budget: workers on other machines cannot be told*"])


def test_a_session_that_was_stopped_says_what_it_took(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    pytester.runpytest(*COMMON, "--agent=purse:priced", "--sop-budget=1usd")
    assert isinstance(saved().summary["duration_s"], float)

    result = pytester.runpytest(*COMMON, "--agent=purse:priced", "--sop-budget=1usd")

    result.stdout.fnmatch_lines(["sop: 6 tasks x 10 = 60 runs; last time 10 runs in *, $1.00"])


def test_shared_runs_are_all_known(pytester: pytest.Pytester) -> None:
    """The line of the session is what counts; the counts and the purse agree."""
    pytester.runpytest(*COMMON, "--agent=purse:priced", "--sop-budget=1usd", "-n2")

    summary = json.loads((pytester.path / ".sop/sessions/last.jsonl").read_text().splitlines()[-1])

    usage = summary["total"]["pooled"]["usage"]["cost_usd"]
    assert made(pytester) == usage["known"]
