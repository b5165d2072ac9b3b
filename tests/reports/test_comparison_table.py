"""Several sessions in one table."""

from __future__ import annotations

from dataclasses import replace

from pytest_sopbench._core.comparing.comparison import (
    OTHER_RULES,
    ComparisonResult,
    GroupComparison,
)
from pytest_sopbench._core.metrics.counts import Amount
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.statistics import PairedTest
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.comparison import SessionRow, session_table_lines

SUMMARY = Summary(
    runs=274,
    tasks=274,
    outcomes={Outcome.CORRECT: 258, Outcome.WRONG: 12, Outcome.ERROR: 4},
    durations=(1.0,) * 274,
    usage={"cost_usd": Amount(total=2.58, known=274)},
)
COMPARISON = GroupComparison(
    name="main",
    tier=ComparisonResult.NO_DIFFERENCE,
    lost=(TaskKey("d", "P_1"), TaskKey("d", "P_2")),
    gained=tuple(TaskKey("d", f"P_{number}") for number in range(3, 8)),
    paired=274,
    test=PairedTest(p=0.453125, source="exact McNemar"),
)


def table(*rows: SessionRow) -> list[str]:
    lines = list(session_table_lines(rows))
    assert all(len(line) <= 80 for line in lines)
    return lines


def test_each_session_is_a_line_and_the_first_is_compared_with_none() -> None:
    other = SessionRow(name="gpt-5", summary=SUMMARY, comparison=COMPARISON)

    assert [
        "session        TSR                   ECR   lost  gained         p  cost/correct",
        "main         94.2% [90.7, 96.4]    98.5%      -       -         -        $0.010",
        "gpt-5        94.2% [90.7, 96.4]    98.5%      2       5      0.45        $0.010",
    ] == [line.rstrip() for line in table(SessionRow(name="main", summary=SUMMARY), other)]


def test_an_unknown_cost_is_not_0() -> None:
    _, line = table(SessionRow(name="main", summary=replace(SUMMARY, usage={})))

    assert line.endswith("n/a")


def test_a_cost_that_not_all_runs_told_is_marked() -> None:
    partly = replace(SUMMARY, usage={"cost_usd": Amount(total=2.0, known=270)})

    _, line, remark = table(SessionRow(name="main", summary=partly))

    assert line.endswith("$0.008*")
    assert "* main: 4 of 274 runs did not tell their cost" == remark


def test_nothing_correct_has_no_cost_per_correct() -> None:
    nothing = replace(SUMMARY, outcomes={Outcome.WRONG: 274})

    _, line = table(SessionRow(name="main", summary=nothing))

    assert line.endswith("n/a")


def test_a_session_judged_by_other_rules_has_no_losses() -> None:
    unlike = replace(COMPARISON, tier=ComparisonResult.NOT_COMPARABLE, why=OTHER_RULES)

    _, line, remark = table(SessionRow(name="other", summary=SUMMARY, comparison=unlike))

    assert "98.5%      -       -         -" in line
    assert "other: judged by other rules than ours (sopbench rescore)" == remark


def test_a_tiny_p_is_a_bound() -> None:
    sure = replace(COMPARISON, test=PairedTest(p=1e-9, source="exact McNemar"))

    _, line = table(SessionRow(name="x", summary=SUMMARY, comparison=sure))

    assert "< 0.0001" in line


def test_trials_have_the_interval_over_tasks() -> None:
    trials = replace(SUMMARY, trials_by={(2, 2): 120, (2, 0): 8, (2, 1): 9})

    _, line = table(SessionRow(name="x", summary=trials))

    assert "[90.7, 96.4]" not in line


def test_a_long_name_stands_whole_above_its_numbers() -> None:
    name = ".sop/sessions/20260101-120000-a1b2c3.jsonl"

    _, above, line = table(SessionRow(name=name, summary=SUMMARY))

    assert name == above
    assert line.startswith(" " * 13 + "94.2%")
