"""The one decision on a session: every fact that can fail one whose gate holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, RunRecord, Summary
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.conditions import GateSpec, GateState
from pytest_sopbench._core.gates.decide import (
    SessionFacts,
    decide,
    quarantine_verdicts,
    refused_as_baseline,
)
from pytest_sopbench._core.gates.quarantine import (
    NO_ENTRIES,
    Forgiven,
    PolicyReport,
    RunsOfEntry,
    TaskEntries,
    TaskPolicy,
    report_entries,
)
from pytest_sopbench._core.metrics.metric import About
from pytest_sopbench._core.model.task import TaskName
from tests.builders.runs import run

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
        pytest.param({"drafts": {"lab": "9 labels not reviewed"}}, UNKNOWN, id="a draft"),
        pytest.param(
            {"gates": OF_LAB, "drafts": {"clinic": "9 labels not reviewed"}},
            HOLDS,
            id="another domain is a draft",
        ),
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
        pytest.param(
            {"gates": NONE_LOST[-1:]}, "a gate does not hold", id="no gate bounds its misses"
        ),
        pytest.param({"failures": 2}, "a gate does not hold", id="other tests failed"),
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
    assert refused == refused_as_baseline(replace(RIGHT, **change)).partition(":")[0]


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


# What a project says of single tasks, held against what came of them.

LAST_DAY = date(2026, 12, 1)
NEXT_DAY = LAST_DAY + timedelta(days=1)
MAY_FAIL = TaskPolicy(name=TaskName("lab", "T1"), may_fail="flaky", until=LAST_DAY)
MUST_PASS = TaskPolicy(name=TaskName("lab", "T2"), must_pass=True)
ENTRIES = TaskEntries(entries={one.name: one for one in (MAY_FAIL, MUST_PASS)})


def test_a_task_may_fail_up_to_its_last_day() -> None:
    assert {MAY_FAIL.name} == ENTRIES.forgiven(LAST_DAY).answers
    assert () == ENTRIES.expired(LAST_DAY)
    assert not ENTRIES.forgiven(NEXT_DAY)
    assert (MAY_FAIL,) == ENTRIES.expired(NEXT_DAY)


def test_tasks_that_must_pass_never_may_fail() -> None:
    assert {MUST_PASS.name} == ENTRIES.must_pass
    assert MUST_PASS.name not in ENTRIES.forgiven(LAST_DAY).answers


def told(report: PolicyReport) -> dict[str, list[str]]:
    """The names of the lists that say something, with the tasks in them."""
    pairs = {
        "failed": [one.entry for one in report.failed],
        "passed": [one.entry for one in report.passed],
        "expired": list(report.expired),
        "broken": [one.entry for one in report.broken],
        "unsure": [one.entry for one in report.unsure],
    }
    return {name: [one.name.task for one in entries] for name, entries in pairs.items() if entries}


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        pytest.param([Outcome.WRONG], "failed", id="wrong"),
        pytest.param([Outcome.NO_ANSWER], "failed", id="no answer"),
        pytest.param([Outcome.CRASH], "", id="crash, which is not forgiven"),
        pytest.param([Outcome.CRASH, Outcome.WRONG], "failed", id="wrong beside a crash"),
        pytest.param([Outcome.CORRECT], "passed", id="correct"),
        pytest.param([Outcome.CORRECT, Outcome.WRONG], "failed", id="one of two"),
        pytest.param([Outcome.CORRECT, Outcome.NOT_RUN], "", id="not all were run"),
        pytest.param([Outcome.UNAVAILABLE], "", id="unavailable"),
    ],
)
def test_a_task_that_may_fail_did_or_did_not_or_nobody_knows(
    outcomes: list[Outcome], expected: str
) -> None:
    runs = [run("T1", one, trial=trial) for trial, one in enumerate(outcomes, start=1)]

    report = report_entries(runs, ENTRIES, LAST_DAY)

    assert ({expected: ["T1"]} if expected else {}) == told(report)
    assert not report.fails


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        pytest.param([Outcome.CORRECT], "", id="correct"),
        pytest.param([Outcome.CORRECT, Outcome.TIMEOUT], "broken", id="one trial of two"),
        pytest.param([Outcome.NOT_RUN, Outcome.WRONG], "broken", id="wrong where it was run"),
        pytest.param([Outcome.CORRECT, Outcome.UNAVAILABLE], "unsure", id="unavailable"),
        pytest.param([Outcome.NOT_RUN], "unsure", id="never started"),
    ],
)
def test_a_task_that_must_pass_did_or_did_not_or_nobody_knows(
    outcomes: list[Outcome], expected: str
) -> None:
    runs = [run("T2", one, trial=trial) for trial, one in enumerate(outcomes, start=1)]

    report = report_entries(runs, ENTRIES, LAST_DAY)

    assert ({expected: ["T2"]} if expected else {}) == told(report)
    assert bool(expected) is report.fails


JUDGED = "reason"
DOUBTS = {"lab": {JUDGED: "no calibration"}}


def missed(*fields: str) -> RunRecord:
    misses = tuple(Mismatch(field=one, expected="a", actual="b", why="different") for one in fields)
    return replace(run("T2", Outcome.WRONG), mismatches=misses)


@pytest.mark.parametrize(
    ("made", "expected", "state"),
    [
        pytest.param(run("T2", Outcome.CORRECT), "unsure", "inconclusive", id="right by it"),
        pytest.param(missed(JUDGED), "unsure", "inconclusive", id="wrong by it"),
        pytest.param(missed(JUDGED, "grade"), "broken", "does not hold", id="wrong without it"),
        pytest.param(run("T2", Outcome.CRASH), "broken", "does not hold", id="crash"),
    ],
)
def test_a_judge_that_must_not_decide_lets_no_task_pass(
    made: RunRecord, expected: str, state: str
) -> None:
    report = report_entries([made], ENTRIES, LAST_DAY, DOUBTS)

    assert {expected: ["T2"]} == told(report)
    assert report.fails
    assert [state] == [one.state.value for one in quarantine_verdicts(report)]


def test_a_task_that_a_judge_leaves_open_says_which() -> None:
    report = report_entries([run("T2", Outcome.CORRECT)], ENTRIES, LAST_DAY, DOUBTS)

    (verdict,) = quarantine_verdicts(report)

    why = "lab/T2 (the judge of lab, reason must not decide: no calibration)"
    assert why == verdict.why


def test_a_judge_of_another_domain_decides_nothing_here() -> None:
    made = [run("T2", Outcome.CORRECT)]

    assert {} == told(report_entries(made, ENTRIES, LAST_DAY, {"harbour": {JUDGED: "why"}}))


@pytest.mark.parametrize("outcome", [Outcome.CORRECT, Outcome.WRONG])
def test_an_expired_entry_fails_the_session_whatever_its_task_does(outcome: Outcome) -> None:
    report = report_entries([run("T1", outcome)], ENTRIES, NEXT_DAY)

    assert {"expired": ["T1"]} == told(report)
    assert report.fails


def test_entries_of_tasks_that_were_not_selected_say_nothing() -> None:
    assert PolicyReport() == report_entries([run("T3", Outcome.WRONG)], ENTRIES, NEXT_DAY)
    assert PolicyReport() == report_entries([run("T1", Outcome.WRONG)], NO_ENTRIES, NEXT_DAY)


def test_the_run_that_is_shown_is_the_first_that_says_something() -> None:
    outcomes = (Outcome.CORRECT, Outcome.UNAVAILABLE, Outcome.WRONG)
    runs = [run("T2", one, trial=trial) for trial, one in enumerate(outcomes, start=1)]

    (found,) = report_entries(runs, ENTRIES, LAST_DAY).broken

    assert runs[2] == found.first
    assert (3, 1) == (found.runs, found.correct)
