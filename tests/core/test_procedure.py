"""How a run stands to the procedure is told beside its outcome, and never changes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.contract.conditions import Operator, Source, ValueCondition
from pytest_sopbench._core.contract.demands import DemandKind, Forbids, Requires, RuleState
from pytest_sopbench._core.contract.rules import Contract, Rule, RuleResult, Severity
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.judge import CUT_OFF, breaches, judge, with_procedure
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, ToolCall, Trace
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.verdict import Outcome, Verdict

TASK = Task(domain="bank", id="1", line=2, hash="h", inputs={}, expected={}, results={})
LOGIN = Rule(id="login", demand=Requires(all_of=("login",)))
NO_WIRE = Rule(id="no-wire", demand=Forbids(tools=("wire",)), severity=Severity.MUST)
RULES = JudgingRules(
    fields=(),
    contract=Contract(rules=(LOGIN, NO_WIRE)),
    expected_calls={"1": (ExpectedCall(name="login", arguments={}),)},
)
CORRECT = Verdict(outcome=Outcome.CORRECT)


def trace(*names: str, ending: Ending = Ending.RETURNED) -> Trace:
    return Trace(ending=ending, calls=tuple(ToolCall(name=name, arguments={}) for name in names))


def states(verdict: Verdict) -> list[RuleState]:
    return [one.state for one in verdict.rules]


def test_the_judge_holds_the_contract_against_every_run() -> None:
    raised = judge(RULES, TASK, trace("wire", ending=Ending.RAISED))

    assert Outcome.ERROR is raised.outcome
    assert [RuleState.BROKEN, RuleState.BROKEN] == states(raised)


def test_what_a_run_did_before_its_provider_went_away_stays_done() -> None:
    harmful = judge(RULES, TASK, trace("login", "wire", ending=Ending.UNAVAILABLE))
    harmless = judge(RULES, TASK, trace("login", ending=Ending.UNAVAILABLE))

    assert [RuleState.NOT_EXERCISED, RuleState.BROKEN] == states(harmful)
    assert RuleState.BROKEN is harmful.contract
    assert ["no-wire"] == [one.id for one in breaches(harmful.rules, harmful.outcome)]
    assert [RuleState.NOT_EXERCISED, RuleState.NOT_EXERCISED] == states(harmless)
    assert RuleState.NOT_EXERCISED is harmless.contract
    assert (Outcome.UNAVAILABLE, Outcome.UNAVAILABLE) == (harmful.outcome, harmless.outcome)


def test_a_run_that_follows_the_procedure() -> None:
    verdict = with_procedure(CORRECT, RULES, TASK, trace("login"))

    assert [RuleState.HELD, RuleState.HELD] == states(verdict)
    assert (RuleState.HELD, True, "", 0) == (
        verdict.contract,
        verdict.grounded,
        verdict.departure,
        verdict.unneeded,
    )


def test_a_run_that_does_not_stays_correct() -> None:
    verdict = with_procedure(CORRECT, RULES, TASK, trace("wire", "wire"))

    assert verdict.correct
    assert [RuleState.BROKEN, RuleState.BROKEN] == states(verdict)
    assert (RuleState.BROKEN, False, 2) == (verdict.contract, verdict.grounded, verdict.unneeded)
    assert "step 1: login was expected, wire was called" == verdict.departure


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(None, id="never started"),
        pytest.param(trace(ending=Ending.PROCESS_DIED), id="its process died"),
    ],
)
def test_a_run_whose_calls_nobody_knows_stays_in_the_denominator(lost: Trace | None) -> None:
    verdict = with_procedure(Verdict(outcome=Outcome.CRASH), RULES, TASK, lost)

    assert [RuleState.NOT_EXERCISED, RuleState.NOT_EXERCISED] == states(verdict)
    assert {"the run's calls are not known"} == {one.why for one in verdict.rules}
    assert (RuleState.NOT_EXERCISED, False) == (verdict.contract, verdict.grounded)
    assert (None, None) == (verdict.departure, verdict.unneeded)


def test_a_rule_that_does_not_apply_stays_so_where_the_calls_are_not_known() -> None:
    small = ValueCondition(source=Source.INPUT, name="amount", bounds=((Operator.BELOW, 5),))
    rules = JudgingRules(fields=(), contract=Contract(rules=(replace(LOGIN, when=small),)))

    verdict = with_procedure(CORRECT, rules, replace(TASK, inputs={"amount": 9}), None)

    assert [False] == [one.applies for one in verdict.rules]
    assert (None, None) == (verdict.contract, verdict.grounded)


def test_without_contract_and_expected_calls_nothing_is_said() -> None:
    assert CORRECT == with_procedure(CORRECT, JudgingRules(fields=()), TASK, trace("wire"))


def result(severity: Severity, kind: DemandKind, state: RuleState = RuleState.BROKEN) -> RuleResult:
    return RuleResult(id="r", clause="", severity=severity, kind=kind, state=state, why="")


MUST, SHOULD = Severity.MUST, Severity.SHOULD
REQUIRES, FORBIDS = DemandKind.REQUIRES, DemandKind.FORBIDS


@pytest.mark.parametrize(
    ("one", "outcome", "reported", "enforced"),
    [
        pytest.param(result(MUST, FORBIDS), Outcome.CORRECT, 1, 1, id="must"),
        pytest.param(result(SHOULD, FORBIDS), Outcome.CORRECT, 0, 1, id="should"),
        pytest.param(result(MUST, FORBIDS, RuleState.HELD), Outcome.CORRECT, 0, 0, id="held"),
        pytest.param(
            result(MUST, FORBIDS, RuleState.NOT_EXERCISED), Outcome.WRONG, 0, 0, id="idle"
        ),
        pytest.param(result(MUST, REQUIRES), Outcome.NO_ANSWER, 1, 1, id="ended by itself"),
        *(
            pytest.param(result(MUST, REQUIRES), outcome, 0, 0, id=f"cut off by {outcome.value}")
            for outcome in Outcome
            if outcome in CUT_OFF
        ),
        pytest.param(result(MUST, FORBIDS), Outcome.TIMEOUT, 1, 1, id="done before the cut"),
    ],
)
def test_which_broken_rules_fail_a_run(
    one: RuleResult, outcome: Outcome, reported: int, enforced: int
) -> None:
    assert reported == len(breaches([one], outcome))
    assert enforced == len(breaches([one], outcome, enforce=True))


ONLY_NO_WIRE = JudgingRules(fields=(), contract=Contract(rules=(NO_WIRE,)))


@pytest.mark.parametrize("outcome", Outcome)
def test_a_run_without_a_call_holds_its_contract_unless_it_was_stopped(outcome: Outcome) -> None:
    """No rule is broken by silence, and who never had a chance has not been silent."""
    verdict = with_procedure(Verdict(outcome=outcome), ONLY_NO_WIRE, TASK, trace())

    state = RuleState.NOT_EXERCISED if outcome in CUT_OFF else RuleState.HELD
    assert state is verdict.contract


def test_a_run_without_a_call_is_caught_where_a_rule_requires_one() -> None:
    verdict = with_procedure(CORRECT, RULES, TASK, trace())

    assert (RuleState.BROKEN, False) == (verdict.contract, verdict.grounded)


def test_a_run_that_was_stopped_after_a_call_holds_what_it_did_not_break() -> None:
    verdict = with_procedure(Verdict(outcome=Outcome.TIMEOUT), ONLY_NO_WIRE, TASK, trace("login"))

    assert RuleState.HELD is verdict.contract
