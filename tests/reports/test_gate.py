"""A gate in a line, or in as many as 80 columns need."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord, Summary
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.budget import Budget, Spending
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.quarantine import PolicyReport, RunsOfEntry, TaskPolicy
from pytest_sopbench._core.metrics.counts import (
    ContractTally,
    GroundedCounts,
    RuleTally,
    ToolCounts,
    UnneededCounts,
)
from pytest_sopbench._core.metrics.summary import EMPTY
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import CallRecord, TrajectoryCheck
from pytest_sopbench._core.trajectory.calls import Unmet
from pytest_sopbench._reports.assertion import call_lines, contract_lines, unmet_lines
from pytest_sopbench._reports.failure import failure_lines
from pytest_sopbench._reports.notices import budget_lines
from pytest_sopbench._reports.terminal.gate import entry_lines, gate_lines, not_evaluated_lines
from pytest_sopbench._reports.terminal.summary import contract_lines as summary_lines
from pytest_sopbench._reports.terminal.summary import domain_lines, total_lines
from tests.builders.pages import DOCS, blocks


def verdict(**more: str) -> GateVerdict:
    given = {"asked": "TSR >= 90%", "got": "94.2%", **more}
    return GateVerdict(state=GateState.HOLDS, **given)


def test_a_gate_that_holds_needs_no_reason() -> None:
    assert ["gate   TSR >= 90% holds (got 94.2%)"] == list(gate_lines(verdict()))


def test_it_says_where_it_was_asked_and_why_it_came_out_so() -> None:
    lines = list(gate_lines(verdict(where="lab", why="258 of 274")))

    assert ["gate   lab: TSR >= 90% holds (got 94.2%): 258 of 274"] == lines


def test_a_long_reason_goes_on_below_the_gate() -> None:
    why = "16.67% of the runs were unavailable, more than 5%"

    lines = list(gate_lines(verdict(why=why)))

    assert [
        "gate   TSR >= 90% holds (got 94.2%): 16.67% of the runs were unavailable, more",
        "       than 5%",
    ] == lines


def test_what_was_not_evaluated_is_wrapped_as_well() -> None:
    why = "-k took 5 of 6 selected tasks away; 1 missed, which fails it"

    lines = list(not_evaluated_lines(why))

    assert [
        "gate   not evaluated: -k took 5 of 6 selected tasks away; 1 missed, which fails",
        "       it",
    ] == lines


@given(why=st.text(st.characters(categories=["L", "N", "P", "Z", "Cc"]), max_size=300))
def test_no_word_is_lost_and_no_line_too_wide(why: str) -> None:
    """Words that are wider than a line are cut, as everywhere."""
    lines = list(gate_lines(verdict(why=why)))

    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith(("gate   ", "       ")) for line in lines)


# What a budget has to say at the end.

BOTH = Budget(usd=5, seconds=840)


def test_what_is_spent_stands_beside_what_may_be() -> None:
    lines = budget_lines(BOTH, Spending(usd=2.1, runs=9), seconds=181, not_started=0)

    assert ["budget $2.10 of $5.00 spent, 3 min of 14 min spent"] == [*lines]


def test_a_sum_is_written_as_the_summary_writes_it() -> None:
    runs = [
        RunRecord(
            domain="lab",
            task=f"T_{number}",
            outcome=Outcome.CORRECT,
            usage=Usage(cost_usd=0.000385),
        )
        for number in range(10)
    ]
    spending = Spending()
    for one in runs:
        spending.add(one.outcome, one.usage.cost_usd)

    (line,) = budget_lines(Budget(usd=5), spending, seconds=1, not_started=0)
    told = " ".join(domain_lines("lab", "a", summary_of(runs)))

    assert "$0.0039 in 10 runs" in told
    assert line == "budget $0.0039 of $5.00 spent"


def test_a_spent_budget_says_what_was_not_started_as_the_page_shows_it() -> None:
    page = (DOCS / "how-to" / "repeat-and-resume.md").read_text(encoding="utf-8")

    lines = [*budget_lines(Budget(usd=5), Spending(usd=5.02, runs=9), seconds=1, not_started=62)]

    assert (
        "budget $5.02 of $5.00 spent, 62 runs were not started, since the money was spent"
        == " ".join(line.strip() for line in lines)
    )
    assert blocks(page, "text")[2].splitlines() == lines


def test_both_can_be_spent() -> None:
    lines = budget_lines(BOTH, Spending(usd=6, runs=9), seconds=900, not_started=1)

    text = " ".join(line.strip() for line in lines)
    assert text.endswith("1 run was not started, since the money and the time were spent")


def test_a_budget_that_is_left_is_not_blamed() -> None:
    lines = budget_lines(Budget(usd=5), Spending(usd=1, runs=2), seconds=1, not_started=3)

    assert ["budget $1.00 of $5.00 spent, 3 runs were not started"] == [*lines]


def test_runs_of_unknown_cost_are_told() -> None:
    spending = Spending(usd=1, runs=2, unpriced=3)

    lines = budget_lines(Budget(usd=5), spending, seconds=1, not_started=0)

    assert "$1.00 of $5.00 spent, beside the cost of 3 runs that reported none" in next(lines)


def test_without_a_budget_nothing_is_said() -> None:
    assert [] == [*budget_lines(Budget(), Spending(usd=1), seconds=1, not_started=0)]


def test_a_cost_that_nobody_knows_is_no_money_spent() -> None:
    spending = Spending(unpriced=1, unpriced_first=True)

    (*_, last) = budget_lines(Budget(usd=5), spending, seconds=1, not_started=3)

    assert last.endswith("since nobody could say what is spent")


# What a session says of the tasks that must pass, and of those that may fail.


def entry(task: str = "T1") -> TaskPolicy:
    return TaskPolicy(
        name=TaskName("lab", task),
        may_fail="the tool is flaky",
        until=date(2026, 12, 1),
        issue="#12",
    )


def runs(one: TaskPolicy, *, count: int = 1, correct: int = 0) -> RunsOfEntry:
    first = RunRecord(domain="lab", task="T1", outcome=Outcome.ERROR, reason="no model")
    return RunsOfEntry(entry=one, runs=count, correct=correct, first=first)


def test_nothing_to_say_is_nothing_said() -> None:
    assert [] == list(entry_lines(PolicyReport(), file="sop_tasks.toml"))


def test_what_fails_the_session_stands_first() -> None:
    report = PolicyReport(
        failed=(runs(entry("T1")),),
        passed=(runs(entry("T2"), count=5, correct=5), runs(entry("T6"), correct=1)),
        expired=(entry("T3"),),
        broken=(runs(entry("T4"), count=3, correct=1),),
        unsure=(runs(entry("T5")),),
    )

    assert [
        "tasks  1 task must pass and did not",
        "       lab/T4 (1 of 3) error: no model",
        "tasks  1 task may fail no longer, by sop_tasks.toml",
        "       lab/T3 until 2026-12-01: the tool is flaky (#12)",
        "tasks  1 task must pass, and nobody knows",
        "       lab/T5 error: no model",
        "tasks  1 task may fail and did, outside gates",
        "       lab/T1 until 2026-12-01: the tool is flaky (#12)",
        "tasks  1 task may fail and did not: take it out of sop_tasks.toml",
        "       lab/T2 (5 of 5)",
        "tasks  1 task may fail and did not, in too few runs to tell (--sop-trials=5)",
        "       lab/T6 (1 of 1)",
    ] == list(entry_lines(report, file="sop_tasks.toml"))


def test_a_long_list_is_cut() -> None:
    report = PolicyReport(expired=tuple(entry(f"T{number}") for number in range(25)))

    lines = list(entry_lines(report, file="sop_tasks.toml"))

    assert 22 == len(lines)
    assert "       and 5 more" == lines[-1]


def test_no_line_is_longer_than_a_terminal() -> None:
    report = PolicyReport(expired=(entry("T" * 90),))

    assert all(len(line) <= 80 for line in entry_lines(report, file="x" * 90))


# Rules in the summary and in a failure: broken ones in full, held ones beside one another.

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
    unneeded=UnneededCounts(runs=274, calls=1096, affected=2, by_tool={"fax": 2, "page": 1}),
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
    assert "calls  3 unneeded calls in 2 of 274 runs: fax 2, page 1" in lines
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


def test_a_failed_assertion_takes_at_most_25_lines_of_72_columns() -> None:
    long = "x" * 200
    calls = [CallRecord(name=long, arguments={long: long}, error=long) for _ in range(30)]

    unmet = unmet_lines(long, Unmet(why=long, step=15), calls)
    rules = contract_lines([broken(n, long) for n in range(9)], calls)

    assert len(unmet) <= 25
    assert len(rules) <= 25
    assert max(map(len, [*unmet, *rules])) <= 72
    assert max(len(unmet[0]), len(rules[0])) <= 56


def test_broken_rules_are_counted_where_they_are_many() -> None:
    lines = contract_lines([broken(n) for n in range(6)], ())

    assert "6 rules of the contract are broken" == lines[0]
    assert "and 2 more" == lines[5]
    assert "calls: none" == lines[6]
