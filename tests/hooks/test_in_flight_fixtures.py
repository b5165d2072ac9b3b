"""What is begun before its test comes, and what is not: never a run of another agent or task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

MakeDomain = Callable[..., Path]
MANY = ("--sop-concurrency=6",)

pytestmark = pytest.mark.usefixtures("lab")


def calls(pytester: pytest.Pytester) -> list[str]:
    path = pytester.path / "calls.txt"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize(
    "mark",
    [
        pytest.param("skip", id="skip"),
        pytest.param("skipif(True, reason='no')", id="skipif"),
        pytest.param("xfail(run=False)", id="xfail"),
    ],
)
def test_what_may_never_ask_for_its_run_is_not_run_ahead(
    pytester: pytest.Pytester, make_domain: MakeDomain, mark: str
) -> None:
    make_domain("other", tasks=7)
    pytester.makepyfile(
        test_marked=f"""
        import pytest

        @pytest.mark.sop(domain="lab")
        def test_first(sop_run): pass

        @pytest.mark.{mark}
        @pytest.mark.sop(domain="other")
        def test_second(sop_run): pass
        """
    )

    result = pytester.runpytest("--agent=habits:counted", *MANY, "test_marked.py")

    assert 6 == result.parseoutcomes()["passed"]
    assert sorted(f"T_{n:02}" for n in range(1, 7)) == sorted(calls(pytester))


def test_what_is_expected_to_fail_makes_its_run_when_it_asks(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_marked="""
        import pytest

        @pytest.mark.xfail(strict=True)
        def test_first(sop_run):
            assert sop_run.answer["grade"] == "no"
        """
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=habits:counted", *MANY, "test_marked.py"
    )

    result.assert_outcomes(xfailed=6)
    assert 6 == len(calls(pytester))


def test_an_agent_made_for_each_test_makes_the_run_of_its_own_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from habits import counted

        @pytest.fixture
        def sop_agent(request):
            mine = request.node.callspec.id
            def agent(inputs, tools):
                assert mine == f"lab/{inputs['sample_id']}"
                return counted(inputs, tools)
            return agent
        """
    )
    pytester.makepyfile(test_own="def test_own(sop_run): pass")

    result = pytester.runpytest("--sop-domain=lab", *MANY, "test_own.py")

    result.assert_outcomes(passed=6)
    assert 6 == len(calls(pytester))


def test_two_modules_with_agents_of_their_own_get_their_own(
    pytester: pytest.Pytester, make_domain: MakeDomain
) -> None:
    make_domain("other")
    module = """
        import pytest
        from habits import right

        @pytest.fixture(scope="session")
        def sop_agent():
            def {name}(inputs, tools, domain):
                assert "{domain}" == domain
                return right(inputs, tools)
            return {name}

        @pytest.mark.sop(domain="{domain}")
        def test_it(sop_run): pass
        """
    pytester.makepyfile(
        test_one=module.format(name="one", domain="lab"),
        test_two=module.format(name="two", domain="other"),
    )

    result = pytester.runpytest(*MANY, "test_one.py", "test_two.py")

    result.assert_outcomes(passed=12)


def test_a_task_that_a_fixture_changes_is_the_one_that_the_agent_is_given(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(
        """
        import pytest
        from dataclasses import replace

        @pytest.fixture
        def sop_task(sop_task):
            return replace(sop_task, inputs={**sop_task.inputs, "sample_id": "changed"})
        """
    )
    pytester.makepyfile(
        seeing="def agent(inputs):\n    assert 'changed' == inputs['sample_id']\n    return 'pass'",
        test_changed="""
        import pytest

        @pytest.mark.sop(answer="ignored")
        def test_changed(sop_run): pass
        """,
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=seeing:agent", *MANY, "test_changed.py"
    )

    result.assert_outcomes(passed=6)


def test_agents_of_two_marks_each_make_their_own_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_two="""
        import pytest

        @pytest.mark.sop(agent="habits:right")
        def test_right(sop_run): pass

        @pytest.mark.sop(agent="habits:always_pass")
        def test_pass(sop_run):
            assert (sop_run.task.expected["grade"] == "pass") == sop_run.verdict.correct
        """
    )

    result = pytester.runpytest("--sop-domain=lab", *MANY, "test_two.py")

    result.assert_outcomes(passed=12)


def test_a_parametrized_agent_makes_no_run_ahead_of_another_one(pytester: pytest.Pytester) -> None:
    """Both are called the same, so that a run of one would be taken for the other's."""
    pytester.makeconftest(
        """
        import pytest
        import habits

        @pytest.fixture(scope="session", params=["right", "wrong"])
        def sop_agent(request):
            def agent(inputs, tools):
                with open("calls.txt", "a") as file:
                    file.write(f"{request.param}-{inputs['sample_id']}\\n")
                return habits.right(inputs, tools)
            return agent
        """
    )
    pytester.makepyfile(test_param="def test_param(sop_agent, sop_run): pass")

    with_many = pytester.runpytest("--sop-domain=lab", *MANY, "test_param.py")
    made_by_many = sorted(calls(pytester))
    (pytester.path / "calls.txt").unlink()
    alone = pytester.runpytest("--sop-domain=lab", "test_param.py")

    assert alone.parseoutcomes() == with_many.parseoutcomes()
    assert sorted(calls(pytester)) == made_by_many
