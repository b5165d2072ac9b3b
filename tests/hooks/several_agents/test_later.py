"""Sessions of several agents that are resumed, compared and merged: agents are known by name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.commands import ran

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
RIGHT, SECOND, THREE = (
    "--agent=habits:right",
    "--agent=habits:loses_second",
    "--agent=habits:loses_three",
)


@pytest.fixture
def both(pytester: pytest.Pytester, lab: Path) -> None:
    """The saved session `both` of two agents."""
    pytester.runpytest(LAB, RIGHT, SECOND, "--sop-save=both")


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(
    ("agents", "line"),
    [
        pytest.param((SECOND, RIGHT), "resumed 12 of 12 runs from both", id="in-another-order"),
        pytest.param((RIGHT, THREE, SECOND), "resumed 12 of 18 runs from both", id="one-more"),
        pytest.param((SECOND,), "resumed 6 of 6 runs from both", id="one-of-them"),
    ],
)
def test_a_session_is_resumed_by_the_agents_that_it_shares(
    pytester: pytest.Pytester, agents: tuple[str, ...], line: str
) -> None:
    result = pytester.runpytest(LAB, *agents, "--sop-resume=both", "--tb=no")

    result.stdout.fnmatch_lines([line])


def test_a_session_of_one_agent_is_resumed_by_two(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, SECOND, "--sop-save=one")

    result = pytester.runpytest(LAB, RIGHT, SECOND, "--sop-resume=one", "--tb=no")

    result.stdout.fnmatch_lines(["resumed 6 of 12 runs from one"])


@pytest.mark.usefixtures("both")
def test_a_session_without_an_agent_in_common_is_not_resumed(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, THREE, "--sop-resume=both")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*agent: habits:right, habits:loses_second there, *"])


def test_another_agent_of_the_same_name_is_not_taken_for_it(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, "--agent=desk=habits:right", SECOND, "--sop-save=named")

    result = pytester.runpytest(LAB, "--agent=desk=habits:empty", SECOND, "--sop-resume=named")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*agent desk: habits:right there, habits:empty here*"])


def test_each_agent_is_compared_with_itself(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, "--agent=desk=habits:right", SECOND, "--sop-save=main")

    result = pytester.runpytest(
        LAB,
        SECOND,
        "--agent=desk=habits:loses_three",
        "--sop-compare=main",
        "--sop-gate=lost=1",
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lab (habits:loses_second): lost tasks <= 1 holds (got 0)",
            "gate   lab (desk): lost tasks <= 1 does not hold (got 3)*",
        ]
    )
    result.stdout.no_fnmatch_line("gate   all*")


@pytest.mark.usefixtures("both")
def test_one_agent_is_compared_with_itself_among_two(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, SECOND, "--sop-compare=both", "--sop-gate=lost=0")

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lost tasks <= 0 holds (got 0)",
            "       agent habits:right is in the baseline and did not run here; it is left out",
        ]
    )


@pytest.mark.usefixtures("both")
def test_an_agent_that_the_baseline_has_not_passes_no_gate_on_it(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(LAB, RIGHT, THREE, "--sop-compare=both", "--sop-gate=lost=0")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "gate   lab (habits:right): lost tasks <= 0 holds (got 0)",
            "gate   lab (habits:loses_three): lost tasks <= 0 inconclusive (got 0): only 0 of*",
        ]
    )


@pytest.mark.usefixtures("both")
def test_a_baseline_without_an_agent_in_common_ends_the_session_first(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(LAB, THREE, "--agent=x=habits:right", "--sop-compare=both")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*it has runs of habits:loses_second, habits:right, and none of*"])


@pytest.mark.usefixtures("both")
def test_the_saved_session_answers_as_the_session_did(pytester: pytest.Pytester) -> None:
    held = ran("gate", "both", "--gate", "tsr=0.9@right")
    fails = ran("gate", "both", "--gate", "tsr=0.9")
    shown = ran("show", "both")
    page = ran("report", "both")

    assert (0, 1) == (held.ret, fails.ret)
    fails.stdout.fnmatch_lines(["gate   lab (habits:loses_second): TSR >= 90% does not hold*"])
    shown.stdout.fnmatch_lines(["grade 'fail' -> 'unknown': T_02[[]loses_second]"])
    page.stdout.fnmatch_lines(["## Leaderboard"])


def test_shards_of_two_agents_are_merged_in_whichever_order_these_were_given(
    pytester: pytest.Pytester,
) -> None:
    pytester.runpytest(LAB, RIGHT, SECOND, "--sop-shard=1/2", "--sop-save=one")
    pytester.runpytest(LAB, SECOND, RIGHT, "--sop-shard=2/2", "--sop-save=two")

    merged = ran("merge", "one", "two", "--out", "whole")
    gated = ran("gate", "whole", "--gate", "tsr=1", "--json")

    assert 0 == merged.ret
    gates = json.loads(gated.stdout.str())["gates"]
    assert {"lab (habits:right)": 1.0, "lab (habits:loses_second)": 5 / 6} == {
        one["where"]: one["got"] for one in gates
    }


@pytest.mark.usefixtures("both")
def test_what_disagrees_between_agents_is_not_called_flaky(pytester: pytest.Pytester) -> None:
    result = ran("compare", "--flaky", "both")

    assert 2 == result.ret
    result.stderr.fnmatch_lines(["*of several agents: habits:loses_second, habits:right"])


@pytest.mark.usefixtures("both")
def test_a_task_is_explained_by_one_agent_with_the_others_beside(
    pytester: pytest.Pytester,
) -> None:
    result = ran("show", "both", "T_02", "--explain")

    result.stdout.fnmatch_lines(
        [
            "task     lab/T_02: wrong: *",
            "agent    habits:loses_second",
            "beside   habits:right: 1 of 1 run correct",
        ]
    )


@pytest.mark.usefixtures("both")
def test_a_comparison_for_programs_pools_no_two_agents(pytester: pytest.Pytester) -> None:
    result = ran("compare", "both", "both", "--json")

    (compared,) = json.loads(result.stdout.str())["compared"]
    assert {"lab (habits:right)", "lab (habits:loses_second)"} == compared["groups"].keys()
    assert compared["pooled"] is None


@pytest.mark.usefixtures("both")
def test_a_table_of_sessions_has_a_row_for_each_agent(pytester: pytest.Pytester) -> None:
    result = ran("compare", "both", "both", "both")

    assert 3 == sum("both (habits:right)" in line for line in result.outlines)
    assert 3 == sum("both (habits:loses_second)" in line for line in result.outlines)


KILLED = """
import os, signal
from habits import number, right

def agent(inputs, tools):
    if number(inputs) == 3 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return right(inputs, tools)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_session_that_was_killed_is_resumed_in_another_order_and_with_one_more(
    pytester: pytest.Pytester, newest: Callable[[], Path | None], workers: tuple[str, ...]
) -> None:
    pytester.makepyfile(fatal=KILLED)
    pytester.runpytest_subprocess(LAB, RIGHT, "--agent=x=fatal:agent")
    killed = newest()

    result = pytester.runpytest(
        LAB, "--agent=x=fatal:agent", SECOND, RIGHT, f"--sop-resume={killed}", *workers
    )

    # Both agents had run two tasks, and the first of them the third as well.
    result.stdout.fnmatch_lines(["resumed 5 of 18 runs from *"])
    result.assert_outcomes(passed=17, failed=1)
