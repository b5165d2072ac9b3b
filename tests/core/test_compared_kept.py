"""What comparers found survives every way in which a run is kept, and secrets in it do not."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, RunKey, Task
from pytest_sopbench._core.model.trace import Compared, Ending, Returned, ReturnedKind, Trace
from pytest_sopbench._core.records.event_log import event_log, trace_of_log
from pytest_sopbench._core.records.lines import from_line, to_line, trace_from_json, trace_to_json
from pytest_sopbench._core.records.record import record_of
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.lines import Skimmer

RULES = JudgingRules(
    fields=(OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL),)
)
TASK = Task(
    domain="claims", id="C", line=2, inputs={}, expected={"reason": "late"}, results={}, hash="h"
)
RETURNED = Returned(kind=ReturnedKind.MAPPING, mapping={"reason": "too late"})
FINDINGS = st.builds(
    Compared,
    field=st.just("reason"),
    held=st.sampled_from([True, False, None]),
    # A line with these capitals is read whole, and not glanced at.
    why=st.text(st.characters(exclude_characters="NI", codec="utf-8"), max_size=20),
    score=st.none() | st.floats(0, 1),
    quote=st.sampled_from(["", "too late", "late"]),
)


@given(FINDINGS)
def test_what_was_found_is_kept_and_judged_alike(one: Compared) -> None:
    trace = Trace(ending=Ending.RETURNED, returned=RETURNED, compared=(one,))
    verdict = judge(RULES, TASK, trace)
    record = record_of(RULES, TASK, trace, verdict)
    log = event_log(RunKey("claims", "C", 1, "a"), RULES, trace, verdict, NOTHING_REDACTED)

    line = to_line(record)
    skimmed = Skimmer()(json.loads(line))

    assert trace == trace_from_json(json.loads(json.dumps(trace_to_json(trace))))
    assert (one,) == from_line(line).compared == skimmed.compared == trace_of_log(log).compared
    assert Skimmer().glance(line.encode()) is None
    assert verdict.outcome is judge(RULES, TASK, trace_of_log(log)).outcome


@pytest.mark.parametrize(
    ("answer", "quote", "is_read"),
    [
        pytest.param("too late", "too  late", True, id="folded"),
        pytest.param("too late", "in time", False, id="of-something-else"),
        pytest.param("too *** late", "too hunter2 late", True, id="masked-answer"),
        pytest.param("a" * 5_000, "b", True, id="cut-answer"),
        pytest.param(["too", "late"], '"late"', True, id="a-list"),
        pytest.param("too late", "too***late", True, id="masked-quote"),
        pytest.param("too late", "in***time", False, id="masked-quote-of-something-else"),
    ],
)
def test_a_quote_is_looked_for_in_the_answer_whenever_a_line_is_read(
    answer: JsonValue, quote: str, is_read: bool
) -> None:
    """Gates, pages and whoever judges again read lines, and none of them asks the judge."""
    one = Compared(field="reason", held=True, quote=quote)
    returned = Returned(kind=ReturnedKind.MAPPING, mapping={"reason": answer})
    trace = Trace(ending=Ending.RETURNED, returned=returned, compared=(one,))
    line = to_line(record_of(RULES, TASK, trace, judge(RULES, TASK, trace)))

    with nullcontext() if is_read else pytest.raises(ValueError, match="does not say"):
        assert (one,) == from_line(line).compared
    with nullcontext() if is_read else pytest.raises(ValueError, match="does not say"):
        assert (one,) == Skimmer()(json.loads(line)).compared


def test_a_line_without_findings_is_as_short_as_before() -> None:
    trace = Trace(ending=Ending.RAISED)
    record = record_of(RULES, TASK, trace, judge(RULES, TASK, trace))

    assert not {"compared", "ignored"} & json.loads(to_line(record)).keys()
    assert Skimmer()(json.loads(to_line(record))).compared == ()


def test_a_secret_in_a_reason_is_masked() -> None:
    one = Compared(field="reason", held=False, why="not s3cret")
    trace = Trace(ending=Ending.RETURNED, returned=RETURNED, compared=(one,))
    redaction = Redaction(patterns=(re.compile("s3cret"),))
    verdict = judge(RULES, TASK, trace)

    kept = redaction.record(record_of(RULES, TASK, trace, verdict))
    log = event_log(RunKey("claims", "C", 1, "a"), RULES, trace, verdict, redaction)

    assert "s3cret" not in to_line(kept) + log
    assert (replace(one, why="not ***"),) == kept.compared == redaction.trace(trace).compared
