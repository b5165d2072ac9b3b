"""Which domains and tasks the words of a command line mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("two_domains")

RIGHT = "--agent=habits:right"


@pytest.fixture
def two_domains(lab: Path, make_domain: Callable[..., Path]) -> None:
    """Domain `lab` with six tasks, and `clinic` with three."""
    make_domain("clinic", tasks=3)


@pytest.mark.parametrize(
    ("args", "count"),
    [
        pytest.param(("--sop-domain=lab",), 6, id="a name"),
        pytest.param(("--sop-domain=./domains/lab",), 6, id="a folder"),
        pytest.param(("--sop-domain=domains/lab/",), 6, id="a folder with a slash at its end"),
        pytest.param(("--sop-domain=lab,clinic",), 9, id="a comma list"),
        pytest.param(("--sop-domain=lab", "--sop-domain=clinic"), 9, id="the option twice"),
        pytest.param(("--sop-domain=lab,lab,./domains/lab",), 6, id="the same domain thrice"),
        pytest.param(("--sop-domain=la?,clin*",), 9, id="two globs"),
        pytest.param(("--sop-domain=clin*",), 3, id="a glob of one"),
        pytest.param(("--sop-domain=all",), 9, id="all of the project"),
        pytest.param(("--sop-domain=lab::T_01,lab::T_03",), 2, id="tasks of a domain"),
        pytest.param(("--sop-domain=lab::T_01,clinic",), 4, id="a task and a domain"),
        pytest.param(("--sop-domain=lab::T_01,lab",), 6, id="a task and all of its domain"),
        pytest.param(("lab::T_01", "clinic::T_02"), 2, id="tasks as arguments"),
    ],
)
def test_the_words_mean_domains(
    pytester: pytest.Pytester, args: tuple[str, ...], count: int
) -> None:
    result = pytester.runpytest(*args, RIGHT)

    assert count == result.parseoutcomes()["passed"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("lob", "*lob: no domain has this name*", id="a misspelt name"),
        pytest.param("./nowhere", "*nowhere*", id="no such folder"),
        pytest.param("lab::T_99", "*domain lab: it has no task 'T_99'*", id="no such task"),
        pytest.param("lab::", "*no task stands after '::'*", id="no task after the colons"),
        pytest.param("zz*", "*zz*", id="a glob of nothing"),
        pytest.param(",", "*names no domain*", id="nothing"),
    ],
)
def test_words_that_mean_nothing_are_usage_errors(
    pytester: pytest.Pytester, value: str, message: str
) -> None:
    result = pytester.runpytest(f"--sop-domain={value}", RIGHT)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([message])
    result.stderr.no_fnmatch_line("*Traceback*")


def test_a_domain_and_paths_run_what_the_paths_hold(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_lab="def test_task(sop_task): pass", test_unit="def test_unit(): pass")

    result = pytester.runpytest("--sop-domain=lab", RIGHT, ".")

    result.assert_outcomes(passed=7)


def test_a_data_file_beside_a_test_file_is_collected_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_unit="def test_unit(): pass")

    result = pytester.runpytest("--sop-domain=lab", RIGHT, "test_unit.py", "domains/lab/data.csv")

    result.assert_outcomes(passed=7)


def test_a_data_file_of_no_selected_domain_is_not_ours(pytester: pytest.Pytester) -> None:
    pytester.makefile(".csv", data="a,b\n1,2\n")

    result = pytester.runpytest("--sop-domain=lab", RIGHT, "data.csv")

    result.assert_outcomes()
    assert pytest.ExitCode.OK != result.ret


def test_a_sub_folder_as_the_current_one_finds_the_project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]")
    monkeypatch.chdir(pytester.mkdir("below"))
    monkeypatch.syspath_prepend(str(pytester.path))

    result = pytester.runpytest("--sop-domain=lab", RIGHT, "--collect-only", "-q")

    result.stdout.fnmatch_lines(["*domains/lab/data.csv::T_01"])


def test_two_domains_have_ids_of_their_own(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--sop-domain=lab,clinic", RIGHT, "--collect-only", "-q")

    ids = [line for line in result.outlines if "::" in line]
    assert 9 == len(ids) == len(set(ids))


def test_a_module_scoped_fixture_of_the_project_works_with_rows(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(autouse=True, scope="module")
        def around(): yield
        """
    )

    result = pytester.runpytest("--sop-domain=lab", RIGHT)

    result.assert_outcomes(passed=6)
