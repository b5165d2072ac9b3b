"""Agents of one session side by side: their order, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pytest

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.comparing import OTHER_TASKS, Leaderboard, leaderboard_of
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import GroupKey, TaskName
from pytest_sopbench._core.statistics import mcnemar

RIGHT, WRONG = Outcome.CORRECT, Outcome.WRONG


def runs(
    agent: str, outcomes: Sequence[Outcome], *, domain: str = "lab", trial: int = 1
) -> Iterator[RunRecord]:
    for number, outcome in enumerate(outcomes):
        yield RunRecord(
            domain=domain, task=f"T_{number}", trial=trial, agent=agent, outcome=outcome
        )


def board(records: Iterable[RunRecord], *may_fail: TaskName) -> Leaderboard:
    every = list(records)
    keys = dict.fromkeys(GroupKey(one.domain, one.agent) for one in every)
    groups = {
        key: summary_of(one for one in every if (one.domain, one.agent) == key) for key in keys
    }
    found = leaderboard_of(groups, every, may_fail=may_fail)
    assert found is not None
    return found


def test_one_agent_has_no_leaderboard() -> None:
    records = [*runs("a", [RIGHT]), *runs("a", [WRONG], domain="clinic")]
    groups = {GroupKey(one.domain, one.agent): summary_of([one]) for one in records}

    assert leaderboard_of(groups, records) is None


def test_the_best_agent_comes_first_by_tsr_and_then_by_ecr() -> None:
    found = board(
        [
            *runs("silent", [RIGHT, Outcome.NO_ANSWER]),
            *runs("wrong", [RIGHT, WRONG]),
            *runs("right", [RIGHT, RIGHT]),
        ]
    )

    assert ["right", "wrong", "silent"] == [one.agent for one in found.standings]


def test_p_is_that_of_the_exact_mcnemar_test_over_all_tasks_of_all_domains() -> None:
    records = [
        *runs("a", [RIGHT] * 9 + [WRONG] * 3),
        *runs("b", [WRONG] * 7 + [RIGHT] * 3 + [WRONG] * 2),
        *runs("a", [RIGHT] * 4, domain="clinic"),
        *runs("b", [WRONG] * 4, domain="clinic"),
    ]

    (pair,) = board(records).differences

    assert ("a", "b") == (pair.first, pair.second)
    assert (16, 16, 11, 1) == (pair.tasks, pair.paired, pair.ahead, pair.behind)
    assert mcnemar(1, 11) == pytest.approx(pair.p)
    assert pair.is_shown


def test_p_is_adjusted_over_the_pairs_that_were_tested() -> None:
    records = [
        *runs("a", [RIGHT] * 12),
        *runs("b", [RIGHT] * 12),
        *runs("c", [WRONG] * 7 + [RIGHT] * 5),
        *runs("other", [RIGHT] * 3, domain="clinic"),
    ]

    pairs = {(one.first, one.second): one for one in board(records).differences}

    assert 3 * mcnemar(7, 0) == pytest.approx(pairs["a", "c"].p)
    assert pairs["a", "c"].p == pytest.approx(pairs["b", "c"].p)
    assert pairs["a", "c"].is_shown
    assert OTHER_TASKS == pairs["a", "other"].why


def test_a_difference_that_one_test_would_show_may_be_chance_among_many() -> None:
    agents = [*"abcd"]
    records = [one for agent in agents for one in runs(agent, [RIGHT] * 12)]
    records += runs("e", [WRONG] * 6 + [RIGHT] * 6)

    found = board(records)

    assert mcnemar(6, 0) < 0.05
    assert not any(one.is_shown for one in found.differences)


def test_agents_over_other_tasks_are_ranked_and_not_compared() -> None:
    found = board([*runs("a", [RIGHT] * 8), *runs("b", [WRONG] * 7)])

    assert [(OTHER_TASKS, False)] == [(one.why, one.is_shown) for one in found.differences]


def test_too_few_tasks_that_differ_show_nothing_and_say_how_many_it_takes() -> None:
    (pair,) = board([*runs("a", [RIGHT] * 9), *runs("b", [WRONG] * 5 + [RIGHT] * 4)]).differences

    assert pair.is_too_small
    assert 6 == pair.needed


def test_unavailable_runs_are_no_evidence_and_too_many_of_them_leave_the_pair_open() -> None:
    away = Outcome.UNAVAILABLE
    few = board([*runs("a", [RIGHT] * 10), *runs("b", [away] * 2 + [WRONG] * 8)])
    many = board([*runs("a", [RIGHT] * 10), *runs("b", [away] * 3 + [WRONG] * 7)])

    assert (8, 8, 0) == (
        few.differences[0].paired,
        few.differences[0].ahead,
        few.differences[0].behind,
    )
    assert "only 7 of 10 tasks can be compared" == many.differences[0].why


def test_trials_are_compared_by_the_rates_of_tasks() -> None:
    records = [
        one
        for trial, (a, b) in enumerate([(RIGHT, WRONG), (RIGHT, RIGHT)], start=1)
        for one in (*runs("a", [a] * 8, trial=trial), *runs("b", [b] * 8, trial=trial))
    ]

    (pair,) = board(records).differences

    # Each of eight tasks differs by the same half, in one direction.
    assert (8, 8, 0) == (pair.paired, pair.ahead, pair.behind)
    assert mcnemar(8, 0) == pytest.approx(pair.p)


def test_tasks_that_may_fail_prove_nothing() -> None:
    records = [*runs("a", [RIGHT] * 10), *runs("b", [WRONG] * 2 + [RIGHT] * 8)]

    found = board(records, TaskName("lab", "T_0"))

    assert (9, 1) == (found.differences[0].paired, found.differences[0].ahead)
    assert 10 == found.standings[0].summary.runs
