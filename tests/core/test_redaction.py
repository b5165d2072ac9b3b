"""What is taken out, wherever it stands; and what stays, so that a run stays this run."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import (
    Answer,
    Mismatch,
    Outcome,
    OutputField,
    RunKey,
    RunRecord,
    ToolCall,
    Trace,
    Verdict,
)
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import MASK, FieldType
from pytest_sopbench._core.model.trace import (
    AnswerForm,
    Approval,
    Ending,
    Finding,
    FindingKind,
    Problem,
    Returned,
    ReturnedKind,
    Usage,
)
from pytest_sopbench._core.records.event_log import event_log
from pytest_sopbench._core.records.record import CallRecord, TrajectoryCheck, to_line
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction

KEY_TEXT = "12345"
SECRET = f"sk-{KEY_TEXT}"
REDACTION = Redaction(patterns=(re.compile("sk-[0-9]+"),))
BROKEN = RuleResult(
    id="r",
    clause="1",
    severity=Severity.MUST,
    kind=DemandKind.FORBIDS,
    state=RuleState.BROKEN,
    why=f"step 1, {SECRET}",
)
RECORD = RunRecord(
    domain="lab",
    task="T_1",
    outcome=Outcome.WRONG,
    reason=SECRET,
    answer={"grade": f"x {SECRET}"},
    expected={"grade": SECRET},
    mismatches=(Mismatch(field="grade", expected=SECRET, actual=[SECRET], why=SECRET),),
    text=f"<a>{SECRET}</a>",
    calls=(
        CallRecord(
            name=SECRET,
            arguments={"key": SECRET, "n": 1},
            result={"deep": [{"er": SECRET}]},
            findings=(SECRET,),
        ),
        CallRecord(name="a", arguments=None, error=SECRET),
    ),
    problem=Problem(type="ValueError", message=SECRET, traceback=f"in f: {SECRET}"),
    disagreement=SECRET,
    rules=(BROKEN,),
    trajectory=TrajectoryCheck(held=False, departure=SECRET),
    notes=(SECRET,),
)
TRACE = Trace(
    ending=Ending.RETURNED,
    returned=Returned(
        kind=ReturnedKind.TEXT, text=f"grade {SECRET}", declared_error=f"no {SECRET}"
    ),
    problem=RECORD.problem,
    calls=(
        ToolCall(
            name="measure",
            arguments={"key": SECRET, "sample": "S"},
            result={"reading": 5},
            findings=(
                Finding(kind=FindingKind.UNKNOWN_PARAMETER, parameter="key", message=SECRET),
            ),
            started=0.5,
            duration=0.25,
        ),
        ToolCall(name="measure", arguments={}, error=SECRET, started=0.75),
    ),
    approvals=(Approval(step=SECRET, by="Jo", started=0.5, calls=1),),
    usage=Usage(input_tokens=5),
    messages=({"role": "user", "content": SECRET},),
    output=f"{SECRET}\n",
    notes=(SECRET,),
)
KEY = RunKey("lab", "T_1", 2, "agent")
VERDICT = Verdict(
    outcome=Outcome.WRONG, reason=SECRET, rules=(BROKEN,), departure=f"step 1: {SECRET}"
)
GRADE = OutputField(name="grade", type=FieldType.TEXT)


def test_a_secret_is_taken_out_of_every_part_of_a_record() -> None:
    safe = REDACTION.part(RECORD)

    assert SECRET not in to_line(safe)
    assert 15 <= to_line(safe).count(MASK)
    assert (RECORD.key, RECORD.outcome) == (safe.key, safe.outcome)


def test_a_record_without_answer_problem_and_trajectory_stays_without() -> None:
    record = RunRecord(domain="lab", task="T_1", outcome=Outcome.CRASH)

    assert record == REDACTION.part(record)


def test_without_patterns_nothing_is_changed() -> None:
    assert RECORD is NOTHING_REDACTED.part(RECORD)
    assert TRACE.calls[0] is NOTHING_REDACTED.part(TRACE.calls[0])


@given(st.text())
def test_what_does_not_match_stays_as_it_is(text: str) -> None:
    kept = text.replace("sk-", "")

    assert kept == REDACTION.text(kept)


@pytest.mark.parametrize("value", [None, True, 5, 0.5, "text", [1, {"a": None}]])
def test_a_value_without_a_secret_is_the_same_value(value: object) -> None:
    assert value == REDACTION.value(value)  # type: ignore[arg-type] - a JSON value


def test_a_private_column_is_masked_by_its_name_at_any_depth() -> None:
    redaction = Redaction().of({"iban"})

    assert {"a": [{"iban": MASK, "b": 1}]} == redaction.value({"a": [{"iban": "X", "b": 1}]})
    assert {"iban": MASK} == redaction.part(
        RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, answer={"iban": "X"})
    ).answer


@pytest.mark.parametrize("value", [84627391, -84627391, 0.84627391, 5.084627391e20])
def test_a_number_is_masked_where_its_digits_are_a_secret(value: float) -> None:
    redaction = Redaction(patterns=(re.compile("84627391"),))

    assert {"n": [MASK, 8462, True, None]} == redaction.value({"n": [value, 8462, True, None]})


def test_a_number_that_differs_is_masked_as_any_other() -> None:
    redaction = Redaction(patterns=(re.compile("12345|^0$"),))
    mismatch = Mismatch(field="pin", expected=12345, actual=0, why="number off by 12345")

    masked = redaction.part(mismatch)

    assert Mismatch(field="pin", expected=MASK, actual=MASK, why=f"number off by {MASK}") == masked


def test_keys_are_masked_and_stay_as_many() -> None:
    values = {"sk-1": 1, "a": {"sk-2": 2, "sk-3": 3}, "b sk-4": 4}

    masked = REDACTION.value(values)  # type: ignore[arg-type] - a JSON value

    assert {"***": 1, "a": {"***": 2, "*** (2)": 3}, "b ***": 4} == masked


def test_the_names_of_fields_stay_as_they_are() -> None:
    record = replace(RECORD, answer={SECRET: SECRET}, expected={SECRET: SECRET})

    safe = REDACTION.part(record)

    assert {SECRET: MASK} == safe.answer == safe.expected


def test_the_type_of_an_exception_is_masked() -> None:
    problem = Problem(type=f"agent.Error_{SECRET}", message="")

    assert Problem(type="agent.Error_***", message="") == REDACTION.part(problem)


def test_no_part_of_a_trace_or_verdict_keeps_a_secret() -> None:
    answer = Answer(values={"grade": SECRET}, form=AnswerForm.MAPPING, why=SECRET)
    verdict = replace(VERDICT, answer=answer, mismatches=RECORD.mismatches)

    masked = REDACTION.part(TRACE), REDACTION.part(verdict)

    assert SECRET not in repr(masked)
    assert (VERDICT.outcome, TRACE.ending) == (masked[1].outcome, masked[0].ending)
    assert TRACE is NOTHING_REDACTED.part(TRACE)
    assert VERDICT is NOTHING_REDACTED.part(VERDICT)


def test_a_call_is_shown_without_its_secrets() -> None:
    shown = [REDACTION.part(call) for call in TRACE.calls]

    assert [{"key": MASK, "sample": "S"}, {}] == [call.arguments for call in shown]
    assert [None, MASK] == [call.error for call in shown]


def log(redaction: Redaction = NOTHING_REDACTED, *, private: bool = False) -> str:
    field = OutputField(name="grade", type=FieldType.TEXT, private=private)
    return event_log(KEY, JudgingRules(fields=(field,)), TRACE, VERDICT, redaction)


def test_a_log_tells_everything_in_the_order_of_time() -> None:
    text = log()

    types = [line.split('"')[3] for line in text.splitlines()]
    assert [
        "run", "approval", "call", "call", "message", "output", "answer", "problem", "usage", "end",
    ] == types  # fmt: skip
    assert text.isascii()
    assert 14 == text.count(SECRET)


def test_a_log_is_known_by_its_first_line() -> None:
    assert KEY == RunKey.read(json.loads(log().partition("\n")[0]))


def test_a_secret_is_taken_out_of_every_part_of_a_log() -> None:
    assert SECRET not in log(REDACTION)


def test_a_private_answer_stands_nowhere_in_a_log() -> None:
    text = log(private=True)

    assert '"text": "***", "problem"' in text
    assert '{"type": "message", "message": "***"}' in text
    assert '{"type": "output", "text": "***"}' in text


def test_a_run_that_raised_has_no_answer_in_its_log() -> None:
    trace = Trace(ending=Ending.RAISED)

    text = event_log(
        KEY, JudgingRules(fields=(GRADE,)), trace, Verdict(outcome=Outcome.ERROR), REDACTION
    )

    assert ["run", "usage", "end"] == [line.split('"')[3] for line in text.splitlines()]
