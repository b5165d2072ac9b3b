"""Calls that an agent makes at the same time, as tests, snapshots and contracts meet them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.builders.commands import SOPBENCH

AGENTS = """
import asyncio


def grade(reading):
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


async def measured(inputs, tools, *order):
    names = {"own": inputs["sample_id"], "blank": "blank"}
    made = [tools.acall("measure", sample_id=names[one]) for one in order]
    found = await asyncio.gather(*made, return_exceptions=True)
    return grade(found[order.index("own")]["reading"])


async def together(inputs, tools):
    return await measured(inputs, tools, "own", "blank")


async def the_other_first(inputs, tools):
    return await measured(inputs, tools, "blank", "own")


def in_turn(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    tools.execute_tool("measure", {"sample_id": "blank"})
    return grade(reading)


def knowing(inputs):
    return {"grade": ("pass", "retest", "fail")[int(inputs["sample_id"][-1]) % 3]}
"""
STEPS = """
def test_steps(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""
LAB = ("-psyrupy", "--sop-domain=lab", "--sop-sample=first:1", "test_steps.py")


@pytest.fixture(autouse=True)
def clerks(pytester: pytest.Pytester, lab: Path) -> Path:
    pytester.makepyfile(clerks=AGENTS)
    return lab


def test_an_order_is_asserted_of_calls_that_ended_and_either_order_of_the_others(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_orders="""
        def test_both_orders(sop_task, sop_run):
            own, blank = (("measure", {"sample_id": name}) for name in (sop_task.id, "blank"))
            for expected in ([own, blank], [blank, own], [[own, blank]]):
                sop_run.assert_trajectory(expected)
                sop_run.assert_trajectory(expected, match="in_order")

        def test_no_call_waited_for_another(sop_run):
            sop_run.assert_called("measure", before="measure")

        def test_a_departure_says_which_steps_overlap(sop_run):
            sop_run.assert_trajectory(["measure"])
        """
    )

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-sample=first:1", "--agent=clerks:together", "test_orders.py"
    )

    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*overlapping steps, taken in any order: 1 to 2"])


def test_a_snapshot_holds_whatever_began_first_and_approving_agrees(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_steps=STEPS)
    snapshot = pytester.path / "sop_snapshots" / "lab" / "T_01.json"
    pytester.runpytest(*LAB, "--agent=clerks:together", "--snapshot-update")
    written = snapshot.read_text()

    result = pytester.runpytest(*LAB, "--agent=clerks:the_other_first")
    snapshot.unlink()
    done = subprocess.run(
        [*SOPBENCH, "approve", "last", "--reason", "seen"],
        cwd=pytester.path,
        check=True,
        capture_output=True,
        text=True,
    )

    result.assert_outcomes(passed=1)
    (group,) = json.loads(written)["calls"]
    assert ["T_01", "blank"] == [call["arguments"]["sample_id"] for call in group]
    assert "1 approved" in done.stdout
    assert written == snapshot.read_text()


def test_calls_that_were_approved_in_turn_and_overlap_are_a_change(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_steps=STEPS)
    pytester.runpytest(*LAB, "--agent=clerks:in_turn", "--snapshot-update")

    result = pytester.runpytest(*LAB, "--agent=clerks:together")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*1 early: lab/T_01 departs from its snapshot"])


def test_a_gate_on_the_contract_holds_where_no_rule_is_broken(
    pytester: pytest.Pytester, clerks: Path
) -> None:
    """An agent that rightly calls no tool breaks no rule."""
    path = clerks / "metadata.json"
    rules = [{"id": "once", "severity": "must", "at_most": {"measure": 1}}]
    path.write_text(json.dumps({**json.loads(path.read_text()), "contract": {"rules": rules}}))

    result = pytester.runpytest(
        "--sop-domain=lab", "--agent=clerks:knowing", "--sop-gate=contract=0.95"
    )

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["rules  contract 100.0% (6 of 6 runs)"])
