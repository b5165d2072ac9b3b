"""Every outcome, from values: how a trace becomes a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.answers.published import NOT_FOUND
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.judge import judge
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Scoring, Task
from pytest_sopbench._core.model.trace import Ending, Problem, ToolCall, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome

BERTH = OutputField(name="berth", type=FieldType.ENUM, values=("Berth A", "Berth D"))
FEE = OutputField(name="fee", type=FieldType.NUMBER)
RULES = JudgingRules(fields=(BERTH, FEE))
PUBLISHED = JudgingRules(fields=(BERTH, FEE), scoring=Scoring.PUBLISHED)


def task(
    expected: Mapping[str, JsonValue] | None = None,
    acceptable: tuple[Mapping[str, JsonValue], ...] = (),
) -> Task:
    return Task(
        domain="harbour",
        id="H1",
        line=2,
        inputs={},
        expected=expected or {"berth": "Berth D", "fee": "12.50"},
        results={},
        acceptable=acceptable,
        hash="h",
    )


def returned(value: object) -> Trace:
    return Trace(ending=Ending.RETURNED, returned=read_returned(value))


@pytest.mark.parametrize(
    ("trace", "outcome", "reason"),
    [
        pytest.param(None, Outcome.NOT_RUN, "it was never started", id="no-trace"),
        pytest.param(
            Trace(ending=Ending.PROCESS_DIED),
            Outcome.CRASH,
            "the process that ran it died",
            id="died",
        ),
        pytest.param(
            Trace(ending=Ending.TIMED_OUT, duration=600.0),
            Outcome.TIMEOUT,
            "still running after 600 s",
            id="timed-out",
        ),
        pytest.param(
            Trace(ending=Ending.OVER_LIMIT, calls=(ToolCall(name="t", arguments={}),)),
            Outcome.CALL_LIMIT,
            "passed its limit of tool calls, after 1",
            id="over-limit",
        ),
        pytest.param(
            Trace(ending=Ending.RAISED, problem=Problem(type="ValueError", message="bad\nthing")),
            Outcome.ERROR,
            "ValueError: bad thing",
            id="raised",
        ),
        pytest.param(Trace(ending=Ending.RAISED), Outcome.ERROR, "the agent raised", id="unsaid"),
        pytest.param(
            Trace(ending=Ending.UNAVAILABLE, problem=Problem(type="x.Busy", message="m" * 999)),
            Outcome.UNAVAILABLE,
            f"x.Busy: {'m' * 149}...",
            id="unavailable",
        ),
        pytest.param(
            returned({"output": None, "success": False}),
            Outcome.ERROR,
            "the agent said that it failed: success is False",
            id="said-that-it-failed",
        ),
        pytest.param(
            Trace(ending=Ending.RETURNED), Outcome.NO_ANSWER, "the agent returned None", id="lost"
        ),
        pytest.param(returned(None), Outcome.NO_ANSWER, "the agent returned None", id="none"),
        pytest.param(returned(""), Outcome.NO_ANSWER, "the text is empty", id="empty-text"),
        pytest.param(
            returned({"berth": "Berth D"}),
            Outcome.NO_ANSWER,
            "the mapping that was returned gave no fee",
            id="field-missing",
        ),
        pytest.param(
            returned({"berth": "A", "fee": 12.05}),
            Outcome.WRONG,
            "berth: not a known label; fee: number off by 0.45",
            id="wrong",
        ),
        pytest.param(
            returned({"berth": "berth_d", "fee": 12.5}), Outcome.CORRECT, "", id="correct"
        ),
    ],
)
def test_a_run_ends_in_one_outcome(trace: Trace | None, outcome: Outcome, reason: str) -> None:
    verdict = judge(RULES, task(), trace)

    assert (outcome, reason) == (verdict.outcome, verdict.reason)
    assert verdict.completed == (outcome in {Outcome.CORRECT, Outcome.WRONG})
    assert bool(verdict.mismatches) == (outcome is Outcome.WRONG)


@pytest.mark.parametrize("ending", [one for one in Ending if one is not Ending.RETURNED])
def test_an_answer_of_a_run_that_did_not_return_never_counts(ending: Ending) -> None:
    trace = Trace(ending=ending, returned=read_returned({"berth": "Berth D", "fee": 12.5}))

    assert not judge(RULES, task(), trace).completed


def test_a_further_acceptable_answer_is_correct() -> None:
    both = task(acceptable=({"berth": "Berth A"}, {"berth": "Berth A", "fee": 1}))

    assert judge(RULES, both, returned({"berth": "Berth A", "fee": 12.5})).correct
    assert judge(RULES, both, returned({"berth": "Berth A", "fee": 1})).correct
    wrong = judge(RULES, both, returned({"berth": "Berth D", "fee": 1}))
    assert ["fee"] == [mismatch.field for mismatch in wrong.mismatches]


def test_a_field_may_ask_for_any_value_or_for_none() -> None:
    rules = JudgingRules(
        fields=(
            OutputField(name="berth", type=FieldType.TEXT, compare=Compare.PRESENT),
            OutputField(name="fee", type=FieldType.NUMBER, compare=Compare.IGNORE),
        )
    )

    assert judge(rules, task(), returned({"berth": "somewhere"})).correct
    assert Outcome.WRONG is judge(rules, task(), returned({"berth": ""})).outcome
    assert Outcome.NO_ANSWER is judge(rules, task(), returned({"fee": 3})).outcome


def test_a_field_that_nobody_compared_is_neither_right_nor_wrong() -> None:
    rules = JudgingRules(fields=(BERTH, replace(FEE, compare=Compare.CALL, comparer="lab:fee")))

    verdict = judge(rules, task(), returned({"berth": "Berth D", "fee": 12.5}))

    assert (Outcome.UNAVAILABLE, "not judged: fee: nobody was asked") == (
        verdict.outcome,
        verdict.reason,
    )


def test_an_empty_expected_value_asks_for_an_explicit_empty() -> None:
    expected = {"berth": "", "fee": 1}

    assert judge(RULES, task(expected), returned({"berth": None, "fee": 1})).correct
    assert judge(RULES, task(expected), returned("Berth: n/a\nFee: 1")).correct
    assert Outcome.NO_ANSWER is judge(RULES, task(expected), returned({"fee": 1})).outcome


def test_a_field_called_success_is_an_answer() -> None:
    rules = JudgingRules(fields=(OutputField(name="success", type=FieldType.BOOLEAN),))

    assert judge(rules, task({"success": "False"}), returned({"success": False})).correct


SOP = "Say where the ship goes.\r\nExample: \r\n<berth>Berth D</berth> <fee>12.50</fee>\r\n"
SAID = "<berth>Berth A</berth> <fee>1</fee>"


@pytest.mark.parametrize(
    "sop", [pytest.param(SOP, id="windows"), pytest.param(SOP.replace("\r\n", "\n"), id="unix")]
)
def test_the_example_of_a_pasted_sop_is_no_answer(sop: str) -> None:
    rules = JudgingRules(fields=(BERTH, FEE), sop=SOP)

    pasted = judge(rules, task(), returned(f"I was told: {sop}"))
    answered = judge(rules, task({"berth": "Berth A", "fee": 1}), returned(f"{SAID}\n{sop}"))

    assert "no answer was found in the text" == pasted.reason
    assert answered.correct
    assert judge(JudgingRules(fields=(BERTH, FEE)), task(), returned(sop)).correct


def test_a_sop_of_few_words_that_is_pasted_whole_is_no_answer() -> None:
    short = "Say <berth>Berth D</berth> <fee>12.50</fee>"
    rules = JudgingRules(fields=(BERTH, FEE), sop=short)

    pasted = judge(rules, task(), returned(f"I was told: {short}"))

    assert "no answer was found in the text" == pasted.reason


def test_a_line_of_the_sop_is_an_answer() -> None:
    rules = JudgingRules(fields=(BERTH, FEE), sop=SOP)

    assert judge(rules, task(), returned("<berth>Berth D</berth> <fee>12.50</fee>")).correct


def test_the_reason_names_a_private_field_and_not_its_value() -> None:
    rules = JudgingRules(fields=(OutputField(name="fee", type=FieldType.NUMBER, private=True),))

    assert "fee: different" == judge(rules, task({"fee": 12345}), returned({"fee": 678})).reason


@pytest.mark.parametrize(
    ("value", "outcome", "only_published"),
    [
        pytest.param({"berth": "D", "fee": 12.5}, Outcome.CORRECT, True, id="part-of-the-label"),
        pytest.param(
            {"berth": "Berth D", "fee": "12.50"}, Outcome.CORRECT, False, id="the-label-itself"
        ),
        pytest.param({"berth": "A", "fee": "12.50"}, Outcome.WRONG, False, id="other-label"),
        pytest.param("no answer", Outcome.WRONG, False, id="unknown"),
        pytest.param(None, Outcome.WRONG, False, id="none"),
        pytest.param({"output": None, "error": "x"}, Outcome.ERROR, False, id="said-it-failed"),
    ],
)
def test_by_the_published_rules_a_run_that_returned_is_complete(
    value: Any, outcome: Outcome, only_published: bool
) -> None:
    verdict = judge(PUBLISHED, task(), returned(value))

    assert (outcome, only_published) == (verdict.outcome, verdict.only_published)
    assert bool(verdict.reason) == (outcome is not Outcome.CORRECT or only_published)


def test_by_the_published_rules_a_field_that_is_not_there_is_no_empty_one() -> None:
    nothing_due = task({"berth": "Berth D", "fee": ""})

    said = judge(PUBLISHED, nothing_due, returned({"berth": "Berth D", "fee": None}))
    left_out = judge(PUBLISHED, nothing_due, returned({"berth": "Berth D"}))

    assert said.correct
    assert [("fee", NOT_FOUND)] == [(one.field, one.why) for one in left_out.mismatches]


def test_an_unknown_label_is_matched_by_an_answer_that_is_not_found() -> None:
    """As in the published scorer, which this measures."""
    rules = JudgingRules(fields=(BERTH,), scoring=Scoring.PUBLISHED)

    assert judge(rules, task({"berth": "unknown"}), returned("so " * 40)).only_published
