"""A trace that another process takes over is the trace that was made."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from pytest_sopbench._core.records.lines import trace_from_json, trace_to_json
from pytest_sopbench._core.values.json import JsonValue

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TIMES = st.floats(0, 1e9)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
COUNTS = st.none() | st.integers(0, 10**12)
USAGES = st.builds(
    Usage, input_tokens=COUNTS, output_tokens=COUNTS, model_calls=COUNTS, cost_usd=st.none() | TIMES
)
MANY_VALUES = st.lists(VALUES, max_size=2).map(tuple)
NOTES = st.lists(TEXT, max_size=2).map(tuple)
FINDINGS = st.builds(
    Finding,
    kind=st.sampled_from(FindingKind),
    parameter=TEXT,
    message=TEXT,
    copied=st.booleans(),
)
CALLS = st.builds(
    ToolCall,
    name=TEXT,
    arguments=VALUES,
    result=VALUES,
    error=st.none() | TEXT,
    findings=st.lists(FINDINGS, max_size=2).map(tuple),
    started=TIMES,
    duration=TIMES,
)
RETURNED = st.builds(
    Returned,
    kind=st.sampled_from(ReturnedKind),
    mapping=st.dictionaries(TEXT, VALUES, max_size=2),
    text=TEXT,
    problem=TEXT,
    declared_error=st.none() | TEXT,
    usage=USAGES,
    messages=MANY_VALUES,
    notes=NOTES,
)
TRACES = st.builds(
    Trace,
    ending=st.sampled_from(Ending),
    returned=st.none() | RETURNED,
    problem=st.none() | st.builds(Problem, type=TEXT, message=TEXT, traceback=TEXT),
    calls=st.lists(CALLS, max_size=2).map(tuple),
    approvals=st.lists(
        st.builds(Approval, step=TEXT, by=TEXT, started=TIMES, granted=st.booleans(), reason=TEXT),
        max_size=2,
    ).map(tuple),
    usage=USAGES,
    messages=MANY_VALUES,
    output=TEXT,
    duration=TIMES,
    notes=NOTES,
)


@given(TRACES)
def test_reading_is_the_inverse_of_writing(trace: Trace) -> None:
    line = json.dumps(trace_to_json(trace), ensure_ascii=True)

    found = trace_from_json(json.loads(line))

    assert trace == found
    # Equal is not enough: a text equals the member of an enumeration.
    assert repr(trace) == repr(found)


WHOLE = trace_to_json(Trace(ending=Ending.RETURNED, returned=Returned(kind=ReturnedKind.TEXT)))


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_key_that_is_missing_is_refused(name: str) -> None:
    data = {one: value for one, value in WHOLE.items() if one != name}

    with pytest.raises(ValueError, match=name):
        trace_from_json(data)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"ending": "exploded"}, id="an ending that is none"),
        pytest.param({"calls": [{"name": "x", "colour": "red"}]}, id="a call of another shape"),
        pytest.param({"usage": None}, id="no usage"),
        pytest.param({"problem": {"kind": "x"}}, id="a problem of another shape"),
    ],
)
def test_a_value_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"missing or unknown|of a wrong type"):
        trace_from_json({**WHOLE, **change})
