"""A run with all that is known of it: nothing cut, folded where it is long, harmless."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import ExpectedCall, Mismatch, Outcome, RunRecord, ToolCall, Trace
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.model.trace import Approval, Ending, Problem, Returned, ReturnedKind
from pytest_sopbench._core.records.record import CallRecord, TrajectoryCheck
from pytest_sopbench._reports.text import columns
from pytest_sopbench._reports.whole_run import (
    CHANGED,
    FOLD,
    NARROWEST,
    Page,
    WholeRun,
    run_lines,
    wrapped,
)

PAGE = Page(width=80)
REASON = "illness in the family, as the guest wrote in a long letter to the hotel"
DEPARTURE = "step 2: refund was called with other arguments than expected"
BROKEN = RuleResult(
    id="once",
    clause="2.2",
    severity=Severity.MUST,
    kind=DemandKind.AT_MOST,
    state=RuleState.BROKEN,
    why="step 3, refund: call 2 that succeeded",
)
RECORD = RunRecord(
    domain="hotel",
    task="H-1",
    agent="desk:agent",
    outcome=Outcome.WRONG,
    expected={"status": "refunded"},
    answer={"status": "refused"},
    answer_form="final_output",
    mismatches=(
        Mismatch(field="status", expected="refunded", actual="refused", why="other known label"),
    ),
    calls=(
        CallRecord(name="look_up", arguments={"id": "H-1"}, result={"paid": 250}),
        CallRecord(name="refund", arguments={"amount": 225.0, "reason": REASON}, error="full"),
        CallRecord(name="send", arguments="text", bad=True, findings=("unknown tool 'send'",)),
    ),
    rules=(BROKEN,),
    trajectory=TrajectoryCheck(held=False, departure=DEPARTURE),
    text="I refund.\n<status>refused</status>",
    duration_s=1.3,
)
EXPECTED = (
    ExpectedCall(name="look_up", arguments={"id": "H-1"}),
    ExpectedCall(name="refund", arguments={"amount": 200, "reason": REASON}),
)
TRACE = Trace(
    ending=Ending.RETURNED,
    returned=Returned(kind=ReturnedKind.TEXT, text="all of what the agent wrote"),
    calls=(ToolCall(name="look_up", arguments={"id": "H-1"}, result="x" * 2_000, started=0.5),),
    messages=(
        {"role": "assistant", "content": "I look\nit up.", "tool_calls": [{"id": "c1"}]},
        "a message of no known form",
    ),
    output="printed",
)


def lines_of(record: RunRecord = RECORD, page: Page = PAGE, **more: Any) -> list[str]:
    return list(run_lines(WholeRun(record=record, **more), page))


def block(lines: list[str], label: str) -> list[str]:
    """Return the lines of the first block with a label, without it."""
    start = next(at for at, line in enumerate(lines) if line[:9].rstrip() == label)
    end = start + 1
    while end < len(lines) and not lines[end][:9].strip():
        end += 1
    return [line[9:] for line in lines[start:end]]


def test_every_call_has_its_arguments_and_its_result_in_full() -> None:
    lines = lines_of()

    start = lines.index("call 1   look_up")
    assert lines[start : start + 11] == [
        "call 1   look_up",
        "  with   id: 'H-1'",
        "  result paid: 250",
        "call 2   refund",
        "  with   amount: 225.0",
        "         reason:",
        "           illness in the family, as the guest wrote in a long letter to the",
        "           hotel",
        "  error  full",
        "call 3   send",
        "  with   'text'",
    ]
    assert ["unknown tool 'send'"] == block(lines, "  bad")


@pytest.mark.parametrize(
    ("cell", "answer", "written"),
    [
        pytest.param("0.00", 0.75, "0", id="whole"),
        pytest.param("12.50", 12, "12.5", id="decimals"),
        pytest.param("1e999999", 1, "'1e999999'", id="larger than any float"),
        pytest.param("0.10000000000000000000001", 0.1, "'0.10000000000000000000001'", id="digits"),
        pytest.param("007", "7", "'007'", id="a text beside a text"),
        pytest.param("1", True, "'1'", id="a truth"),
        pytest.param("none", 1, "'none'", id="no number"),
    ],
)
def test_a_number_is_expected_as_numbers_are_given(cell: str, answer: Any, written: str) -> None:
    record = replace(RECORD, expected={"fee": cell}, answer={"fee": answer}, mismatches=())

    assert [f"fee: {written}"] == block(lines_of(record), "expected")


def test_the_first_departure_from_the_expected_calls_is_marked() -> None:
    lines = lines_of(expected_calls=EXPECTED)

    (marked,) = [line for line in lines if line.startswith(">")]
    assert marked.startswith(">  2 refund(amount=200, ")
    assert "refund(amount=225.0," in marked
    assert ["amount: expected 200, was 225.0"] == block(lines, "differs")
    assert CHANGED not in " ".join(lines)


def test_expected_calls_that_were_made_are_named_in_one_line() -> None:
    held = replace(RECORD, trajectory=TrajectoryCheck(held=True))
    made = (*(ExpectedCall(name=one.name) for one in RECORD.calls),)

    assert "expected exactly these calls" in lines_of(held, expected_calls=made)


def test_expected_calls_of_another_day_are_told() -> None:
    lines = lines_of(expected_calls=(ExpectedCall(name="close"),))

    assert CHANGED in " ".join(" ".join(lines).split())


def test_arguments_that_were_not_kept_are_not_compared() -> None:
    long = CallRecord(name="refund", arguments={"sha256": "a" * 64, "characters": 5_000})

    lines = lines_of(replace(RECORD, calls=(long,)), expected_calls=EXPECTED)

    assert not any(line.startswith(">") for line in lines)
    assert "too long for the session: 5000 characters," in " ".join(lines)


@pytest.mark.parametrize(
    ("clauses", "said"),
    [
        pytest.param({"2.2": "2.2 Never refund twice."}, ["2.2 Never refund twice."], id="found"),
        pytest.param({"2.2": ""}, ["2.2: not found in the SOP by its number"], id="not found"),
    ],
)
def test_a_broken_rule_stands_with_its_clause(clauses: dict[str, str], said: list[str]) -> None:
    assert said == block(lines_of(clauses=clauses), "  clause")


def test_the_event_log_gives_messages_output_and_whole_values() -> None:
    lines = lines_of(trace=TRACE, log=".sop/sessions/s.traces/hotel/H-1.jsonl")

    assert ["assistant", "I look", "it up.", 'tool_calls: [{"id": "c1"}]'] == block(lines, "msg 1")
    assert ["'a message of no known form'"] == block(lines, "msg 2")
    assert ["all of what the agent wrote"] == block(lines, "said")
    assert ["printed"] == block(lines, "output")
    assert "x" * 2_000 == "".join(block(lines, "  result"))
    assert [".sop/sessions/s.traces/hotel/H-1.jsonl"] == block(lines, "log")


def test_an_exception_comes_with_its_traceback() -> None:
    frame = f"  File {'x' * 200!r}, line 3"
    problem = Problem(type="E", message="no", traceback=f"Traceback:\n{frame}\n")

    assert ["E: no", "Traceback:", frame] == block(
        lines_of(replace(RECORD, problem=problem)), "raised"
    )


def test_a_process_that_died_has_calls_that_nobody_knows() -> None:
    died = replace(RECORD, outcome=Outcome.CRASH, calls=(), duration_s=None)

    assert ["n/a: the process of the run died, or it never began"] == block(
        lines_of(died, expected_calls=EXPECTED), "calls"
    )


@pytest.mark.parametrize(
    ("is_folded", "count"),
    [pytest.param(True, FOLD, id="folded"), pytest.param(False, 100, id="full")],
)
def test_a_block_of_more_than_40_lines_is_folded(is_folded: bool, count: int) -> None:
    text = "\n".join(f"line {number}" for number in range(100))

    said = block(lines_of(replace(RECORD, text=text), Page(width=80, is_folded=is_folded)), "said")

    assert count == len(said)
    assert ("... 61 more lines; --full shows them" == said[-1]) is is_folded


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_are_as_wide_as_the_terminal(width: int) -> None:
    text = "a word and another one " * 40

    widths = [columns(line) for line in lines_of(replace(RECORD, text=text), Page(width=width))]

    assert max(width, NARROWEST) - 30 < max(widths) <= max(width, NARROWEST)


@given(st.text(max_size=80), st.integers(min_value=4, max_value=30))
def test_wrapping_loses_nothing_but_blanks(text: str, width: int) -> None:
    parts = list(wrapped(text, width))

    assert all(columns(part) <= width for part in parts)
    assert text.replace(" ", "") == "".join(parts).replace(" ", "")


@given(st.text(max_size=60))
def test_nothing_that_a_run_holds_commands_a_terminal(text: str) -> None:
    record = replace(
        RECORD,
        task=text,
        text=text,
        reason=text,
        answer={text: text},
        calls=(CallRecord(name=text, arguments={text: [text]}, result={text: text}),),
        problem=Problem(type=text, message=text, traceback=text),
        notes=(text,),
    )
    message = {"role": text, "content": text, text: text}

    lines = lines_of(
        record,
        inputs={text: text},
        expected_calls=(ExpectedCall(name=text, arguments={text: text}),),
        trace=replace(TRACE, messages=(message,), output=text),
        remarks=(text,),
        log=text,
    )

    assert all(line.isprintable() for line in lines)


def test_approvals_are_shown_with_who_decided_and_why() -> None:
    approvals = (
        Approval(step="4", by="auto", calls=0),
        Approval(step="7", by="the lead", calls=0, granted=False, reason="too dear"),
    )

    lines = list(
        run_lines(WholeRun(record=RECORD, trace=replace(TRACE, approvals=approvals)), PAGE)
    )

    told = [line.strip() for line in lines]
    assert "approval 4 approved by auto" in told
    assert "approval 7 denied by the lead: too dear" in told
