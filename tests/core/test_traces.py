"""An event log read back is the trace that was written, so that it can be judged again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import (
    Call,
    Mismatch,
    Outcome,
    RunKey,
    RunRecord,
    Task,
    ToolCall,
    Trace,
    Trajectory,
    Verdict,
)
from pytest_sopbench._core.contract import RuleResult
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.trace import (
    Approval,
    Ending,
    Finding,
    FindingKind,
    Problem,
    Returned,
    ReturnedKind,
    Usage,
)
from pytest_sopbench._core.records.event_log import (
    SCHEMA,
    event_log,
    events_of,
    trace_of_events,
    trace_of_log,
)
from pytest_sopbench._core.records.reconstruct import (
    CUT,
    NOTE,
    record_refusal,
    recorded_trajectory,
    refusal,
    trace_of,
    verdict_of,
)
from pytest_sopbench._core.records.record import (
    CallRecord,
    TrajectoryCheck,
    from_line,
    record_of,
    to_line,
)
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED
from pytest_sopbench._core.values.json import JsonValue

TEXT = st.text(max_size=8)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
FINDINGS = st.builds(
    Finding,
    kind=st.sampled_from(FindingKind),
    parameter=TEXT,
    message=TEXT,
    copied=st.booleans(),
)
RETURNED = st.builds(
    Returned,
    kind=st.sampled_from(ReturnedKind),
    mapping=st.dictionaries(TEXT, VALUES, max_size=2),
    text=TEXT,
    problem=TEXT,
    declared_error=st.none() | TEXT,
)
APPROVALS = st.builds(
    Approval,
    step=TEXT,
    by=TEXT,
    started=st.integers(0, 9).map(float),
    calls=st.integers(0, 3),
    granted=st.booleans(),
    reason=TEXT,
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    times = st.integers(0, 9).map(float)
    results = draw(st.lists(st.tuples(VALUES, st.none() | TEXT), max_size=3))
    calls = [
        ToolCall(
            name=draw(TEXT),
            arguments=draw(VALUES),
            result=result if error is None else None,
            error=error,
            findings=tuple(draw(st.lists(FINDINGS, max_size=2))),
            started=draw(times),
            duration=draw(times),
            overlaps=draw(st.integers(0, 2)),
        )
        for result, error in results
    ]
    approvals = draw(st.lists(APPROVALS, max_size=2))
    return Trace(
        ending=draw(st.sampled_from(Ending)),
        returned=draw(st.none() | RETURNED),
        problem=draw(st.none() | st.builds(Problem, type=TEXT, message=TEXT, traceback=TEXT)),
        calls=tuple(sorted(calls, key=lambda call: call.started)),
        approvals=tuple(sorted(approvals, key=lambda one: one.started)),
        usage=draw(st.builds(Usage, input_tokens=st.none() | st.integers(0, 9))),
        messages=tuple(draw(st.lists(VALUES, max_size=2))),
        output=draw(TEXT),
        duration=draw(times),
        notes=tuple(draw(st.lists(TEXT, max_size=2))),
    )


def log_of(trace: Trace) -> str:
    verdict = Verdict(outcome=Outcome.WRONG)
    return event_log(RunKey("d", "T"), JudgingRules(fields=()), trace, verdict, NOTHING_REDACTED)


@given(traces())
def test_a_log_gives_its_trace_back(trace: Trace) -> None:
    assert trace == trace_of_log(log_of(trace))


@given(traces())
def test_events_that_a_journal_keeps_give_their_trace_back(trace: Trace) -> None:
    found = trace_of_events(json.loads(json.dumps([*events_of(trace)])))

    assert trace == found
    # Equal is not enough: a text equals the member of an enumeration.
    assert repr(trace) == repr(found)


END: dict[str, object] = {"type": "end", "ending": "returned", "duration_s": 0.5, "notes": []}


@pytest.mark.parametrize(
    ("events", "why"),
    [
        pytest.param([], "no event says how the run ended", id="no end"),
        pytest.param([{"type": "later"}, END], "'later' is no event", id="an unknown event"),
        pytest.param([{**END, "ending": "exploded"}], "'ending' is of a wrong type", id="none"),
        pytest.param([{**END, "notes": "one"}], "'notes' is of a wrong type", id="no list"),
        pytest.param(
            [{"type": "output", "text": 7}, END], "'text' is of a wrong type", id="no text"
        ),
        pytest.param(
            [{"type": "call", "name": "x"}, END],
            "the event 'call' with missing or unknown keys: 'arguments'",
            id="a call of another shape",
        ),
        pytest.param(
            [{"type": "problem", "kind": "x"}, END],
            "missing or unknown keys: 'exception'",
            id="a problem of another shape",
        ),
    ],
)
def test_events_of_another_shape_are_refused(events: list[dict[str, object]], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        trace_of_events(events)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        pytest.param("", "cut short, or no event log", id="empty"),
        pytest.param('{"type": "other"}', "cut short, or no event log", id="foreign"),
        pytest.param("[1]\n", "missing or unknown keys", id="no object"),
        pytest.param("no JSON", "Expecting value", id="no JSON"),
    ],
)
def test_what_is_no_log_is_refused(log: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trace_of_log(log)


def test_a_log_that_was_cut_short_is_refused() -> None:
    whole = log_of(Trace(ending=Ending.RETURNED))

    with pytest.raises(ValueError, match="cut short"):
        trace_of_log("".join(whole.splitlines(keepends=True)[:-1]))


def test_a_log_of_another_version_is_refused() -> None:
    newer = log_of(Trace(ending=Ending.RETURNED)).replace(
        f'"schema": {SCHEMA}', f'"schema": {SCHEMA + 1}'
    )

    with pytest.raises(ValueError, match="another pytest-sopbench"):
        trace_of_log(newer)


def test_a_log_that_lacks_a_key_is_refused() -> None:
    odd = log_of(Trace(ending=Ending.RETURNED)).replace('"duration_s"', '"took_s"')

    with pytest.raises(ValueError, match="missing or unknown keys"):
        trace_of_log(odd)


def test_the_usage_of_a_run_without_calls_is_there() -> None:
    trace = replace(Trace(ending=Ending.RETURNED), usage=Usage(cost_usd=0.5))

    assert 0.5 == trace_of_log(log_of(trace)).usage.cost_usd


# Only a right run that keeps its contract may be approved.

HELD = RuleState.HELD


def rule(name: str, state: RuleState) -> RuleResult:
    return RuleResult(
        id=name,
        clause="",
        severity="should",  # type: ignore[arg-type]  # its word is enough
        kind=DemandKind.FORBIDS,
        state=state,
        why="",
        applies=True,
    )


@pytest.mark.parametrize(
    ("outcome", "rules", "why"),
    [
        pytest.param(Outcome.CORRECT, [], "", id="right, without contract"),
        pytest.param(Outcome.CORRECT, [rule("a", HELD)], "", id="right, and it holds"),
        pytest.param(
            Outcome.CORRECT,
            [rule("a", RuleState.BROKEN), rule("b", HELD), rule("c", RuleState.BROKEN)],
            "breaks a, c",
            id="right, and it does not hold",
        ),
        pytest.param(Outcome.WRONG, [], "wrong", id="wrong"),
        pytest.param(Outcome.NO_ANSWER, [], "no answer", id="no answer"),
        pytest.param(Outcome.TIMEOUT, [rule("a", RuleState.BROKEN)], "timeout", id="both"),
    ],
)
def test_a_refusal_says_why(outcome: Outcome, rules: Sequence[RuleResult], why: str) -> None:
    assert why == refusal(outcome, rules)


def recorded(arguments: Any) -> RunRecord:
    task = Task(domain="d", id="t", line=2, inputs={}, expected={}, results={}, hash="")
    calls = (ToolCall(name="a", arguments=arguments), ToolCall(name="b", arguments={}))
    trace = Trace(ending=Ending.RETURNED, calls=calls)
    return record_of(JudgingRules(fields=()), task, trace, Verdict(outcome=Outcome.CORRECT))


def test_arguments_that_a_record_had_to_cut_cannot_be_approved_from_it() -> None:
    assert record_refusal(recorded({"text": "x" * 3_000})) == CUT


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"text": "x"}, id="short"),
        pytest.param({"sha256": "x", "characters": 1}, id="names of a cut one"),
        pytest.param({"sha256": 1, "characters": 1}, id="a number as hash"),
        pytest.param("text", id="no object"),
    ],
)
def test_arguments_in_full_can(arguments: Any) -> None:
    record = recorded(arguments)

    assert record_refusal(record) == ""
    assert Call(name="a", arguments=arguments) == recorded_trajectory(record)[0]


def test_a_recorded_run_that_is_wrong_is_refused_for_that() -> None:
    record = RunRecord(domain="d", task="t", outcome=Outcome.WRONG, calls=())

    assert record_refusal(record) == "wrong"


def test_the_recorded_trajectory_is_that_of_the_calls() -> None:
    calls = (CallRecord(name="a", arguments={"x": 1}), CallRecord(name="b", arguments={}))
    record = RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls)

    expected = Trajectory(calls=(Call(name="a", arguments={"x": 1}), Call(name="b", arguments={})))
    assert expected == recorded_trajectory(record)


def test_what_overlapped_is_in_the_line_of_a_run_and_nothing_is_where_nothing_did() -> None:
    calls = (CallRecord(name="a", arguments={}, overlaps=1), CallRecord(name="b", arguments={}))
    record = RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls)

    line = to_line(record)

    assert 1 == line.count('"overlaps"')
    assert record == from_line(line)
    assert [1, 0] == [call.overlaps for call in recorded_trajectory(from_line(line))]
    assert [1, 0] == [call.overlaps for call in trace_of(from_line(line)).calls]


def test_a_line_of_before_has_calls_one_after_the_other() -> None:
    calls = (CallRecord(name="a", arguments={}, overlaps=1), CallRecord(name="b", arguments={}))
    line = to_line(RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=calls))

    read = from_line(line.replace(',"overlaps":1', ""))

    assert [0, 0] == [call.overlaps for call in read.calls]


# A run that is taken over stands as it was judged.

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
    unneeded={"b": 1},
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
    assert ("step 1: another tool", {"b": 1}, False) == (
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
