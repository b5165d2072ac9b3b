"""Which tasks a user's test gets, and that a fault of the set-up is never a skip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

RUN = "def test_run(sop_run): sop_run.assert_correct()"
MARKED = """
import pytest
@pytest.mark.sop({})
def test_run({}): pass
"""

BOTH = pytest.mark.parametrize(
    "workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="xdist")]
)


@BOTH
def test_a_mark_suffices(pytester: pytest.Pytester, lab: Path, workers: tuple[str, ...]) -> None:
    pytester.makepyfile(
        test_lab=MARKED.format("domain='lab', agent='habits:right'", "sop_run"),
        test_unit="def test_unit(): pass",
    )

    result = pytester.runpytest(*workers)

    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["TSR   100.0%*correct, 6 of 6 *"])


def test_a_mark_may_name_several_domains(
    pytester: pytest.Pytester, lab: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)
    pytester.makepyfile(test_lab=MARKED.format("domain=['lab', 'clinic']", "sop_task"))

    result = pytester.runpytest()

    result.assert_outcomes(passed=9)


def test_a_mark_may_name_a_folder(
    pytester: pytest.Pytester, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3, under="elsewhere")
    pytester.makepyfile(test_lab=MARKED.format("domain='./elsewhere/clinic'", "sop_task"))

    result = pytester.runpytest()

    result.assert_outcomes(passed=3)


def test_the_mark_of_a_test_comes_before_that_of_its_class_and_the_options(
    pytester: pytest.Pytester, lab: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)
    make_domain("ward", tasks=2)
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.mark.sop(domain="clinic", agent="habits:silent")
        class TestClinic:
            def test_inherits(self, sop_task): assert sop_task.domain == "clinic"
            @pytest.mark.sop(domain="ward")
            def test_own(self, sop_task): assert sop_task.domain == "ward"
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "test_lab.py")

    result.assert_outcomes(passed=5)


def test_the_configuration_suffices(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:right")
    pytester.makepyfile(test_lab=RUN, test_unit="def test_unit(): pass")

    result = pytester.runpytest()

    result.assert_outcomes(passed=7)


def test_the_configuration_suffices_under_xdist(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:right")
    pytester.makepyfile(test_lab=RUN, test_unit="def test_unit(): pass")

    result = pytester.runpytest("-n2")

    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["TSR   100.0%*correct, 6 of 6 *"])


def test_a_node_id_runs_one_task_of_a_users_test(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(test_lab=RUN)

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:right", "test_lab.py::test_run[lab/T_03]"
    )

    result.assert_outcomes(passed=1)


@BOTH
def test_other_parameters_of_a_test_multiply_with_its_tasks_and_share_the_runs(
    pytester: pytest.Pytester, lab: Path, workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.mark.parametrize("colour", ["red", "blue"])
        def test_run(sop_run, colour): sop_run.assert_correct()
        """
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:counted", "test_lab.py", *workers
    )

    result.assert_outcomes(passed=12)
    calls = (pytester.path / "calls.txt").read_text().splitlines()
    assert [f"T_0{number}" for number in range(1, 7)] == sorted(calls)


def test_a_fixture_of_the_user_may_ask_for_the_run(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.fixture
        def grade(sop_run): return sop_run.answer.values["grade"]
        def test_grade(grade): assert grade in ("pass", "retest", "fail")
        """
    )

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", "test_lab.py")

    result.assert_outcomes(passed=6)


def test_not_sop_runs_no_agent(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeini("[pytest]\nsop_domain = lab\nsop_agent = habits:counted")
    pytester.makepyfile(test_lab=RUN, test_unit="def test_unit(): pass")

    result = pytester.runpytest("-m", "not sop", "--strict-markers")

    result.assert_outcomes(passed=1, deselected=6)
    assert not (pytester.path / "calls.txt").exists()


def test_the_options_select_tasks_of_users_tests_as_well(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(test_lab="def test_task(sop_task): assert sop_task.id in ('T_01', 'T_02')")

    result = pytester.runpytest("--sop-domain=lab", "--sop-sample=first:2", "test_lab.py")

    result.assert_outcomes(passed=2, deselected=4)


NO_AGENT = "*test_lab.py::test_run: no agent: give --agent*"
NO_DOMAIN = "*test_lab.py::test_run: no domain: give --sop-domain*"
FAULTS = [
    pytest.param(RUN, ["--sop-domain=lab", "test_lab.py"], NO_AGENT, id="no agent"),
    pytest.param(RUN, ["--agent=habits:right", "test_lab.py"], NO_DOMAIN, id="no domain"),
    pytest.param(RUN, [], NO_AGENT, id="no option at all"),
    pytest.param("def test_run(sop_task): pass", [], NO_DOMAIN, id="a task and no domain"),
    pytest.param("def test_run(sop_tools): pass", [], NO_DOMAIN, id="a toolbox and no domain"),
    pytest.param("def test_run(sop_domain): pass", [], NO_DOMAIN, id="no domain for a domain"),
    pytest.param("def test_run(sop_agent): pass", [], NO_AGENT, id="the agent alone"),
    pytest.param(
        MARKED.format("domain='lab'", "sop_run"), [], NO_AGENT, id="a mark without an agent"
    ),
    pytest.param(
        MARKED.format("domain='nowhere'", "sop_task"),
        [],
        "*test_lab.py::test_run: *nowhere*",
        id="a mark with an unknown domain",
    ),
    pytest.param(
        MARKED.format("domain='lab', agent='habits:nobody'", "sop_run"),
        [],
        "*no attribute 'nobody'*",
        id="a mark with an unknown agent",
    ),
    pytest.param(
        RUN,
        ["--sop-domain=lab", "-o", "sop_agent=habits:nobody", "test_lab.py"],
        "*no attribute 'nobody'*",
        id="an ini value with an unknown agent",
    ),
    pytest.param(
        MARKED.format("'lab'", "sop_task"),
        [],
        "*@pytest.mark.sop: positional arguments; it takes domain, agent, answer*",
        id="a positional argument in a mark",
    ),
    pytest.param(
        MARKED.format("domian='lab'", "sop_task"),
        [],
        "*@pytest.mark.sop: unknown keyword 'domian'*",
        id="a misspelt keyword in a mark",
    ),
    pytest.param(
        MARKED.format("domain='lab', answer='wrong'", "sop_task"),
        [],
        "*@pytest.mark.sop(answer=...): only 'ignored' is known",
        id="an unknown value in a mark",
    ),
]


@pytest.mark.parametrize(("body", "args", "message"), FAULTS)
def test_a_fault_of_the_set_up_is_a_usage_error(
    pytester: pytest.Pytester, lab: Path, body: str, args: list[str], message: str
) -> None:
    pytester.makepyfile(test_lab=body, test_unit="def test_unit(): pass")

    result = pytester.runpytest(*args)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(("body", "args", "message"), [FAULTS[0], FAULTS[2], FAULTS[9]])
def test_a_fault_of_the_set_up_is_a_usage_error_under_xdist(
    pytester: pytest.Pytester, lab: Path, body: str, args: list[str], message: str
) -> None:
    pytester.makepyfile(test_lab=body, test_unit="def test_unit(): pass")

    # Not in this process: other plugins warn when a session of xdist ends so soon.
    result = pytester.runpytest_subprocess(*args, "-n2")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])


@BOTH
def test_the_zero_file_run_without_an_agent_is_a_usage_error(
    pytester: pytest.Pytester, lab: Path, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest_subprocess("--sop-domain=lab", *workers)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*no agent: give --agent*"])


def test_collecting_alone_needs_no_agent(pytester: pytest.Pytester, lab: Path) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--collect-only", "-q")

    result.stdout.fnmatch_lines(["domains/lab/data.csv::T_06", "6 tests collected*"])
    assert 0 == result.ret


def test_asking_for_a_fixture_too_late_says_what_to_do(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(test_lab="def test_run(request): request.getfixturevalue('sop_run')")

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", "test_lab.py")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*make the fixture a parameter of the test*"])


def test_a_domain_that_cannot_be_loaded_is_a_usage_error(
    pytester: pytest.Pytester, lab: Path
) -> None:
    (lab / "metadata.json").write_text("{")
    pytester.makepyfile(test_lab=MARKED.format("domain='lab'", "sop_task"))

    result = pytester.runpytest()

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*metadata.json*"])
