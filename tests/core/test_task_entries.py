"""What a project says of single tasks, held against what came of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from pytest_sopbench._core.gates.decide import quarantine_verdicts
from pytest_sopbench._core.gates.quarantine import (
    NO_ENTRIES,
    PolicyReport,
    TaskEntries,
    TaskPolicy,
    report_entries,
)
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from tests.builders.runs import run

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
