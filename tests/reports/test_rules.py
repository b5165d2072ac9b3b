"""Rules in the summary and in a failure: broken ones in full, held ones beside one another."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.contract.demands import DemandKind, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.metrics.counts import (
    ContractTally,
    GroundedCounts,
    RuleTally,
    ToolCounts,
    UnneededCounts,
)
from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.records.record import CallRecord, RunRecord, TrajectoryCheck
from pytest_sopbench._core.trajectory.calls import Unmet
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.assertion import call_lines, contract_lines, unmet_lines
from pytest_sopbench._reports.failure.task import failure_lines
from pytest_sopbench._reports.terminal.summary import contract_lines as summary_lines
from pytest_sopbench._reports.terminal.summary import domain_lines, total_lines

RULES = (
    RuleTally(id="sanctions-first", clause="4.2", severity=Severity.MUST, exercised=274, held=274),
    RuleTally(id="siu", exercised=41, held=37),
    RuleTally(id="letter", clause="7", exercised=12, held=12),
    RuleTally(id="no-wire"),
)
SUMMARY = Summary(
    runs=274,
    tasks=274,
    outcomes={Outcome.CORRECT: 260, Outcome.WRONG: 14},
    tools={"a": ToolCounts(calls=1096, bad=10)},
    rules=RULES,
    contract=ContractTally(runs=274, held=268, broken=4),
    grounded=GroundedCounts(required=274, grounded=255),
    unneeded=UnneededCounts(runs=274, calls=1096, unneeded=3, affected=2),
)


def broken(number: int, why: str = "step 1, wire: the call is forbidden") -> RuleResult:
    return RuleResult(
        id=f"rule-{number}",
        clause="6.1",
        severity=Severity.SHOULD if number else Severity.MUST,
        kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN,
        why=why,
    )


def test_the_summary_names_broken_rules_and_counts_the_others() -> None:
    assert [
        "rules  contract 97.8% (268 of 274 runs, 2 runs stopped before a call)",
        "       2 rules held",
        "       siu broken in 4 of 41",
    ] == list(summary_lines(SUMMARY))


def test_a_closer_look_names_each_rule_with_its_counts() -> None:
    assert [
        "rules  contract 97.8% (268 of 274 runs, 2 runs stopped before a call)",
        "       siu broken in 4 of 41",
        "       held sanctions-first (4.2, must) 274 of 274, letter (7) 12 of 12",
        "       not exercised by any task: no-wire",
    ] == list(summary_lines(SUMMARY, verbosity=1))


def test_the_block_of_a_domain_has_grounded_tsr_and_unneeded_calls() -> None:
    lines = list(domain_lines("bank", "pkg:agent", SUMMARY, verbosity=1))

    assert "       grounded 93.1%, 255 of 274" in lines
    assert "       3 unneeded calls in 2 of 274 runs" in lines
    assert max(map(len, lines)) <= 80


def test_without_a_contract_nothing_is_said() -> None:
    assert [] == list(summary_lines(EMPTY))


def test_several_domains_together_have_a_rate_and_no_rules() -> None:
    total = total_of({"a": SUMMARY, "b": SUMMARY})

    lines = list(total_lines("pkg:agent", total, verbosity=1))

    means = " ".join(lines[1:3])
    assert "grounded 93.1%" in means
    assert "contract 97.8%" in means
    assert "rules  contract 97.8% (536 of 548 runs, 4 runs stopped before a call)" in lines
    assert max(map(len, lines)) <= 80


RECORD = RunRecord(
    domain="bank",
    task="T_1",
    outcome=Outcome.CORRECT,
    answer={"paid": True},
    expected={"paid": True},
    rules=(broken(1), replace(broken(2), state=RuleState.HELD)),
    trajectory=TrajectoryCheck(held=False, departure="step 2: no further call was expected"),
    calls=(CallRecord(name="wire", arguments={}),),
    duration_s=1.0,
)


def failure(record: RunRecord) -> list[str]:
    return failure_lines(record, inputs=None, rerun="", location="")


def test_a_failure_names_its_broken_rules_and_its_departure() -> None:
    lines = failure(RECORD)

    assert "correct, but 1 rule is broken: rule-1" == lines[0]
    assert "rule     rule-1 (6.1): step 1, wire: the call is forbidden" in lines
    assert "departs  step 2: no further call was expected" in lines
    assert not any("rule-2" in line for line in lines)


def test_what_must_hold_comes_first_and_few_are_shown() -> None:
    rules = tuple(broken(number) for number in (3, 1, 2, 4, 5, 6, 0))

    lines = [line for line in failure(replace(RECORD, rules=rules)) if "rule" in line[9:]]

    assert "rule     rule-0 (6.1, must): step 1, wire: the call is forbidden" == lines[1]
    assert "         and 2 more rules" == lines[-1]
    assert 7 == len(lines)


def test_a_run_that_departs_from_nothing_says_nothing_of_it() -> None:
    held = replace(RECORD, trajectory=TrajectoryCheck(held=True))

    assert not any(line.startswith("departs") for line in failure(held))


CALLS = tuple(CallRecord(name=f"tool_{n}", arguments={"n": n}, result=n) for n in range(1, 21))


@pytest.mark.parametrize(
    ("marked", "first", "last", "mark"),
    [
        pytest.param(None, "   1 tool_1(n=1)", "    ... 11 more", None, id="from the start"),
        pytest.param(2, "   1 tool_1(n=1)", "    ... 11 more", ">  2 tool_2", id="near the start"),
        pytest.param(10, "    ... 5 before", "    ... 6 more", "> 10 tool_10", id="in the middle"),
        pytest.param(20, "    ... 11 before", "> 20 tool_20", "> 20 tool_20", id="at the end"),
    ],
)
def test_calls_around_the_one_that_matters_are_shown(
    marked: int | None, first: str, last: str, mark: str | None
) -> None:
    lines = list(call_lines(CALLS, marked))

    assert len(lines) <= 11
    assert lines[0].startswith(first)
    assert lines[-1].startswith(last)
    assert mark is None or any(line.startswith(mark) for line in lines)


def test_no_call_is_said_aloud() -> None:
    assert ["calls: none"] == list(call_lines((), None))


def test_a_failed_assertion_takes_at_most_15_lines_of_72_columns() -> None:
    long = "x" * 200
    calls = [CallRecord(name=long, arguments={long: long}, error=long) for _ in range(30)]

    unmet = unmet_lines(long, Unmet(why=long, step=15), calls)
    rules = contract_lines([broken(n, long) for n in range(9)], calls)

    assert len(unmet) <= 15
    assert len(rules) <= 16
    assert max(map(len, [*unmet, *rules])) <= 72
    assert max(len(unmet[0]), len(rules[0])) <= 56


def test_broken_rules_are_counted_where_they_are_many() -> None:
    lines = contract_lines([broken(n) for n in range(6)], ())

    assert "6 rules of the contract are broken" == lines[0]
    assert "and 2 more" == lines[5]
    assert "calls: none" == lines[6]
