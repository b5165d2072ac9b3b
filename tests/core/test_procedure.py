"""How a run stands to the procedure is told beside its outcome, and never changes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import (
    ExpectedCall,
    Mismatch,
    Outcome,
    RunRecord,
    Summary,
    Task,
    ToolCall,
    Trace,
    Verdict,
)
from pytest_sopbench._core.contract import (
    Contract,
    Operator,
    Rule,
    RuleResult,
    Severity,
    Source,
    ValueCondition,
)
from pytest_sopbench._core.demands import DemandKind, Forbids, Requires, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import CUT_OFF, breaches, judge, with_procedure
from pytest_sopbench._core.metrics.counts import (
    ContractTally,
    RuleTally,
    UnmadeCounts,
    UnneededCounts,
)
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import (
    summary_to_json,
    total_of,
    total_to_json,
)
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench._core.records.record import CallRecord, from_line, to_line

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
    assert (RuleState.HELD, True, "", {}) == (
        verdict.contract,
        verdict.grounded,
        verdict.departure,
        verdict.unneeded,
    )


def test_a_run_that_does_not_stays_correct() -> None:
    verdict = with_procedure(CORRECT, RULES, TASK, trace("wire", "wire"))

    assert verdict.correct
    assert [RuleState.BROKEN, RuleState.BROKEN] == states(verdict)
    assert (RuleState.BROKEN, False, {"wire": 2}) == (
        verdict.contract,
        verdict.grounded,
        verdict.unneeded,
    )
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
    assert ["the run's calls are not known"] == [one.why for one in verdict.unmade or ()]


@pytest.mark.parametrize(
    ("made", "unmade"),
    [
        pytest.param([("login", {"pin": 1})], [], id="made"),
        pytest.param([("wire", {}), ("login", {"pin": 1})], [], id="beside another, later"),
        pytest.param([], [("login", None, None, "never called")], id="not made"),
        pytest.param(
            [("wire", {}), ("login", {"pin": 2})],
            [("login.pin", 1, 2, "step 2: different")],
            id="with another argument",
        ),
        pytest.param(
            [("login", {"pin": 1, "a b": 0})],
            [('login["a b"]', None, 0, "step 1: unexpected")],
            id="with an argument more",
        ),
    ],
)
def test_the_first_argument_that_differs_from_an_expected_call(
    made: list[tuple[str, dict[str, int]]], unmade: list[tuple[object, ...]]
) -> None:
    rules = replace(
        RULES, expected_calls={"1": (ExpectedCall(name="login", arguments={"pin": 1}),)}
    )
    calls = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in made)

    verdict = judge(rules, TASK, Trace(ending=Ending.RETURNED, calls=calls))

    assert verdict.unmade is not None
    assert unmade == [(one.field, one.expected, one.actual, one.why) for one in verdict.unmade]


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


# What is counted of the procedure: rates with their own denominators, and sums that add.

HELD, BROKEN, IDLE = RuleState.HELD, RuleState.BROKEN, RuleState.NOT_EXERCISED
CALLS = (CallRecord(name="a", arguments={}), CallRecord(name="b", arguments={}))


def rule(state: RuleState, name: str = "one", clause: str = "1") -> RuleResult:
    return RuleResult(
        id=name,
        clause=clause,
        severity=Severity.MUST,
        kind=DemandKind.REQUIRES,
        state=state,
        why="",
    )


def run(state: RuleState, **more: object) -> RunRecord:
    keywords: dict[str, object] = {
        "outcome": Outcome.CORRECT,
        "grounded": state is HELD,
        "unneeded": {},
        "calls": CALLS,
        "duration_s": 1.0,
        **more,
    }
    return RunRecord(
        domain="d", task="t", rules=(rule(state),), contract=state, **keywords  # type: ignore[arg-type] - test sugar
    )  # fmt: skip


RUNS = (
    run(HELD),
    run(BROKEN, unneeded={"fax": 2}),
    run(IDLE, calls=()),
    run(HELD, outcome=Outcome.WRONG, unneeded={"fax": 1}),
    RunRecord(domain="d", task="t", outcome=Outcome.CORRECT, calls=CALLS),
)


def test_each_rate_has_its_own_denominator() -> None:
    summary = summary_of(RUNS)

    (one,) = summary.rules
    assert (3, 2) == (one.exercised, one.held)
    assert (4, 2, 1, 1) == (
        summary.contract.runs,
        summary.contract.held,
        summary.contract.broken,
        summary.contract.silent,
    )
    assert 2 / 4 == summary.contract_rate
    assert 2 / 5 == summary.grounded_tsr
    assert UnneededCounts(runs=4, calls=6, affected=2, by_tool={"fax": 3}) == summary.unneeded
    assert (3 / 6, 2 / 4) == (summary.unneeded.rate, summary.unneeded.share)


def test_runs_that_made_every_expected_call_are_counted() -> None:
    differs = Mismatch(field="pay.amount", expected=4, actual=1, why="step 1: different")
    lost = replace(differs, field="", why="the run's calls are not known")
    runs = [replace(RUNS[0], unmade=one) for one in ((), (differs, lost), (lost,), None)]

    summary = summary_of(runs[:2]) + summary_of(runs[2:])

    first = {"pay.amount": 1, "the run's calls are not known": 1}
    assert UnmadeCounts(runs=3, made=1, first=first) == summary.unmade
    assert 1 / 3 == METRICS["expected_calls"].rate(summary)
    assert {"runs": 3, "made": 1, "first": first} == summary_to_json(summary)["unmade"]
    assert [*map(to_line, runs)] == [to_line(from_line(to_line(one))) for one in runs]
    assert [one.unmade for one in runs] == [from_line(to_line(one)).unmade for one in runs]


def test_without_a_contract_there_is_no_rate() -> None:
    summary = summary_of(RUNS[-1:])

    assert (None, None) == (summary.contract_rate, summary.grounded_tsr)
    assert (None, None) == (summary.unneeded.rate, summary.unneeded.share)
    assert () == summary.rules


@pytest.mark.parametrize("cut", range(len(RUNS) + 1))
def test_the_counts_of_two_parts_add_to_those_of_the_whole(cut: int) -> None:
    whole = summary_of(RUNS)

    parts = summary_of(RUNS[:cut]) + summary_of(RUNS[cut:])

    assert whole.rules == parts.rules
    assert (whole.contract, whole.grounded, whole.unneeded) == (
        parts.contract,
        parts.grounded,
        parts.unneeded,
    )


def test_a_rule_whose_clause_was_changed_stands_beside_the_other() -> None:
    changed = replace(RUNS[0], rules=(rule(HELD, clause="9"),))

    summary = summary_of(RUNS[:1]) + summary_of([changed])

    assert ["1", "9"] == [one.clause for one in summary.rules]


def test_the_contract_rate_stands_in_json() -> None:
    assert summary_to_json(summary_of(RUNS))["contract_rate"] == 2 / 4


def test_domains_together_have_rates_and_no_rules() -> None:
    total = total_of({"a": summary_of(RUNS), "b": summary_of(RUNS[-1:]), "c": EMPTY})

    assert (2 / 4, 2 / 5) == (total.means["contract_rate"], total.means["grounded_tsr"])
    assert () == total.pooled.rules
    assert 4 == total_to_json(total)["pooled"]["contract"]["runs"]


def test_a_line_keeps_what_came_of_each_rule() -> None:
    record = replace(
        RUNS[1],
        rules=(
            replace(rule(BROKEN), why="step 1"),
            replace(rule(IDLE, "two", ""), applies=False, severity=Severity.SHOULD),
        ),
    )

    assert record == from_line(to_line(record))


def test_a_line_of_a_run_without_contract_is_as_short_as_before() -> None:
    line = to_line(RUNS[-1])

    assert '"rules":[],"contract":null' in line
    assert RUNS[-1] == from_line(line)


def test_nothing_is_the_summary_of_no_runs() -> None:
    assert Summary() == replace(summary_of([]), measured={})


# Counts of rules add, whichever way a session was cut into parts.

STATES = st.lists(st.sampled_from(RuleState), max_size=12)


def ruled(rule: str, state: RuleState) -> RuleResult:
    return RuleResult(
        id=rule, clause="1", severity=Severity.MUST, kind=DemandKind.BEFORE, state=state, why=""
    )


def tallied(*runs: Sequence[RuleResult], states: Iterable[RuleState | None] = ()) -> Summary:
    """Return what runs come to: by the results of their rules, or by the states of contracts."""
    held = [*(replace(RUNS[-1], rules=tuple(one)) for one in runs)]
    return summary_of([*held, *(replace(RUNS[-1], contract=one) for one in states)])


def test_a_rule_counts_where_it_was_exercised_and_where_it_held() -> None:
    runs = [
        (ruled("a", RuleState.HELD), ruled("b", RuleState.NOT_EXERCISED)),
        (ruled("a", RuleState.BROKEN), ruled("b", RuleState.NOT_EXERCISED)),
        (ruled("a", RuleState.HELD), ruled("b", RuleState.NOT_EXERCISED)),
    ]

    first, second = tallied(*runs).rules

    assert (3, 2, 1, 2 / 3) == (first.exercised, first.held, first.broken, first.rate)
    assert ("b", 0, None) == (second.id, second.exercised, second.rate)


@settings(max_examples=60)
@given(states=STATES, cut=st.integers(0, 12))
def test_the_counts_of_two_parts_add_to_those_of_the_whole_in_contract_tally(
    states: list[RuleState], cut: int
) -> None:
    runs = [(ruled("a", state),) for state in [RuleState.HELD, *states]]
    start = (RuleTally(id="a", clause="1", severity=Severity.MUST),)

    parts = [(tallied(*part).rules or start)[0] for part in (runs[:cut], runs[cut:])]
    contracts = [tallied(states=part).contract for part in (states, states[:cut], states[cut:])]

    assert tallied(*runs).rules[0] == parts[0] + parts[1]
    assert contracts[0] == contracts[1] + contracts[2]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(RuleTally(id="b"), id="another rule"),
        pytest.param(RuleTally(id="a", clause="9"), id="another clause"),
        pytest.param(RuleTally(id="a", severity=Severity.MUST), id="another severity"),
    ],
)
def test_counts_of_different_rules_do_not_add(other: RuleTally) -> None:
    with pytest.raises(ValueError, match="do not add"):
        RuleTally(id="a") + other


def test_a_silent_run_counts_and_does_not_hold() -> None:
    states = [RuleState.HELD, RuleState.BROKEN, RuleState.NOT_EXERCISED, None]

    tally = tallied(states=states).contract

    assert ContractTally(runs=3, held=1, broken=1) == tally
    assert (1, 1 / 3) == (tally.silent, tally.rate)


def test_no_runs_have_no_rate() -> None:
    assert ContractTally().rate is None
