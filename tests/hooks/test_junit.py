"""JUnit XML: who asks for what, and how misses look to a CI server."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.usefixtures("lab")

THIRD = ("--sop-domain=lab", "--agent=habits:always_pass", "--junitxml=junit.xml")


def read(path: str = "junit.xml") -> ET.Element:
    suite = ET.parse(path).getroot().find("testsuite")  # noqa: S314 - pytest wrote it
    assert suite is not None
    return suite


def properties(case: ET.Element) -> dict[str | None, str | None]:
    return {one.get("name"): one.get("value") for one in case.iter("property")}


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_each_case_tells_domain_task_and_outcome(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.runpytest(*THIRD, *workers)

    cases = {case.get("name"): properties(case) for case in read().iter("testcase")}
    assert {"sop.domain": "lab", "sop.task": "T_03", "sop.outcome": "correct"} == cases["T_03"]
    assert "wrong" == cases["T_01"]["sop.outcome"]


def test_misses_are_failures(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*THIRD, "--sop-fail-under=0.1")

    assert ("4", "0") == (read().get("failures"), read().get("skipped"))


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_misses_may_be_written_as_skipped(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        *THIRD, "--sop-fail-under=0.1", "-o", "sop_junit_misses=skipped", *workers
    )

    skipped = [case for case in read().iter("testcase") if case.find("skipped") is not None]
    assert 0 == result.ret
    assert ("0", "4") == (read().get("failures"), read().get("skipped"))
    assert {"T_01", "T_02", "T_04", "T_05"} == {case.get("name") for case in skipped}


def test_failures_without_a_gate_stay_failures(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*THIRD, "-o", "sop_junit_misses=skipped")

    assert "4" == read().get("failures")


def test_a_failure_of_a_user_test_stays_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_mine(sop_run): sop_run.assert_correct()")

    pytester.runpytest(
        *THIRD, "--sop-fail-under=0.1", "-o", "sop_junit_misses=skipped", "test_mine.py"
    )

    assert "4" == read().get("failures")


def test_an_unknown_way_of_writing_misses_is_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*THIRD, "-o", "sop_junit_misses=hidden")

    assert 4 == result.ret
    result.stderr.fnmatch_lines(["*sop_junit_misses=hidden: one of failure, skipped expected*"])
    assert not Path("junit.xml").exists()
