"""What the summary says of several trials, and that it says nothing of one."""

from __future__ import annotations

from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.summary import disagreement_lines, trial_lines

SUMMARY = Summary(
    runs=500,
    tasks=100,
    outcomes={Outcome.CORRECT: 430, Outcome.WRONG: 70},
    trials_by={(5, 5): 71, (5, 3): 25, (5, 0): 4},
)


def flaky(number: int, correct: int = 4, **more: object) -> TaskTrials:
    keywords: dict[str, object] = {
        "domain": "dangerous_goods",
        "task": f"P_{13_000 + number}",
        "trials": 5,
        "correct": correct,
        **more,
    }
    return TaskTrials(**keywords)  # type: ignore[arg-type]  # test sugar


def test_pass_any_and_pass_all_stand_on_one_line() -> None:
    (line,) = trial_lines(SUMMARY)

    assert "trials 5 per task   pass any 96.0% [92.0, 99.0]   pass all 71.0% [62.0, 80.0]" == line
    assert len(line) <= 80


def test_of_one_trial_nothing_is_said() -> None:
    assert [] == list(trial_lines(EMPTY))
    assert [] == list(trial_lines(Summary(runs=9, tasks=9, outcomes={Outcome.CORRECT: 9})))
    assert [] == list(disagreement_lines([]))


def test_trials_of_unequal_number_are_told() -> None:
    (line, *_) = trial_lines(Summary(runs=8, tasks=2, trials_by={(3, 3): 1, (5, 5): 1}))

    assert line.startswith("trials 3 to 5 per task   pass any 100.0%")


def test_tasks_that_disagree_are_listed_the_least_reliable_first() -> None:
    found = [flaky(1), flaky(2, 1), flaky(3, 3, unavailable=1, not_run=1)]

    assert [
        "       trials disagree in 3 tasks: P_13002 1 of 5,",
        "       P_13003 3 of 5 (1 unavailable, 1 not run), P_13001 4 of 5",
    ] == list(disagreement_lines(found))


def test_a_long_list_is_cut_and_says_so() -> None:
    lines = list(disagreement_lines([flaky(number) for number in range(23)]))

    assert lines[-1].endswith("P_13019 4 of 5, and 3 more")
    assert "trials disagree in 23 tasks" in lines[0]
    assert all(len(line) <= 80 for line in lines)


def test_domains_and_agents_are_named_where_there_are_several() -> None:
    found = [flaky(1, agent="a"), flaky(2, agent="b", domain="lab")]

    text = " ".join(" ".join(disagreement_lines(found)).split())

    assert "dangerous_goods/P_13001 by a 4 of 5, lab/P_13002 by b 4 of 5" in text


def test_a_task_cannot_write_lines_of_its_own() -> None:
    lines = list(disagreement_lines([flaky(1, task="x\nTSR 100%")]))

    assert ["       trials disagree in 1 task: x TSR 100% 4 of 5"] == lines
