"""How trials are called, and how a user asks for all of them, for some or for one."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest


@pytest.mark.usefixtures("lab")
def test_the_first_trials_of_all_tasks_come_first(pytester: pytest.Pytester) -> None:
    """A session that ends early has tried as many tasks as it could."""
    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-sample=first:2", "--sop-trials=2", "--collect-only", "-q"
    )

    result.stdout.fnmatch_lines(
        [f"domains/lab/data.csv::{name}" for name in ("T_01", "T_02", "T_01/t2", "T_02/t2")],
        consecutive=True,
    )


@pytest.mark.usefixtures("lab")
def test_one_trial_changes_no_id(pytester: pytest.Pytester) -> None:
    plain = pytester.runpytest("--sop-domain=lab", "--collect-only", "-q")

    one = pytester.runpytest("--sop-domain=lab", "--sop-trials=1", "--collect-only", "-q")

    ids = [line for line in plain.outlines if "::" in line]
    assert 6 == len(ids)
    assert ids == [line for line in one.outlines if "::" in line]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param("lab::T_02", "T_02", id="the name of a task is its first trial"),
        pytest.param("lab::T_02/t3", "T_02/t3", id="a trial"),
        pytest.param("sop:lab::T_02/t2", "T_02/t2", id="with the prefix"),
        pytest.param("domains/lab/data.csv::T_02/t2", "T_02/t2", id="by the data file"),
    ],
)
def test_an_id_is_one_run(pytester: pytest.Pytester, given: str, expected: str) -> None:
    result = pytester.runpytest(given, "--agent=habits:right", "--sop-trials=3", "-v")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"domains/lab/data.csv::{expected} PASSED*"])


@pytest.mark.usefixtures("lab")
def test_a_task_named_by_an_option_has_all_of_its_trials(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab::T_02", "--agent=habits:right", "--sop-trials=3")

    result.assert_outcomes(passed=3, deselected=15)


@pytest.mark.usefixtures("lab")
def test_a_trial_that_is_not_asked_for_is_not_found(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("lab::T_02/t4", "--agent=habits:right", "--sop-trials=3")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: not found: *::T_02/t4"])


@pytest.mark.usefixtures("tired")
def test_what_failed_is_selected_again(pytester: pytest.Pytester) -> None:
    common = ("--sop-domain=lab", "--sop-trials=2")
    pytester.runpytest(*common, "--agent=tired:agent")

    result = pytester.runpytest(*common, "--agent=habits:right", "--lf")

    result.assert_outcomes(passed=6, deselected=6)


@pytest.mark.usefixtures("lab")
def test_a_keyword_selects_a_trial(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "--sop-trials=2", "-k", "t2 and not T_03"
    )

    result.assert_outcomes(passed=5, deselected=7)
    result.stdout.fnmatch_lines(["TSR   100.0% *correct, 5 of 5 *"])


@pytest.mark.usefixtures("lab")
def test_a_gate_knows_that_trials_were_taken_away(pytester: pytest.Pytester) -> None:
    common = ("--sop-domain=lab", "--agent=habits:right", "--sop-trials=2")

    result = pytester.runpytest(*common, "--sop-fail-under=0.5", "-k", "t2")

    result.stdout.fnmatch_lines(["gate   not evaluated: -k took 6 of 12 selected runs away*"])


@pytest.mark.usefixtures("tired")
@pytest.mark.parametrize("place", ["domains", "elsewhere"], ids=["by name", "by path"])
def test_a_failure_ends_with_the_line_that_makes_that_run_again(
    pytester: pytest.Pytester, tired: Path, place: str
) -> None:
    spec = "lab"
    if place != "domains":
        (pytester.path / place).mkdir()
        tired.rename(pytester.path / place / "lab")
        spec = f"./{place}/lab"
    failed = pytester.runpytest(
        f"--sop-domain={spec}",
        "--agent=tired:agent",
        "--sop-trials=2",
        "--sop-sample=first:1",
        "-rN",
    )
    failed.stdout.fnmatch_lines(["task     lab/T_01 (trial 2)*"])
    (line,) = [one for one in failed.outlines if one.startswith("again ")]

    again = pytester.runpytest(*shlex.split(line)[2:], "-v")

    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*data.csv::T_01/t2 FAILED*"])


@pytest.mark.usefixtures("lab")
def test_the_line_of_a_first_trial_makes_no_others(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\naddopts = --sop-trials=3\n")
    failed = pytester.runpytest("--sop-domain=lab", "--agent=habits:wrong", "--sop-sample=first:1")
    failed.assert_outcomes(failed=3, deselected=15)
    first = next(one for one in failed.outlines if one.startswith("again "))

    again = pytester.runpytest(*shlex.split(first)[2:])

    again.assert_outcomes(failed=1, deselected=5)


@pytest.mark.usefixtures("lab")
def test_a_test_of_the_user_is_selected_by_its_id(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_own="""
        import pytest

        @pytest.mark.sop(trials=3)
        def test_more(sop_run):
            sop_run.assert_correct()
        """
    )

    result = pytester.runpytest(
        "test_own.py::test_more[lab/T_02/t3]", "--sop-domain=lab", "--agent=habits:right"
    )

    result.assert_outcomes(passed=1)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("value", ["0", "'3'", "True", "1.5"])
def test_a_mark_takes_a_whole_number(pytester: pytest.Pytester, value: str) -> None:
    pytester.makepyfile(
        test_own=f"import pytest\n@pytest.mark.sop(trials={value})\ndef test_x(sop_run): pass"
    )

    result = pytester.runpytest("test_own.py", "--sop-domain=lab", "--agent=habits:right")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"*@pytest.mark.sop(trials={value}): a whole number of at least*"])


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_an_option_takes_a_whole_number(pytester: pytest.Pytester, value: str) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", f"--sop-trials={value}")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: --sop-trials={value}: a whole number of at least 1*"])


@pytest.mark.usefixtures("tired")
def test_junit_has_a_case_for_each_trial(pytester: pytest.Pytester) -> None:
    pytester.runpytest(
        "--sop-domain=lab", "--agent=tired:agent", "--sop-trials=2", "--junitxml=out.xml"
    )

    cases = [*ET.parse(pytester.path / "out.xml").iter("testcase")]  # noqa: S314 - pytest wrote it

    names = {one.get("name") for one in cases}
    assert 12 == len(names)
    assert {"T_01", "T_01/t2"} <= names


@pytest.mark.usefixtures("lab")
def test_a_slip_of_some_zeros_is_no_session(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", "--sop-trials=100000")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-trials=100000: at most 1000 trials of each task *"])
