"""A comparison as a part of a page of Markdown: the verdict, the tasks by name, the changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession, SessionComparison
from pytest_sopbench._reports.markdown import comparison_block
from tests.builders.runs import run

RIGHT, WRONG, AWAY = Outcome.CORRECT, Outcome.WRONG, Outcome.UNAVAILABLE


def runs(outcomes: Iterable[Outcome], domain: str = "lab") -> list[RunRecord]:
    return [run(f"T_{number}", outcome, domain=domain) for number, outcome in enumerate(outcomes)]


def compared(
    before: list[RunRecord], now: list[RunRecord], *, judging: str = "", **more: Any
) -> SessionComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="now", records=now, judging=judging),
        **more,
    )


def block(compared: SessionComparison) -> list[str]:
    return list(comparison_block(compared))


def test_nothing_compared_is_nothing_said() -> None:
    assert [] == list(comparison_block(None))


def test_the_verdict_stands_first() -> None:
    lines = block(compared(runs([RIGHT] * 8), runs([WRONG] * 6 + [RIGHT] * 2)))

    assert [
        "## Compared with main",
        "",
        "**regression: lost 6, gained 0 of 8 paired tasks, p = 0.031**",
        "",
        "- lost 6: T_0, T_1, T_2, T_3, T_4, T_5",
    ] == lines[:5]


@pytest.mark.parametrize(
    ("session", "verdict"),
    [
        pytest.param(
            compared(runs([RIGHT] * 8), runs([WRONG] * 2 + [RIGHT] * 6)),
            "**not enough data: lost 2, gained 0 of 8 paired tasks, p = 0.5; "
            "p < 0.05 takes at least 6**",
            id="not enough",
        ),
        pytest.param(
            compared(runs([RIGHT]), runs([RIGHT])),
            "**no difference shown: lost 0, gained 0 of 1 paired task, p = 1**",
            id="the same",
        ),
        pytest.param(
            compared(runs([RIGHT]), runs([AWAY])),
            "**not enough data: no task can be compared**",
            id="no pair",
        ),
        pytest.param(
            compared(runs([RIGHT]), runs([RIGHT]), judging="other"),
            "**not comparable: judged by other rules than ours (sopbench rescore)**",
            id="other rules",
        ),
    ],
)
def test_each_tier_has_its_words(session: SessionComparison, verdict: str) -> None:
    assert verdict == block(session)[2]


def test_what_was_gained_is_named() -> None:
    assert "- gained 1: T_1" in block(compared(runs([RIGHT, WRONG]), runs([RIGHT, RIGHT])))


def test_what_could_not_be_compared_is_named_with_the_reason() -> None:
    lines = block(compared(runs([RIGHT] * 3), runs([RIGHT, AWAY])))

    assert "- not compared, unavailable or never started 1: T_1" in lines
    assert any(line.startswith("- not compared, only in") and "T_2" in line for line in lines)


def test_what_may_fail_is_named() -> None:
    lines = block(compared(runs([RIGHT] * 2), runs([RIGHT, WRONG]), may_fail={("lab", "T_1")}))

    assert "- not compared, may fail 1: T_1" in lines
    assert not any(line.startswith("- lost") for line in lines)


def test_a_long_list_is_cut() -> None:
    lines = block(compared(runs([RIGHT] * 25), runs([WRONG] * 25)))

    (lost,) = [line for line in lines if line.startswith("- lost 25: ")]
    assert lost.endswith("T_19 and 5 more")


def test_the_changes_are_a_table() -> None:
    lines = block(compared(runs([RIGHT] * 2), runs([RIGHT, WRONG])))

    start = lines.index("|  | before | now | change, in points |")
    assert lines[start + 2].startswith("| TSR | 100.0% | 50.0% | -50.0 [")


def test_several_domains_have_a_line_each_and_their_tasks_their_domain() -> None:
    before = [*runs([RIGHT] * 2), *runs([RIGHT] * 2, "clinic")]
    now = [*runs([RIGHT, WRONG]), *runs([RIGHT] * 2, "clinic")]

    lines = block(compared(before, now))

    assert "- lost 1: lab/T_1" in lines
    assert "| lab | 1 | 0 | p = 1 |" in lines
    assert "| clinic | 0 | 0 | p = 1 |" in lines


def test_a_table_stands_apart_from_what_is_before_it() -> None:
    """Without an empty line Markdown would take it for a part of the list."""
    lines = block(compared(runs([RIGHT] * 2), runs([RIGHT, WRONG])))

    assert "" == lines[lines.index("|  | before | now | change, in points |") - 1]


def test_a_name_breaks_no_page() -> None:
    lost = compared(
        [RunRecord(domain="lab", task="a|b", outcome=RIGHT)],
        [RunRecord(domain="lab", task="a|b", outcome=WRONG)],
    )

    assert "- lost 1: a&#124;b" in block(lost)
