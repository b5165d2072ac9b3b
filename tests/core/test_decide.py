"""The one decision on a session: every fact that can fail one whose gate holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.comparing.compare import compare
from pytest_sopbench._core.comparing.comparison import ComparedSession
from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.gates.conditions import GateSpec, GateState
from pytest_sopbench._core.gates.decide import SessionFacts, decide, refused_as_baseline
from pytest_sopbench._core.gates.quarantine import Forgiven, PolicyReport, RunsOfEntry, TaskPolicy
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome

HOLDS, FAILS, UNKNOWN = GateState.HOLDS, GateState.FAILS, GateState.INCONCLUSIVE
TASK = TaskName("lab", "T1")
ENTRY = RunsOfEntry(entry=TaskPolicy(name=TASK, must_pass=True), runs=1, correct=0)


def runs(correct: int, wrong: int, never: int = 0) -> Summary:
    counts = {Outcome.CORRECT: correct, Outcome.WRONG: wrong, Outcome.NOT_RUN: never}
    of = {outcome: count for outcome, count in counts.items() if count}
    return Summary(runs=correct + wrong + never, tasks=correct + wrong + never, outcomes=of)


def breaking(severity: Severity) -> RunRecord:
    rule = RuleResult(
        id="no-wire",
        clause="",
        severity=severity,
        kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN,
        why="wire was called",
        applies=True,
    )
    return RunRecord(domain="lab", task="T1", outcome=Outcome.CORRECT, rules=(rule,))


NEVER_STARTED: dict[str, Any] = {
    "summaries": {"lab": runs(9, 1, 1)},
    "asked": {About.ANSWERS: {"lab": runs(9, 1)}},
}
MAY_BREAK = Forgiven(rules={TASK: frozenset({"no-wire"})})
RIGHT = SessionFacts(gates=[GateSpec(name="tsr", value=0.5)], summaries={"lab": runs(9, 1)})
SAME = ComparedSession(
    name="main", records=[RunRecord(domain="lab", task="T1", outcome=Outcome.CORRECT)]
)
LOST = ComparedSession(
    name="now", records=[RunRecord(domain="lab", task="T1", outcome=Outcome.WRONG)]
)
OF_LAB = [GateSpec(name="tsr", value=0.5, domain="lab")]
NONE_LOST = [*RIGHT.gates, GateSpec(name="lost", value=0)]


def test_a_gate_that_holds_and_nothing_else_passes() -> None:
    assert HOLDS is decide(RIGHT).state


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"summaries": {"lab": runs(1, 9)}}, FAILS, id="too few are right"),
        pytest.param(
            NEVER_STARTED,
            UNKNOWN,
            id="a run never started",
        ),
        pytest.param({"summaries": {}}, UNKNOWN, id="no run at all"),
        pytest.param({"gates": []}, UNKNOWN, id="nothing was asked"),
        pytest.param({"records": [breaking(Severity.MUST)]}, FAILS, id="a must rule is broken"),
        pytest.param({"records": [breaking(Severity.SHOULD)]}, HOLDS, id="a lesser rule is"),
        pytest.param(
            {"records": [breaking(Severity.SHOULD)], "enforces": True}, FAILS, id="all are enforced"
        ),
        pytest.param(
            {"records": [breaking(Severity.MUST)], "forgiven": Forgiven(answers=frozenset({TASK}))},
            FAILS,
            id="the task that broke it may fail",
        ),
        pytest.param(
            {"records": [breaking(Severity.MUST)], "forgiven": MAY_BREAK},
            HOLDS,
            id="the task may break it",
        ),
        pytest.param(
            {
                "records": [breaking(Severity.MUST)],
                "forgiven": Forgiven(rules={TASK: frozenset({"other"})}),
            },
            FAILS,
            id="the task may break another one",
        ),
        pytest.param({"gates": NONE_LOST}, UNKNOWN, id="no baseline"),
        pytest.param({"gates": NONE_LOST, "is_baseline": True}, HOLDS, id="it is the baseline"),
        pytest.param(
            {"gates": NONE_LOST[-1:], "is_baseline": True},
            FAILS,
            id="it is the baseline, and no gate bounds its misses",
        ),
        pytest.param(
            {"summaries": {"lab": runs(9, 1), "clinic": runs(0, 9)}, "gates": OF_LAB},
            FAILS,
            id="misses of a domain that no gate asks",
        ),
        pytest.param(
            {"summaries": {"lab": runs(9, 1), "clinic": runs(9, 0)}, "gates": OF_LAB},
            HOLDS,
            id="no misses in a domain that no gate asks",
        ),
        pytest.param(
            {"gates": NONE_LOST, "comparison": compare(SAME, LOST)}, FAILS, id="a task was lost"
        ),
        pytest.param({"gates": NONE_LOST, "comparison": compare(SAME, SAME)}, HOLDS, id="none was"),
        pytest.param({"entries": PolicyReport(broken=(ENTRY,))}, FAILS, id="it must pass"),
        pytest.param({"entries": PolicyReport(unsure=(ENTRY,))}, UNKNOWN, id="it may have passed"),
        pytest.param({"entries": PolicyReport(expired=(ENTRY.entry,))}, FAILS, id="expired"),
        pytest.param({"entries": PolicyReport(failed=(ENTRY,))}, HOLDS, id="it may fail"),
        pytest.param({"failures": 1}, FAILS, id="another test failed"),
        pytest.param({"failures": None}, UNKNOWN, id="others may have failed"),
        pytest.param({"not_evaluated": "-k took 1 away"}, UNKNOWN, id="not all were selected"),
        pytest.param({"not_evaluated": "-k", "failures": 1}, FAILS, id="and another test failed"),
        pytest.param(
            {"not_evaluated": "-k", "entries": PolicyReport(broken=(ENTRY,))},
            FAILS,
            id="and a task that must pass did not",
        ),
        pytest.param({"doubt": "line 3 is damaged"}, UNKNOWN, id="a damaged file"),
        pytest.param({"is_ended": False}, UNKNOWN, id="no end"),
        pytest.param(
            {"is_ended": False, "summaries": {"lab": runs(1, 9)}}, FAILS, id="no end, and too few"
        ),
        pytest.param(
            {"doubt": "line 3", "records": [breaking(Severity.MUST)]},
            FAILS,
            id="both",
        ),
    ],
)
def test_what_decides(change: dict[str, Any], expected: GateState) -> None:
    assert expected is decide(replace(RIGHT, **change)).state


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        pytest.param({"gates": NONE_LOST}, "", id="there is nothing yet to be compared with"),
        pytest.param({"gates": NONE_LOST[-1:]}, "", id="no gate bounds its misses"),
        pytest.param({"gates": []}, "", id="nothing was asked"),
        pytest.param(
            {"summaries": {"lab": runs(1, 9)}}, "a gate does not hold", id="too few are right"
        ),
        pytest.param(
            NEVER_STARTED,
            "a gate does not hold",
            id="a run never started",
        ),
        pytest.param(
            {"records": [breaking(Severity.MUST)]},
            "a gate does not hold",
            id="a must rule is broken",
        ),
        pytest.param(
            {"entries": PolicyReport(broken=(ENTRY,))},
            "the tasks file fails the session",
            id="it must pass",
        ),
    ],
)
def test_which_session_may_become_the_baseline(change: dict[str, Any], refused: str) -> None:
    assert refused == refused_as_baseline(replace(RIGHT, **change))


BAD: list[dict[str, Any]] = [
    NEVER_STARTED,
    {"records": [breaking(Severity.MUST)]},
    {"entries": PolicyReport(broken=(ENTRY,))},
    {"failures": 2},
    {"failures": None},
    {"not_evaluated": "-k"},
    {"doubt": "line 3 is damaged"},
    {"is_ended": False},
]


@given(st.lists(st.sampled_from(BAD), min_size=1), st.integers(0, 20), st.integers(0, 20))
def test_nothing_makes_up_for_what_speaks_against_a_session(
    bad: list[dict[str, Any]], correct: int, wrong: int
) -> None:
    facts = replace(RIGHT, summaries={"lab": runs(correct, wrong)})
    for change in bad:
        facts = replace(facts, **change)

    assert HOLDS is not decide(facts).state
