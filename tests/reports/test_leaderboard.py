"""The leaderboard on a terminal: it fits, what is unknown is n/a, and no label is cut."""

from __future__ import annotations

from pytest_sopbench._core.comparing.leaderboard import Difference, Leaderboard, Standing
from pytest_sopbench._core.metrics.counts import Amount
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.statistics import PairedTest
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.comparison import difference_text, leaderboard_lines

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
    assert "note   * a mean over the runs that told it, and not over all" in lines


def test_a_closer_look_has_more_columns_and_a_line_for_each_pair() -> None:
    pair = Difference(first="a", second="b", paired=50, ahead=9, behind=1, test=MCNEMAR, p=0.02)
    board = Leaderboard(standings=(standing("a", usage=USED), standing("b")), differences=(pair,))

    lines = list(leaderboard_lines(board, verbosity=1))

    assert "total cost" in lines[1]
    assert "$0.15" in lines[2]
    assert (
        "       a and b: 9 to 1 of 50 tasks, p = 0.01, adjusted p = 0.02 (exact McNemar)" in lines
    )


def test_differences_are_told_by_what_they_show() -> None:
    names = ("a", "b", "c", "d")
    board = Leaderboard(
        standings=tuple(map(standing, names)),
        differences=(
            Difference(first="a", second="c", ahead=12, behind=2, test=MCNEMAR, p=0.02, needed=8),
            Difference(first="a", second="b", ahead=9, behind=8, test=MCNEMAR, p=0.9, needed=8),
            Difference(first="b", second="c", ahead=2, behind=1, test=MCNEMAR, p=1.0, needed=8),
            Difference(first="a", second="d", why="they did not run the same tasks"),
        ),
    )

    assert (
        "more than chance: a over c (12 tasks to 2, p = 0.02); "
        "no more than chance: a and b (9 tasks to 8, p = 0.9); "
        "too few tasks differ to tell: b and c (2 tasks to 1, p = 1); "
        "p < 0.05 takes at least 8 (exact McNemar test by task, Holm over 3 pairs); "
        "not compared: a and d: they did not run the same tasks"
    ) == difference_text(board)
