"""Several agents in one session: by marks, and by a fixture with parameters."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
FIXTURE = """
import pytest
import habits

@pytest.fixture(params=["right", "always_pass"]{scope})
def sop_agent(request):
    return getattr(habits, request.param)
"""
GROUPS = ["lab (right): TSR*6 of 6, *", "lab (always_pass): TSR*2 of 6, *"]
MODES = [
    pytest.param((), id="plain"),
    pytest.param(("-n2",), id="two-workers"),
    pytest.param(("--sop-concurrency=4",), id="in-flight"),
]


@pytest.fixture(autouse=True)
def fixture_of_two_agents(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(FIXTURE.format(scope=', scope="session"'))


@pytest.mark.parametrize("options", MODES)
def test_a_test_runs_for_each_agent_of_the_fixture(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    pytester.makepyfile(
        test_one="def test_one(sop_run): sop_run.assert_correct()",
        test_other="def test_other(sop_task, sop_run): sop_run.assert_correct()",
    )

    result = pytester.runpytest(LAB, *options, "-q", "--tb=no", "test_one.py", "test_other.py")

    result.assert_outcomes(passed=16, failed=8)
    for line in GROUPS:
        result.stdout.fnmatch_lines([line])


@pytest.mark.parametrize("options", MODES)
def test_the_zero_file_run_has_a_group_for_each_agent(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    result = pytester.runpytest(LAB, *options, "-q", "--tb=no")

    result.assert_outcomes(passed=8, failed=4)
    for line in GROUPS:
        result.stdout.fnmatch_lines([line])


def test_a_fixture_that_lasts_for_one_test_serves_all_tests_of_a_task(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(FIXTURE.format(scope=""))
    pytester.makepyfile(
        """
        def test_one(sop_run): sop_run.assert_correct()
        def test_other(sop_agent, sop_run): sop_run.assert_correct()
        """
    )

    result = pytester.runpytest(
        LAB, "-q", "--tb=no", "test_a_fixture_that_lasts_for_one_test_serves_all_tests_of_a_task.py"
    )

    result.assert_outcomes(passed=16, failed=8)


def test_each_agent_has_keys_of_its_own_which_a_resumed_session_finds(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(LAB, "--sop-save=before", "--tb=no")

    result = pytester.runpytest(LAB, "--sop-resume=before", "--tb=no")

    result.stdout.fnmatch_lines(["resumed 12 of 12 runs from before"])
    result.assert_outcomes(passed=8, failed=4)


def test_the_run_of_one_agent_is_made_again_by_its_id(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("domains/lab/data.csv::T_02[always_pass]")

    result.assert_outcomes(failed=1)


def test_a_domain_with_two_agents_counts_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.sop(agent="habits:right")
        def test_one(sop_run): pass

        @pytest.mark.sop(agent="habits:always_pass", answer="ignored")
        def test_other(sop_run): pass
        """
    )
    name = "test_a_domain_with_two_agents_counts_once.py"

    result = pytester.runpytest(LAB, name)
    quiet = pytester.runpytest(LAB, "-q", name)

    result.stdout.no_fnmatch_line("*domains, agent*")
    quiet.stdout.fnmatch_lines(["lab (habits:right): TSR*", "lab (habits:always_pass): TSR*"])
