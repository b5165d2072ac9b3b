"""The comparison on a terminal: the line of the interface, and what may happen to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pytest

from pytest_sopbench import Mismatch, Outcome, RunRecord, Summary
from pytest_sopbench._core.comparing import Difference, Leaderboard, Standing, compare
from pytest_sopbench._core.comparison import (
    OTHER_RULES,
    Change,
    ComparedSession,
    ComparisonResult,
    GroupComparison,
    SetupChange,
)
from pytest_sopbench._core.metrics.counts import Amount
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.statistics import PairedTest
from pytest_sopbench._reports.terminal.comparison import (
    SessionRow,
    change_text,
    changed_lines,
    comparison_lines,
    difference_text,
    leaderboard_lines,
    p_value,
    session_table_lines,
    setup_lines,
    short_comparison,
)
from pytest_sopbench._reports.text import WIDTH, columns

RIGHT, WRONG, AWAY = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE


def runs(outcomes: Iterable[Outcome], domain: str = "d", **more: object) -> list[RunRecord]:
    keywords: dict[str, object] = {"domain": domain, "duration_s": 1.2, **more}
    return [
        RunRecord(task=f"P_{13_000 + number}", outcome=outcome, **keywords)  # type: ignore[arg-type]  # test sugar
        for number, outcome in enumerate(outcomes)
    ]


def compared(before: list[RunRecord], now: list[RunRecord], judging: str = "") -> GroupComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="current", records=now, judging=judging),
    ).pooled


def block(comparison: GroupComparison) -> list[str]:
    lines = list(comparison_lines(comparison))
    assert all(len(line) <= 80 for line in lines)
    assert all(line == line.rstrip() for line in lines)
    return lines


def of(lost: int, gained: int, same: int) -> GroupComparison:
    return compared(
        runs([RIGHT] * lost + [WRONG] * gained + [RIGHT] * same),
        runs([WRONG] * lost + [RIGHT] * gained + [RIGHT] * same),
    )


def test_the_line_of_the_interface() -> None:
    first, *_ = block(of(2, 5, 200))

    assert "vs main  lost 2 (P_13000, P_13001), gained 5, McNemar p = 0.45" == first


def test_the_block_says_what_the_verdict_rests_on() -> None:
    before = runs([RIGHT, RIGHT, *[RIGHT] * 18], usage=Usage(cost_usd=0.02))
    now = runs([WRONG, Outcome.ERROR, *[RIGHT] * 18])

    assert [
        "vs main  lost 2 (P_13000, P_13001), gained 0, McNemar p = 0.5",
        "       not enough data: 2 of 20 paired tasks changed, and p < 0.05 takes at",
        "       least 6",
        "       TSR 100.0% -> 90.0%, -10.0 [-30.1, +7.7]   ECR -5.0 [-23.6, +11.6]",
        "       C-TSR -5.3 [-16.7, 0.0]",
        "       correct -> wrong 1, correct -> error 1",
        "       median 1.2 s -> 1.2 s   tool calls 0 -> 0   cost $0.020 -> n/a",
    ] == block(compared(before, now))


@pytest.mark.parametrize(
    ("comparison", "text"),
    [
        pytest.param(of(6, 0, 12), "       regression: 6 of 18 paired tasks changed", id="worse"),
        pytest.param(of(0, 9, 9), "       improvement: 9 of 18 paired tasks changed", id="better"),
        pytest.param(
            of(0, 0, 9), "       no difference shown: 0 of 9 paired tasks changed", id="alike"
        ),
    ],
)
def test_the_tier_stands_below_the_counts(comparison: GroupComparison, text: str) -> None:
    assert text in block(comparison)[1:3]


def test_many_lost_tasks_are_cut_at_20() -> None:
    lines = block(of(23, 0, 9))
    text = " ".join(" ".join(lines).split())

    assert "P_13019, and 3 more), gained 0, McNemar p < 0.0001" in text
    assert "P_13020" not in text


def test_none_lost_has_no_brackets() -> None:
    assert "vs main  lost 0, gained 0, McNemar p = 1" == block(of(0, 0, 9))[0]


def test_tasks_that_are_not_compared_are_named_with_the_reason() -> None:
    before = [*runs([RIGHT] * 9)[:7], *runs([RIGHT] * 30)[9:]]
    now = [*runs([AWAY, *[RIGHT] * 8])]

    lines = block(compared(before, now))

    assert (
        "       not compared, only in the baseline: 21 tasks (P_13009, P_13010, P_13011," in lines
    )
    assert "       not compared, only in this session: 2 tasks (P_13007, P_13008)" in lines
    assert "       not compared, unavailable or never started: 1 task (P_13000)" in lines
    assert any(line.endswith("and 1 more)") for line in lines)


def test_a_changed_task_that_is_not_correct_now_is_named() -> None:
    before = runs([RIGHT] * 9, task_hash="old")
    changed = [replace(run, task_hash="new") for run in runs([WRONG, RIGHT])]

    lines = block(compared(before, [*changed, *runs([RIGHT] * 9, task_hash="old")[2:]]))

    assert [
        "       not compared, the task itself changed: 2 tasks (P_13000, P_13001); not",
        "       correct now: P_13000",
    ] == lines[-2:]


def test_what_options_left_out_is_counted_and_what_may_fail_is_named() -> None:
    found = compare(
        ComparedSession(name="main", records=runs([RIGHT] * 9)),
        ComparedSession(name="current", records=runs([WRONG] * 4)),
        left_out={("d", f"P_1300{number}") for number in range(9)},
        may_fail={("d", "P_13000")},
    ).pooled

    assert [
        "       not compared, may fail: 1 task (P_13000)",
        "       5 tasks left out by options",
    ] == block(found)[-2:]


def test_domains_and_agents_are_named_where_the_comparison_spans_several() -> None:
    before = [*runs([RIGHT], "one", agent="a"), *runs([RIGHT], "two", agent="b")]
    now = [*runs([WRONG], "one", agent="a"), *runs([WRONG], "two", agent="b")]

    text = " ".join(block(compared(before, now)))

    assert "lost 2 (one/P_13000 by a, two/P_13000 by b)," in text


def test_sessions_judged_by_other_rules_show_no_numbers() -> None:
    lines = block(compared(runs([RIGHT] * 9), runs([WRONG] * 9), judging="other"))

    assert ["vs main  not comparable: judged by other rules than ours (sopbench rescore)"] == lines


def test_nothing_in_common_shows_no_numbers() -> None:
    lines = block(compared(runs([RIGHT] * 2), []))

    assert [
        "vs main  not enough data: no task can be compared",
        "       not compared, only in the baseline: 2 tasks (P_13000, P_13001)",
    ] == lines


def test_trials_name_their_test_and_its_draws() -> None:
    before = [replace(run, trial=trial) for trial in (1, 2) for run in runs([RIGHT] * 12)]
    now = [*before[:12], *(replace(run, outcome=WRONG) for run in before[12:])]

    exact = compared(before, now)
    drawn = replace(
        exact, test=replace(exact.test, p=0.0123, source="permutation, 99999 draws, seed 0")
    )

    assert "gained 0, McNemar p = 0.00049" in " ".join(" ".join(block(exact)).split())
    assert "permutation p = 0.012 (99999 draws, seed 0)" in " ".join(" ".join(block(drawn)).split())


def test_an_alarm_that_began_or_ended_is_told() -> None:
    began = compared(_answers("AB" * 15), _answers("AA" * 15))
    ended = compared(_answers("AA" * 15), _answers("AB" * 15))

    assert "       new alarm: class: A favoured, B never given" in block(began)
    assert "       no alarm any more: class: A favoured, B never given" in block(ended)


def _answers(given: str) -> list[RunRecord]:
    found: list[RunRecord] = []
    for run, expected, actual in zip(runs([RIGHT] * 30), "AB" * 15, given, strict=True):
        one = replace(run, expected={"class": expected})
        if expected != actual:
            wrong = Mismatch(field="class", expected=expected, actual=actual, why="different")
            one = replace(one, outcome=WRONG, mismatches=(wrong,))
        found.append(one)
    return found


@pytest.mark.parametrize(
    ("p", "text"),
    [
        pytest.param(0.453125, "p = 0.45", id="two digits"),
        pytest.param(1.0, "p = 1", id="one"),
        pytest.param(0.0023, "p = 0.0023", id="small"),
        pytest.param(0.00009, "p < 0.0001", id="very small"),
        pytest.param(0.0496, "p = 0.0496", id="just below the bound"),
        pytest.param(0.0504, "p = 0.05", id="just above it"),
    ],
)
def test_a_p_is_never_rounded_across_the_bound(p: float, text: str) -> None:
    assert text == p_value(p)


def test_a_change_of_nothing_that_is_known_is_not_available() -> None:
    assert "n/a" == change_text(Change())
    assert "-5.0" == change_text(Change(before=0.5, after=0.45))


def test_the_verdict_in_a_few_words() -> None:
    assert "regression: lost 9, gained 0, p = 0.0039" == short_comparison(of(9, 0, 9))
    assert "not enough data" == short_comparison(compared(runs([RIGHT]), []))
    unlike = replace(of(0, 0, 9), tier=ComparisonResult.NOT_COMPARABLE)
    assert "not comparable" == short_comparison(unlike)


def test_names_cannot_write_lines_of_their_own() -> None:
    found = replace(of(0, 0, 9), name="main\ngate   TSR holds")

    assert block(found)[0].startswith("vs main gate   TSR holds  lost 0")


@pytest.mark.parametrize("length", [10, 40, 90])
def test_a_set_up_that_changed_shows_both_ends_whatever_their_names(length: int) -> None:
    """What tells two prompts apart stands at the end of each."""
    name = "p" * length
    prompt = SetupChange(what="prompt", before=f"{name}.md 3f2a", now=f"{name}.txt 91bc")
    model = SetupChange(what="model", before="small", now="large", agent="a" * length)

    lines = list(setup_lines([model, prompt]))

    text = " ".join(line.strip() for line in lines)
    assert all(columns(line) <= WIDTH for line in lines)
    assert all(end in text for end in ("small ->", "large", ".md 3f2a ->", ".txt 91bc"))


# Several sessions in one table.

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
    assert "* main: 4 of 274 runs reported no cost" == remark


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


# The leaderboard on a terminal: it fits, what is unknown is n/a, and no label is cut.

USED = {
    "input_tokens": Amount(total=4_100 * 50, known=50),
    "output_tokens": Amount(total=300 * 50, known=50),
    "cost_usd": Amount(total=0.0031 * 50, known=50),
}
MCNEMAR = PairedTest(p=0.01, source="exact McNemar")


def standing(label: str, correct: int = 40, **more: object) -> Standing:
    outcomes = {Outcome.CORRECT: correct, Outcome.WRONG: 50 - correct}
    summary = Summary(runs=50, tasks=50, outcomes=outcomes, **more)  # type: ignore[arg-type]
    return Standing(agent=label, label=label, summary=summary)


def test_a_row_has_rates_tokens_cost_and_time() -> None:
    board = Leaderboard(
        standings=(standing("gpt-5-mini", durations=(12.3,) * 50, usage=USED), standing("other"))
    )

    lines = list(leaderboard_lines(board))

    assert "agent" == lines[1].split()[0]
    row = "gpt-5-mini 80.0 [67.0, 88.8] 100.0 80.0 n/a 4.4k $0.0031 12.3 s"
    assert row == " ".join(lines[2].split())
    assert ["n/a"] * 4 == lines[3].split()[-4:]


def test_it_fits_80_columns_however_long_a_label_is() -> None:
    label = "function-calling:openai-responses/a-model-of-a-long-name-2026-01-01"
    used = {**USED, "cost_usd": Amount(total=123.456, known=50)}
    board = Leaderboard(
        standings=(standing(label, durations=(1234.5,) * 50, usage=used), standing("größe 7"))
    )

    lines = list(leaderboard_lines(board))

    assert max(map(len, lines)) <= 80
    assert label in lines


def test_a_mean_over_some_of_the_runs_is_marked() -> None:
    some = {name: Amount(total=one.total, known=40) for name, one in USED.items()}

    lines = list(leaderboard_lines(Leaderboard(standings=(standing("a", usage=some),))))

    assert "*" in lines[2]
    assert "note   * a mean over the runs that reported it, and not over all" in lines


def test_a_closer_look_has_more_columns_and_a_line_for_each_pair() -> None:
    pair = Difference(first="a", second="b", paired=50, ahead=9, behind=1, test=MCNEMAR, p=0.02)
    board = Leaderboard(standings=(standing("a", usage=USED), standing("b")), differences=(pair,))

    lines = list(leaderboard_lines(board, verbosity=1))

    assert "total cost" in lines[1]
    assert "$0.15" in lines[2]
    assert (
        "       a and b: 9 to 1 of 50 tasks, p = 0.01, adjusted p = 0.02 (exact McNemar)" in lines
    )


@pytest.mark.parametrize(
    ("changed", "lines"),
    [
        pytest.param({"sop": ()}, [], id="none"),
        pytest.param(
            {"sop": ("a",)}, ["sop    the SOP of a has changed since the baseline"], id="one"
        ),
        pytest.param(
            {"sop": ("a", "b")},
            ["sop    the SOPs of a, b have changed since the baseline"],
            id="two",
        ),
        pytest.param(
            {"specs": ("a",), "tools": ("a", "b")},
            [
                "tools  the tool specs of a have changed since the baseline",
                "tools  the tools of a, b have changed since the baseline",
            ],
            id="tools",
        ),
    ],
)
def test_the_domains_of_which_agents_were_given_something_else_are_named(
    changed: Mapping[str, Sequence[str]], lines: list[str]
) -> None:
    assert lines == [*changed_lines(changed)]


def test_differences_are_told_by_what_they_show() -> None:
    names = ("a", "b", "c", "d")
    board = Leaderboard(
        standings=tuple(map(standing, names)),
        differences=(
            Difference(first="a", second="c", ahead=12, behind=2, test=MCNEMAR, p=0.02, needed=8),
            Difference(first="a", second="b", ahead=9, behind=8, test=MCNEMAR, p=0.9, needed=8),
            Difference(first="b", second="c", ahead=1, behind=0, test=MCNEMAR, p=1.0, needed=8),
            Difference(first="a", second="d", why="they did not run the same tasks"),
        ),
    )

    assert (
        "more than chance: a over c (12 tasks to 2, p = 0.02); "
        "no more than chance: a and b (9 tasks to 8, p = 0.9); "
        "too few tasks differ to tell: b and c (1 task to 0, p = 1); "
        "p < 0.05 takes at least 8 (exact McNemar test by task, Holm over 3 pairs); "
        "not compared: a and d: they did not run the same tasks"
    ) == difference_text(board)
