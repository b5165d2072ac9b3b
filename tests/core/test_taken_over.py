"""A run that is taken over stands as it was judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.model.trace import Ending, Mismatch, Problem
from pytest_sopbench._core.records.reconstruct import NOTE, trace_of, verdict_of
from pytest_sopbench._core.records.record import CallRecord, RunRecord, TrajectoryCheck
from pytest_sopbench._core.verdict import Outcome

WRONG = RunRecord(
    domain="lab",
    task="T_1",
    outcome=Outcome.WRONG,
    reason="one field differs",
    answer={"grade": "pass"},
    answer_form="mapping",
    mismatches=(Mismatch(field="grade", expected="fail", actual="pass", why="different"),),
    calls=(CallRecord(name="measure", arguments={"id": 1}, result={"reading": 90}),),
    trajectory=TrajectoryCheck(held=False, departure="step 1: another tool"),
    unneeded=1,
    grounded=False,
    duration_s=1.5,
    notes=("a note",),
)


def test_the_verdict_is_the_one_of_the_record() -> None:
    verdict = verdict_of(WRONG)

    assert (Outcome.WRONG, "one field differs") == (verdict.outcome, verdict.reason)
    assert WRONG.mismatches == verdict.mismatches
    assert verdict.answer is not None
    assert {"grade": "pass"} == verdict.answer.values
    assert ("step 1: another tool", 1, False) == (
        verdict.departure,
        verdict.unneeded,
        verdict.grounded,
    )


@pytest.mark.parametrize(
    ("trajectory", "departure"),
    [
        pytest.param(None, None, id="nothing expected"),
        pytest.param(TrajectoryCheck(held=True), "", id="held"),
    ],
)
def test_a_departure_that_is_none_is_told_from_one_that_is_not_known(
    trajectory: TrajectoryCheck | None, departure: str | None
) -> None:
    assert departure == verdict_of(replace(WRONG, trajectory=trajectory)).departure


def test_the_trace_has_what_the_record_has_and_says_that_it_is_not_whole() -> None:
    trace = trace_of(WRONG)

    assert ["measure"] == [call.name for call in trace.calls]
    assert trace.returned is not None
    assert {"grade": "pass"} == trace.returned.mapping
    assert 1.5 == trace.duration
    assert ("a note", NOTE) == trace.notes


@pytest.mark.parametrize(
    ("outcome", "ending"),
    [
        (Outcome.NO_ANSWER, Ending.RETURNED),
        (Outcome.ERROR, Ending.RAISED),
        (Outcome.TIMEOUT, Ending.TIMED_OUT),
        (Outcome.CALL_LIMIT, Ending.OVER_LIMIT),
    ],
)
def test_a_run_ended_as_its_outcome_says(outcome: Outcome, ending: Ending) -> None:
    problem = Problem(type="ValueError", message="no")

    trace = trace_of(replace(WRONG, outcome=outcome, problem=problem))

    assert ending is trace.ending
    assert (ending is Ending.RETURNED) == (trace.returned is not None)
    assert problem == trace.problem
