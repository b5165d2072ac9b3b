"""JUnit XML: who asks for what, and how misses look to a CI server."""

from __future__ import annotations

import json
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


def test_misses_may_be_written_as_failures(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*THIRD, "--sop-fail-under=0.1", "-osop_junit_misses=failure")

    assert ("4", "0") == (read().get("failures"), read().get("skipped"))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(("--sop-fail-under=0.9",), id="it-fails"),
        pytest.param(("--sop-fail-under=0.1", "-k", "T_01 or T_03"), id="it-is-not-evaluated"),
    ],
)
def test_misses_are_failures_where_no_gate_forgives_them(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*THIRD, *options)

    assert 1 == result.ret
    assert "0" == read().get("skipped")
    assert "0" != read().get("failures")


@pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")]
)
def test_misses_are_skipped_with_their_reason_where_the_gate_holds(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(*THIRD, "--sop-fail-under=0.1", *workers)

    skipped = {
        case.get("name"): found.text
        for case in read().iter("testcase")
        if (found := case.find("skipped")) is not None
    }
    assert 0 == result.ret
    assert ("0", "4") == (read().get("failures"), read().get("skipped"))
    assert {"T_01", "T_02", "T_04", "T_05"} == {*skipped}
    assert "grade" in str(skipped["T_01"])


def test_misses_of_a_shard_are_skipped(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*THIRD, "--sop-shard=1/1")

    assert 0 == result.ret
    assert ("0", "4") == (read().get("failures"), read().get("skipped"))


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


def test_the_name_of_a_task_is_no_command_in_the_file_and_stays_its_name(
    lab: Path, pytester: pytest.Pytester
) -> None:
    """A job may print the file, and a tool that parses it looks for the task."""
    name = "##vso[task.setvariable variable=x]y ##[error]z"
    (lab / "data.csv").unlink()
    row = {"task_id": name, "sample_id": "S", "reading": 50, "grade": "retest"}
    (lab / "tasks.jsonl").write_text(f"{json.dumps(row)}\n")

    pytester.runpytest(*THIRD, "--sop-fail-under=0")

    assert "##" not in Path("junit.xml").read_text("utf-8")
    (case,) = read().iter("testcase")
    assert name == properties(case)["sop.task"]
    assert "1" == read().get("skipped")
