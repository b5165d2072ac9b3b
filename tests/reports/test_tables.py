"""The tables under `-v`, 80 columns wide whatever stands in them."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.metrics.counts import Confusion, RunCounts, ToolCounts
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.terminal.summary import (
    confusion_lines,
    expected_lines,
    table_lines,
    tool_lines,
)


def confusion(*labels: str, other: str = "") -> Confusion:
    pairs = {(label, label): number for number, label in enumerate(labels, start=1)}
    if other:
        pairs[labels[0], other] = 9
    return Confusion(field="class", pairs=pairs)


def test_short_labels_stand_above_their_columns() -> None:
    lines = list(confusion_lines(confusion("Class A", "Class B", "Other", other="?")))

    assert lines == [
        "confusion of class (15 completed runs)",
        r"  expected \ given     A     B Other other",
        "  Class A              1     .     .     9",
        "  Class B              .     2     .     .",
        "  Other                .     .     3     .",
    ]


def test_long_labels_are_numbered() -> None:
    one = "Escalate to the regional supervisor"
    other = "Approve the refund in full"

    lines = list(confusion_lines(confusion(one, other)))

    assert lines[1:] == [
        r"  expected \ given                       1  2",
        "  1 Approve the refund in full           2  .",
        "  2 Escalate to the regional supervisor  .  1",
    ]


@pytest.mark.parametrize("count", [2, 5, 12, 20])
@pytest.mark.parametrize("length", [1, 12, 40])
def test_a_table_is_80_columns_wide(count: int, length: int) -> None:
    labels = [f"{number:0{length}}" for number in range(count)]

    lines = list(confusion_lines(confusion(*labels, other="?")))

    assert max(map(len, lines)) <= 80


def test_a_table_that_does_not_fit_says_so() -> None:
    labels = [str(number) for number in range(20)]

    lines = list(confusion_lines(confusion(*labels), width=50))

    assert lines[1:] == ["  20 labels do not fit side by side"]


def test_the_most_frequent_answer_comes_first() -> None:
    groups = {"A": RunCounts(runs=1), "Hazard Class B": RunCounts(runs=9, completed=8, correct=3)}

    assert list(expected_lines(groups)) == [
        "by expected answer    runs  completed  correct     TSR",
        "  Hazard Class B         9          8        3   33.3%",
        "  A                      1          0        0    0.0%",
    ]


def test_many_answers_are_counted() -> None:
    groups = {f"answer {number} {'x' * 80}": RunCounts(runs=1) for number in range(21)}

    lines = list(expected_lines(groups))

    assert len(lines) == 7
    assert lines[-1] == "  and 16 more answers"
    assert max(map(len, lines)) <= 80


def test_tools_are_listed_with_what_failed_beside() -> None:
    tools = {"look_up": ToolCounts(calls=4, bad=1, failed=2), "send": ToolCounts(calls=9)}

    assert list(tool_lines(tools)) == [
        "tools       calls     bad  failed   accuracy",
        "  send          9       0       0     100.0%",
        "  look_up       4       1       2      75.0%",
    ]


def test_many_tools_are_counted() -> None:
    tools = {f"tool_{number}_{'x' * 60}": ToolCounts(calls=1) for number in range(22)}

    lines = list(tool_lines(tools))

    assert lines[-1] == "  and 2 more tools"
    assert max(map(len, lines)) <= 80


def test_nothing_has_no_tables() -> None:
    assert list(table_lines(Summary())) == []


def test_all_tables_follow_one_another() -> None:
    summary = Summary(
        answers={"class": confusion("A", "B").pairs},
        by_expected={"A": RunCounts(runs=1), "B": RunCounts(runs=1)},
        tools={"look_up": ToolCounts(calls=1)},
    )

    titles = [line.split()[0] for line in table_lines(summary) if not line.startswith(" ")]

    assert titles == ["confusion", "by", "tools"]


def test_one_answer_needs_no_breakdown() -> None:
    assert list(table_lines(Summary(by_expected={"A": RunCounts(runs=5)}))) == []


def test_an_empty_breakdown_has_no_title() -> None:
    assert list(expected_lines({})) == []


def test_the_breakdown_is_by_classes_where_there_are_numbers_beside_them() -> None:
    by_class = {"free": RunCounts(runs=2), "refuse": RunCounts(runs=1)}
    by_expected = {f"free / {number}": RunCounts(runs=1) for number in range(3)}

    lines = list(table_lines(Summary(by_expected=by_expected, by_class=by_class)))

    assert ["by", "free", "refuse"] == [line.split()[0] for line in lines]
    assert [] == list(table_lines(Summary(by_expected=by_expected, by_class={"": RunCounts()})))
