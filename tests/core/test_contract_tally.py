"""Counts of rules add, whichever way a session was cut into parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.counts import (
    ContractTally,
    RuleTally,
    tally_contracts,
    tally_rules,
)

STATES = st.lists(st.sampled_from(RuleState), max_size=12)


def result(rule: str, state: RuleState) -> RuleResult:
    return RuleResult(
        id=rule, clause="1", severity=Severity.MUST, kind=DemandKind.BEFORE, state=state, why=""
    )


def test_a_rule_counts_where_it_was_exercised_and_where_it_held() -> None:
    runs = [
        (result("a", RuleState.HELD), result("b", RuleState.NOT_EXERCISED)),
        (result("a", RuleState.BROKEN), result("b", RuleState.NOT_EXERCISED)),
        (result("a", RuleState.HELD), result("b", RuleState.NOT_EXERCISED)),
    ]

    first, second = tally_rules(runs)

    assert (3, 2, 1, 2 / 3) == (first.exercised, first.held, first.broken, first.rate)
    assert ("b", 0, None) == (second.id, second.exercised, second.rate)


@settings(max_examples=60)
@given(states=STATES, cut=st.integers(0, 12))
def test_the_counts_of_two_parts_add_to_those_of_the_whole(
    states: list[RuleState], cut: int
) -> None:
    runs = [(result("a", state),) for state in [RuleState.HELD, *states]]
    start = (RuleTally(id="a", clause="1", severity=Severity.MUST),)

    parts = [(tally_rules(part) or start)[0] for part in (runs[:cut], runs[cut:])]

    assert tally_rules(runs)[0] == parts[0] + parts[1]
    assert tally_contracts(states) == tally_contracts(states[:cut]) + tally_contracts(states[cut:])


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

    tally = tally_contracts(states)

    assert ContractTally(runs=3, held=1, broken=1) == tally
    assert (1, 1 / 3) == (tally.silent, tally.rate)


def test_no_runs_have_no_rate() -> None:
    assert ContractTally().rate is None
