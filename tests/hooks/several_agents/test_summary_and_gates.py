"""What a session with several agents prints and decides: each agent by itself, never together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
RIGHT, SECOND = "--agent=habits:right", "--agent=habits:loses_second"
BOTH = (RIGHT, SECOND)


def test_the_summary_ends_in_a_leaderboard_and_has_no_rate_of_two_agents(
    pytester: pytest.Pytester, make_domain: Callable[..., Path], workers: tuple[str, ...]
) -> None:
    make_domain("clinic", tasks=9)

    result = pytester.runpytest("--sop-domain=lab,clinic", "--tb=no", *BOTH, *workers)

    result.stdout.fnmatch_lines(
        [
            "*SOP: 2 domains, agent habits:right: mean, and pooled*",
            "TSR   100.0% correct, 15 of 15 *",
            "*SOP: 2 domains, agent habits:loses_second: mean, and pooled*",
            "TSR    86.7% correct, 13 of 15 *",
            "*SOP: leaderboard, 2 agents, rates in %*",
            "agent *",
            "right        100.0 *",
            "loses_second  86.7 *",
            "pairs  too few tasks differ to tell: right and loses_second (2 tasks to 0, p =",
        ]
    )
    result.stdout.no_fnmatch_line("* of 30 *")


def test_one_agent_has_no_leaderboard(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, RIGHT)

    result.stdout.no_fnmatch_line("*SOP: leaderboard*")


def test_a_selection_is_told_of_once(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, *BOTH, "--sop-sample=first:3", "--tb=no")

    result.stdout.fnmatch_lines(["select 3 of 6 tasks of lab", "       by --sop-sample=first:3"])


def test_a_pair_is_not_compared_where_a_run_of_one_agent_was_taken_away(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(
        LAB,
        *BOTH,
        "--tb=no",
        "--sop-gate=tsr=0.1",
        "--deselect=domains/lab/data.csv::T_03[right]",
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "pairs  not compared: right and loses_second: they did not run the same tasks",
            "gate   not evaluated: --deselect took 1 of 12 selected tasks away*",
        ]
    )


def test_a_gate_is_asked_of_each_agent(pytester: pytest.Pytester) -> None:
    """A good agent must not hide a bad one."""
    result = pytester.runpytest(LAB, RIGHT, "--agent=bad=habits:silent", "--sop-gate=tsr=0.5")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "no_answer: no answer was found in the text; mark it: <grade>...</grade>:",
            "  T_01[[]bad], T_02[[]bad]*",
            "gate   lab (habits:right): TSR >= 50% holds (got 100%)",
            "gate   lab (bad): TSR >= 50% does not hold (got 0%)*",
        ]
    )
    result.stdout.no_fnmatch_line("gate   all*")


@pytest.mark.parametrize("name", ["right", "habits:right"])
def test_a_gate_may_name_one_agent(
    pytester: pytest.Pytester, name: str, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        LAB, RIGHT, "--agent=bad=habits:silent", f"--sop-gate=lab:tsr=0.9@{name}", *workers
    )

    assert pytest.ExitCode.OK == result.ret
    result.stdout.fnmatch_lines(["gate   lab (habits:right): TSR >= 90% holds (got 100%)"])


def test_a_gate_on_an_agent_that_is_not_tested_ends_the_session_first(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(LAB, *BOTH, "--sop-gate=tsr=0.9@wright")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*tsr=0.9@wright: no such agent*", "*right, loses_second"])


def test_a_gate_on_an_agent_that_nobody_tests_costs_no_run(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(LAB, "--agent=habits:counted", "--sop-gate=tsr=0.9@nobody")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*tsr=0.9@nobody: no such agent*", "the agent is counted"])
    assert not (pytester.path / "calls.txt").exists()


def test_junit_tells_the_agent_where_there_are_several(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, *BOTH, "--junitxml=both.xml")
    pytester.runpytest(LAB, RIGHT, "--junitxml=one.xml")

    def agents(name: str) -> set[str | None]:
        found = ET.parse(pytester.path / name).iter("property")  # noqa: S314 - pytest wrote it
        return {one.get("value") for one in found if one.get("name") == "sop.agent"}

    assert {"habits:right", "habits:loses_second"} == agents("both.xml")
    assert set() == agents("one.xml")


def test_the_page_has_a_leaderboard_and_no_rate_of_two_agents(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, *BOTH, "--sop-report=md=page.md")

    page = (pytester.path / "page.md").read_text("utf-8")
    assert page.startswith("# SOP: lab, agent habits:right, habits:loses_second\n")
    assert "## Leaderboard\n\n| agent | TSR, % |" in page
    assert "| loses_second | 83.3 |" in page
    assert "| outcome | right | loses_second |" in page
    assert "**1 run is not correct, and no gate was checked**" in page
    assert "of 12" not in page


def test_a_saved_session_has_a_total_of_each_agent_alone(
    pytester: pytest.Pytester, saved: Callable[..., Any]
) -> None:
    pytester.runpytest(LAB, *BOTH)

    summary = saved().summary
    assert summary["total"] is None
    correct = {name: one["pooled"]["correct"] for name, one in summary["agents"].items()}
    assert {"habits:right": 6, "habits:loses_second": 5} == correct


def test_snapshots_of_several_agents_are_not_written_over_one_another(
    pytester: pytest.Pytester,
) -> None:
    pytest.importorskip("syrupy")
    pytester.makepyfile(
        test_it="def test_it(sop_run, sop_snapshot): assert sop_run.trajectory == sop_snapshot"
    )

    result = pytester.runpytest(LAB, *BOTH, "-psyrupy", "--snapshot-update", "test_it.py")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*a task has one snapshot, and several agents run it*"])
    assert not (pytester.path / "snapshots").exists()


COSTS = """
from habits import right

def told(inputs, tools):
    tools.report(usage={"cost_usd": 0.01, "input_tokens": 900, "output_tokens": 100})
    return right(inputs, tools)
"""


def test_money_is_bounded_only_where_every_agent_tells_its_cost(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(priced=COSTS)

    result = pytester.runpytest(LAB, "--agent=priced:told", RIGHT, "--sop-budget=5usd")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the first run that returned reported no cost*"])


def test_tokens_and_cost_are_those_of_each_agent(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(priced=COSTS)

    result = pytester.runpytest(LAB, "--agent=priced:told", RIGHT)

    result.stdout.fnmatch_lines(["told *1.0k $0.010 *", "right * n/a *n/a *"])
