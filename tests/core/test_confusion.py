"""The confusion table, and the alarm that it raises."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.metrics.counts import Collapse, Confusion


def table(**rows: str) -> Confusion:
    """Make a table from `expected="answers"`, one letter for each run."""
    pairs = {
        (expected, actual): answers.count(actual)
        for expected, answers in rows.items()
        for actual in sorted(set(answers))
    }
    return Confusion(field="class", pairs=pairs)


def test_a_table_knows_its_labels() -> None:
    confusion = table(A="AAB", B="xxyB")

    assert confusion.expected == ("A", "B")
    assert confusion.unexpected == ("x", "y")
    assert confusion.completed == 7


def test_a_right_agent_raises_no_alarm() -> None:
    assert not table(A="A" * 50, B="B" * 5).collapse()


def test_a_constant_agent_is_named_with_its_shares() -> None:
    collapse = table(A="A" * 20, B="A" * 20, C="A" * 20).collapse()

    given, expected, z = collapse.favoured["A"]
    assert given == 1.0
    assert expected == pytest.approx(1 / 3)
    assert z == pytest.approx(40**0.5)
    assert collapse.never == {"B": 20, "C": 20}


def test_an_answer_that_nothing_expects_is_named() -> None:
    collapse = table(A="A" * 10 + "?" * 10, B="B" * 10 + "?" * 10).collapse()

    assert list(collapse.favoured) == ["?"]
    assert not collapse.never


@pytest.mark.parametrize(
    ("wrong", "alarm"),
    [
        pytest.param(15, False, id="exactly 15 points"),
        pytest.param(16, True, id="16 points"),
    ],
)
def test_an_excess_must_pass_15_points(wrong: int, alarm: bool) -> None:
    collapse = table(A="A" * 50, B="A" * wrong + "B" * (50 - wrong)).collapse()

    assert alarm is bool(collapse.favoured)


@pytest.mark.parametrize(
    ("wrong", "alarm"),
    [pytest.param(9, False, id="z of 3"), pytest.param(10, True, id="z of 3.2")],
)
def test_an_excess_must_be_significant(wrong: int, alarm: bool) -> None:
    """McNemar's z is the root of the number of errors when all go one way."""
    collapse = table(A="A" * 5, B="A" * wrong + "B").collapse()

    assert alarm is bool(collapse.favoured)


@pytest.mark.parametrize(
    ("count", "trials", "named"),
    [
        pytest.param(4, 1, False, id="four tasks"),
        pytest.param(5, 1, True, id="five tasks"),
        pytest.param(8, 2, False, id="four tasks of two trials"),
        pytest.param(10, 2, True, id="five tasks of two trials"),
    ],
)
def test_a_label_that_five_tasks_expect_is_missed(count: int, trials: float, named: bool) -> None:
    collapse = table(A="A" * 100, B="A" * count).collapse(trials=trials)

    assert named is ("B" in collapse.never)


def test_a_collapse_without_labels_is_none() -> None:
    assert not Collapse(field="class")
