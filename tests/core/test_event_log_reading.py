"""An event log read back is the trace that was written, so that it can be judged again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import (
    Approval,
    Ending,
    Finding,
    FindingKind,
    Problem,
    Returned,
    ReturnedKind,
    ToolCall,
    Trace,
    Usage,
)
from pytest_sopbench._core.records.event_log import SCHEMA, event_log, trace_of_log
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome, Verdict

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
    calls=st.none() | st.integers(0, 3),
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


def test_a_log_of_a_newer_version_is_refused() -> None:
    newer = log_of(Trace(ending=Ending.RETURNED)).replace(
        f'"schema": {SCHEMA}', f'"schema": {SCHEMA + 1}'
    )

    with pytest.raises(ValueError, match="newer"):
        trace_of_log(newer)


def test_a_log_that_lacks_a_key_is_refused() -> None:
    odd = log_of(Trace(ending=Ending.RETURNED)).replace('"duration_s"', '"took_s"')

    with pytest.raises(ValueError, match="missing or unknown keys"):
        trace_of_log(odd)


def test_the_usage_of_a_run_without_calls_is_there() -> None:
    trace = replace(Trace(ending=Ending.RETURNED), usage=Usage(cost_usd=0.5))

    assert 0.5 == trace_of_log(log_of(trace)).usage.cost_usd


def test_a_log_of_before_has_calls_one_after_the_other() -> None:
    trace = Trace(
        ending=Ending.RETURNED,
        calls=(ToolCall(name="a", arguments={}, overlaps=1), ToolCall(name="b", arguments={})),
        approvals=(Approval(step="s", by="b", calls=1),),
    )
    before = log_of(trace).replace(' "overlaps": 1,', "").replace(' "calls": 1,', "")

    read = trace_of_log(before)

    assert [0, 0] == [call.overlaps for call in read.calls]
    assert read.approvals[0].calls is None
