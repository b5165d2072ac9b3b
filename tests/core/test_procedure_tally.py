"""What is counted of the procedure: rates with their own denominators, and sums that add."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.counts import UnneededCounts
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.summary_json import (
    summary_from_json,
    summary_to_json,
    total_to_json,
)
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.records.lines import from_line, to_line
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.verdict import Outcome

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
        "unneeded": 0,
        "calls": CALLS,
        "duration_s": 1.0,
        **more,
    }
    return RunRecord(
        domain="d", task="t", rules=(rule(state),), contract=state, **keywords  # type: ignore[arg-type] - test sugar
    )  # fmt: skip


RUNS = (
    run(HELD),
    run(BROKEN, unneeded=2),
    run(IDLE, calls=()),
    run(HELD, outcome=Outcome.WRONG, unneeded=1),
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
    assert UnneededCounts(runs=4, calls=6, unneeded=3, affected=2) == summary.unneeded
    assert (3 / 6, 2 / 4) == (summary.unneeded.rate, summary.unneeded.share)


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


def test_counts_come_back_from_json() -> None:
    summary = summary_of(RUNS)

    assert summary == summary_from_json(summary_to_json(summary))
    assert summary_to_json(summary)["contract_rate"] == 2 / 4


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
    assert Summary() == summary_of([])
