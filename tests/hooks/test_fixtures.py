"""The fixtures in a user's own tests: what they give, and what decides such a test.

These tests run pytest as a user does, in a folder that holds a test file, an agent and a domain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LAB = ("--sop-domain=lab", "test_lab.py")
RIGHT = ("--agent=habits:right", *LAB)


def test_a_test_runs_once_for_each_task(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(test_lab="def test_task(sop_task): assert sop_task.domain == 'lab'")

    result = pytester.runpytest(*LAB, "-v")

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["test_lab.py::test_task[[]lab/T_01[]] PASSED*"])


def test_a_task_has_its_inputs_and_what_is_expected(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_task(sop_task):
            assert {"sample_id": sop_task.id} == dict(sop_task.inputs)
            assert sop_task.expected["grade"] in ("pass", "retest", "fail")
        """
    )

    result = pytester.runpytest(*LAB)

    result.assert_outcomes(passed=6)


def test_what_a_test_writes_into_its_task_reaches_no_agent_and_no_other_test(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(
        peeking="def agent(inputs): return {'grade': inputs.get('grade', 'none')}",
        test_lab="""
        import pytest

        @pytest.fixture(autouse=True)
        def told(sop_task, sop_domain):
            sop_task.inputs["grade"] = sop_task.expected["grade"]
            for task in sop_domain.tasks:
                task.inputs["grade"] = task.expected["grade"]

        def test_run(sop_run):
            sop_run.task.inputs["seen"] = True
            sop_run.assert_correct()

        @pytest.mark.sop(answer="ignored")
        def test_run_again(sop_run, sop_domain):
            assert "seen" not in sop_run.task.inputs
            assert "grade" not in sop_run.task.inputs
            assert all("grade" not in one.inputs for one in sop_domain.tasks)
            assert sop_run.outcome != "correct"
        """,
    )

    result = pytester.runpytest("--agent=peeking:agent", *LAB)

    result.assert_outcomes(passed=6, failed=6)
    result.stdout.fnmatch_lines(["FAILED test_lab.py::test_run[[]lab/T_06[]]*grade is 'non*"])


def test_what_a_test_writes_into_a_task_that_is_a_document_reaches_nobody(
    pytester: pytest.Pytester,
) -> None:
    desk = pytester.mkdir("domains") / "desk"
    desk.mkdir()
    (desk / "metadata.json").write_text('{"name": "desk", "output_schema": "answer.schema.json"}')
    (desk / "answer.schema.json").write_text(
        '{"type": "object", "properties": {"step": {"type": "string"}}, "required": ["step"]}'
    )
    (desk / "sop.md").write_text("1. Every guest takes a step.\n")
    rows = [{"id": f"G_{n}", "inputs": {"said": [n]}, "expected": {"step": f"{n}"}} for n in (1, 2)]
    (desk / "tasks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    pytester.makepyfile(
        peeking="def agent(inputs): return {'step': str(inputs['said'][-1])}",
        test_lab="""
        import pytest

        @pytest.fixture(autouse=True)
        def told(sop_task, sop_domain):
            for task in (sop_task, *sop_domain.tasks):
                task.inputs["said"].append("wrong")

        def test_run(sop_run):
            sop_run.assert_correct()
        """,
    )

    result = pytester.runpytest("--agent=peeking:agent", "--sop-domain=desk", "test_lab.py")

    result.assert_outcomes(passed=2)


def test_the_answer_of_a_run_is_read_by_name(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        explaining="""
        from habits import right

        def agent(inputs, tools):
            return {**right(inputs, tools), "reason": "the reading decides"}
        """,
        test_lab="""
        def test_reason(sop_run, sop_task):
            assert sop_task.expected["grade"] == sop_run.answer["grade"]
            assert "the reading decides" == sop_run.answer["reason"]
        """,
    )

    result = pytester.runpytest("--agent=explaining:agent", *LAB)

    result.assert_outcomes(passed=6)


def test_the_domain_alone_gives_one_item_for_each_domain(
    pytester: pytest.Pytester, lab: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)
    pytester.makepyfile(
        test_lab="def test_domain(sop_domain): assert len(sop_domain.tasks) in (3, 6)"
    )

    result = pytester.runpytest("--sop-domain=lab,clinic", "test_lab.py", "-v")

    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*test_domain[[]lab[]] PASSED*", "*test_domain[[]clinic[]]*"])


def test_the_domain_beside_a_task_is_that_of_the_task(
    pytester: pytest.Pytester, lab: Path, make_domain: Callable[..., Path]
) -> None:
    make_domain("clinic", tasks=3)
    pytester.makepyfile(
        test_lab="def test_both(sop_task, sop_domain): assert sop_task.domain == sop_domain.name"
    )

    result = pytester.runpytest("--sop-domain=lab,clinic", "test_lab.py")

    result.assert_outcomes(passed=9)


def test_a_toolbox_is_fresh_for_each_test(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_reading(sop_task, sop_tools):
            assert sop_tools.names == ("measure",) or sop_tools.names == ["measure"]
            assert "reading" in sop_tools.call("measure", sample_id=sop_task.id)
        """
    )

    result = pytester.runpytest(*LAB)

    result.assert_outcomes(passed=6)


def test_calls_by_hand_belong_to_no_run(
    pytester: pytest.Pytester, lab: Path, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_reading(sop_task, sop_tools, sop_run):
            for _ in range(5):
                sop_tools.execute_tool("measure", {})
            assert len(sop_run.trajectory) == 1
        """
    )

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)
    assert 1.0 == saved().summary["domains"]["lab"]["tool_accuracy"]


def test_a_toolbox_is_closed_after_its_test(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        from pytest_sopbench.errors import ToolError
        KEPT = []
        def test_first(sop_tools): KEPT.append(sop_tools)
        def test_later():
            with pytest.raises(ToolError):
                KEPT[0].call("measure", sample_id="T_01")
        """
    )

    result = pytester.runpytest(*LAB)

    result.assert_outcomes(passed=7)


def test_a_run_tells_what_happened(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        chatty="""
        def agent(inputs, tools):
            print("measuring")
            tools.call("measure", sample_id=inputs["sample_id"])
            return {"grade": "pass"}
        """,
        test_lab="""
        from pytest_sopbench._core.verdict import Outcome
        def test_run(sop_run, sop_task):
            assert sop_run.task == sop_task
            assert sop_run.answer.values == {"grade": "pass"}
            assert sop_run.output == "measuring\\n"
            assert [call.name for call in sop_run.trajectory] == ["measure"]
            assert len(sop_run.trace.calls) == 1
            assert sop_run.outcome in (Outcome.CORRECT, Outcome.WRONG)
            assert repr(sop_run) == f"<Run lab/{sop_task.id}: {sop_run.outcome}>"
            assert sop_run.verdict.completed
        """,
    )

    result = pytester.runpytest("--agent=chatty:agent", *LAB)

    result.assert_outcomes(passed=6)


def test_several_tests_share_one_run(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_first(sop_run): pass
        def test_second(sop_run): sop_run.assert_correct()
        """
    )

    result = pytester.runpytest("--agent=habits:counted", *LAB)

    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["TSR*correct, 6 of 6 *"])
    assert 6 == len((pytester.path / "calls.txt").read_text().splitlines())


def test_several_tests_share_one_run_under_xdist(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_first(sop_run): pass
        def test_second(sop_run): sop_run.assert_correct()
        """
    )

    result = pytester.runpytest("--agent=habits:counted", *LAB, "-n2")

    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(["TSR*correct, 6 of 6 *"])
    calls = (pytester.path / "calls.txt").read_text().splitlines()
    assert [f"T_0{number}" for number in range(1, 7)] == sorted(calls)


def test_a_built_in_test_and_a_users_test_share_one_run(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(test_lab="def test_first(sop_run): pass")

    result = pytester.runpytest("--agent=habits:counted", *LAB, "domains/lab/data.csv")

    result.assert_outcomes(passed=12)
    assert 6 == len((pytester.path / "calls.txt").read_text().splitlines())


def test_asking_for_the_task_alone_runs_no_agent(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(test_lab="def test_task(sop_task): pass")

    result = pytester.runpytest("--agent=habits:counted", *LAB)

    result.assert_outcomes(passed=6)
    result.stdout.no_fnmatch_line("TSR*")
    assert not (pytester.path / "calls.txt").exists()


@pytest.mark.parametrize(
    ("agent", "body", "passes"),
    [
        pytest.param("right", "pass", True, id="a correct run"),
        pytest.param("wrong", "pass", False, id="a wrong run that nobody looked at"),
        pytest.param("wrong", "sop_run.verdict", True, id="a wrong run that was looked at"),
        pytest.param("wrong", "sop_run.outcome", False, id="reading the outcome decides nothing"),
        pytest.param("wrong", "sop_run.answer", False, id="reading the answer decides nothing"),
        pytest.param("wrong", "sop_run.assert_correct()", False, id="asserted to be correct"),
        pytest.param("silent", "sop_run.verdict", False, id="no answer, though looked at"),
        pytest.param("raising", "sop_run.verdict", False, id="an error, though looked at"),
    ],
)
def test_a_users_test_is_decided_by_its_assertions_and_the_run(
    pytester: pytest.Pytester, lab: Path, agent: str, body: str, *, passes: bool
) -> None:
    pytester.makepyfile(test_lab=f"def test_run(sop_run): {body}")

    result = pytester.runpytest(f"--agent=habits:{agent}", *LAB)

    result.assert_outcomes(passed=6 * passes, failed=6 * (not passes))


@pytest.mark.parametrize(
    ("agent", "passes"),
    [
        pytest.param("wrong", True, id="a wrong run passes"),
        pytest.param("silent", False, id="no answer fails"),
        pytest.param("raising", False, id="an error fails"),
    ],
)
def test_a_test_may_ignore_the_answer_but_not_a_run_without_one(
    pytester: pytest.Pytester, lab: Path, agent: str, *, passes: bool
) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.mark.sop(answer="ignored")
        def test_run(sop_run): pass
        """
    )

    result = pytester.runpytest(f"--agent=habits:{agent}", *LAB)

    result.assert_outcomes(passed=6 * passes, failed=6 * (not passes))


def test_looking_at_the_verdict_in_one_test_decides_nothing_for_another(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(
        test_lab="""
        def test_looks(sop_run): assert not sop_run.verdict.correct
        def test_does_not(sop_run): pass
        """
    )

    result = pytester.runpytest("--agent=habits:wrong", *LAB)

    result.assert_outcomes(passed=6, failed=6)


def test_a_failure_of_a_users_test_shows_the_task_and_how_to_run_it_again(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makepyfile(test_lab="def test_run(sop_run): sop_run.assert_correct()")

    result = pytester.runpytest("--agent=habits:wrong", *LAB, "-k", "T_02")

    result.stdout.fnmatch_lines(
        [
            "*task*lab/T_02*domains/lab/data.csv:3",
            "*again*pytest 'test_lab.py::test_run[[]lab/T_02[]]' --sop-domain=lab *=habits:wrong",
        ]
    )


def test_an_async_agent_is_awaited(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(test_lab="def test_run(sop_run): sop_run.assert_correct()")

    result = pytester.runpytest("--agent=habits:right_later", *LAB)

    result.assert_outcomes(passed=6)


def test_a_project_may_build_its_own_agent(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeconftest(
        """
        import pytest, habits
        @pytest.fixture(scope="session")
        def sop_agent():
            return lambda inputs, tools: habits.right(inputs, tools)
        """
    )
    pytester.makepyfile(test_lab="def test_run(sop_run): sop_run.assert_correct()")

    result = pytester.runpytest(*LAB)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["*SOP: lab, agent fixture sop_agent*"])


def test_a_projects_own_agent_may_wrap_the_one_of_the_command_line(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def sop_agent(sop_agent):
            def agent(inputs, tools):
                return {"grade": sop_agent(inputs, tools)["grade"].upper()}
            return agent
        """
    )
    pytester.makepyfile(
        test_lab="def test_run(sop_run): assert sop_run.answer.values['grade'].isupper()"
    )

    result = pytester.runpytest(*RIGHT)

    result.assert_outcomes(passed=6)


def test_built_in_tests_use_the_projects_own_agent(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makeconftest(
        """
        import pytest, habits
        @pytest.fixture(scope="session")
        def sop_agent():
            return habits.right
        """
    )

    result = pytester.runpytest("--sop-domain=lab")

    result.assert_outcomes(passed=6)


def test_a_projects_own_agent_that_is_no_agent_fails_by_name(
    pytester: pytest.Pytester, lab: Path
) -> None:
    pytester.makeconftest(
        """
        import pytest
        @pytest.fixture(scope="session")
        def sop_agent():
            return 42
        """
    )
    pytester.makepyfile(test_lab="def test_run(sop_run): pass")

    result = pytester.runpytest(*LAB)

    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*int object is not an agent*"])


def test_the_agent_fixture_alone_needs_no_domain(pytester: pytest.Pytester, lab: Path) -> None:
    pytester.makepyfile(
        test_lab="""
        import habits
        def test_agent(sop_agent): assert sop_agent is habits.right
        """
    )

    result = pytester.runpytest("--agent=habits:right", "test_lab.py")

    result.assert_outcomes(passed=1)


def test_two_agents_of_the_same_test_session_are_told_apart(
    pytester: pytest.Pytester, lab: Path, saved: Callable[[], Any]
) -> None:
    pytester.makepyfile(
        test_lab="""
        import pytest
        @pytest.mark.sop(agent="habits:right")
        def test_first(sop_run): sop_run.assert_correct()
        @pytest.mark.sop(agent="habits:silent")
        def test_second(sop_run): pass
        """
    )

    result = pytester.runpytest(*LAB)

    result.assert_outcomes(passed=6, failed=6)
    result.stdout.fnmatch_lines(
        ["*SOP: lab, agent habits:right*", "TSR*6 of 6*", "*SOP: lab, agent habits:silent*"]
    )
    assert {"lab (habits:right)", "lab (habits:silent)"} == set(saved().summary["domains"])


def test_reruns_never_replace_a_verdict(
    pytester: pytest.Pytester, lab: Path, saved: Callable[[], Any]
) -> None:
    """A plugin that runs failed tests again must not turn wrong tasks into right ones."""
    pytester.makepyfile(
        fickle="""
        SEEN = set()
        def agent(inputs, tools):
            from habits import right
            new = inputs["sample_id"] not in SEEN
            SEEN.add(inputs["sample_id"])
            return {"grade": "unknown"} if new else right(inputs, tools)
        """
    )
    pytester.makeconftest(
        """
        import pytest
        from _pytest.runner import runtestprotocol
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            reports = runtestprotocol(item, nextitem=nextitem, log=False)
            if any(report.failed for report in reports):
                item._initrequest()
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """
    )

    pytester.runpytest("--sop-domain=lab", "--agent=fickle:agent")

    assert 0.0 == saved().summary["domains"]["lab"]["tsr"]
