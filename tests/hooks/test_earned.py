"""A status of 0 is earned, whatever else ends the session or sets its status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
WRONG = (LAB, "--agent=habits:wrong", "--sop-fail-under=1")
RIGHT = (LAB, "--agent=habits:right")
GATE = "--sop-fail-under=1"
EXIT = "import pytest\ndef {}: pytest.exit('enough', returncode=0)"
EXIT_AFTER_THIRD = """
import pytest

def pytest_runtest_logfinish(nodeid):
    if "T_03" in nodeid:
        pytest.exit("enough", returncode=0)
"""
OVERWRITES = """
import pytest

@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    session.exitstatus = 0
"""


@pytest.mark.parametrize(
    "hook", ["pytest_sessionfinish()", "pytest_terminal_summary()"], ids=["finish", "summary"]
)
def test_a_gate_that_does_not_hold_fails_though_pytest_exit_ends_the_session_after_it(
    pytester: pytest.Pytester, hook: str
) -> None:
    pytester.makeconftest(EXIT.format(hook))

    result = pytester.runpytest(*WRONG)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stderr.fnmatch_lines(["sop: something set the exit status to 0 although*"])


def test_a_gate_that_does_not_hold_fails_though_a_plugin_overwrites_the_status(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(OVERWRITES)

    result = pytester.runpytest(*WRONG, *workers)

    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_a_status_that_a_plugin_overwrites_is_its_own_where_the_gate_holds_or_there_is_none(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(OVERWRITES)

    held = pytester.runpytest(*RIGHT, GATE)
    without_gate = pytester.runpytest(LAB, "--agent=habits:wrong")

    assert pytest.ExitCode.OK == held.ret == without_gate.ret


def test_sys_exit_as_pytest_steps_down_is_no_pass_of_a_gate(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys\ndef pytest_unconfigure(): sys.exit()")

    result = pytester.runpytest_subprocess(*WRONG)

    assert pytest.ExitCode.TESTS_FAILED == result.ret


@pytest.mark.parametrize("hook", ["pytest_configure()", "pytest_sessionstart()"])
def test_pytest_exit_before_anything_was_asked_is_no_pass_of_a_typed_gate(
    pytester: pytest.Pytester, hook: str
) -> None:
    pytester.makeconftest(EXIT.format(hook))

    result = pytester.runpytest(*RIGHT, GATE)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stderr.fnmatch_lines(["sop: the session was ended with status 0 before it was over*"])


@pytest.mark.parametrize("agent", ["wrong", "right"])
def test_misses_fail_a_session_that_pytest_exit_cuts_short(
    pytester: pytest.Pytester, agent: str
) -> None:
    """At a terminal, with a gate of the configuration, what was run decides, as with `-k`."""
    pytester.makeini("[pytest]\nsop_fail_under = 1")
    pytester.makeconftest(EXIT_AFTER_THIRD)

    result = pytester.runpytest(LAB, f"--agent=habits:{agent}")

    assert (agent == "wrong") == result.ret
    result.stdout.fnmatch_lines(["gate*not evaluated: the session was cut short*"])


def test_a_task_that_must_pass_is_unknown_where_pytest_exit_cuts_the_session_short(
    pytester: pytest.Pytester,
) -> None:
    pytester.makefile(".toml", sop_tasks='["lab/T_05"]\nmust_pass = true\n')
    pytester.makeconftest(EXIT_AFTER_THIRD)

    result = pytester.runpytest(*RIGHT)

    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_a_conftest_that_exits_when_it_is_imported_is_wrong_usage(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest("import sys\nsys.exit(0)")

    result = pytester.runpytest_subprocess(*RIGHT, GATE)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*ended pytest with sys.exit(0)*"])


@pytest.mark.parametrize("option", ["--help", "--markers", "--version"])
def test_what_only_tells_something_exits_with_0(pytester: pytest.Pytester, option: str) -> None:
    assert pytest.ExitCode.OK == pytester.runpytest(*WRONG, option).ret


def test_a_miss_that_a_plugin_marks_as_expected_hides_no_failure_beside_it(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    """pytest does not count it as failed, so there is nothing to forgive."""
    pytester.makeconftest(
        """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item):
            report = yield
            if report.failed and "T_02" in item.nodeid:
                report.wasxfail = "known"
            return report
        """
    )
    pytester.makepyfile(test_own="def test_own(): assert False")
    paths = ("test_own.py", "domains/lab/data.csv")

    result = pytester.runpytest(
        LAB, "--agent=habits:loses_second", "--sop-fail-under=0.5", *workers, *paths
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret


def test_a_plan_of_the_set_up_makes_no_run_and_leaves_no_session(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*WRONG, "--setup-plan")

    assert pytest.ExitCode.OK == result.ret
    assert not [*pytester.path.glob(".sop/sessions/*")]


def test_an_expected_answer_that_is_missing_makes_no_stub_right(
    pytester: pytest.Pytester, lab: Path
) -> None:
    data = lab / "data.csv"
    data.write_text(data.read_text().replace("T_04,50,retest", "T_04,50,"))

    result = pytester.runpytest(LAB, "--agent=habits:empty", "--sop-fail-under=0.1")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*data.csv, row 5, column 'grade': the expected answer is empty*"])


def test_empty_answers_that_nothing_declares_are_counted_in_the_header(
    pytester: pytest.Pytester, lab: Path
) -> None:
    metadata = json.loads((lab / "metadata.json").read_text())
    metadata |= {"outputs": {}, "output_columns": ["grade", "reading"], "tools": {}}
    (lab / "metadata.json").write_text(json.dumps(metadata))
    (lab / "toolspecs.json").unlink()
    data = lab / "data.csv"
    data.write_text(data.read_text().replace("T_04,50,retest", "T_04,50,"))

    result = pytester.runpytest(LAB, "--agent=habits:empty", "--collect-only")

    result.stdout.fnmatch_lines(
        [
            "sop: lab: data.csv: 1 of 6 expected cells of grade are empty: *(row 5)",
            "sop: lab: 1 warning; sopbench list -v shows them",
        ]
    )


@pytest.mark.parametrize("hook", ["pytest_sop_run_finished", "pytest_sop_summary"])
def test_a_hook_of_ours_that_exits_fails_a_session_without_a_gate(
    pytester: pytest.Pytester, hook: str
) -> None:
    """Right answers too: the session did not come to its end."""
    pytester.makeconftest(f"import sys\ndef {hook}(): sys.exit(0)")

    result = pytester.runpytest_subprocess(*RIGHT)

    assert 1 == result.ret
    result.stderr.fnmatch_lines([f"RuntimeError: {hook} called sys.exit(0); a hook says*"])
