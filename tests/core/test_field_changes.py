"""Which fields a comparison says were lost, and what it makes of scores."""

from __future__ import annotations

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import (
    ComparedSession,
    FieldChange,
    GroupComparison,
    comparison_to_json,
)
from pytest_sopbench._core.model.trace import Compared
from pytest_sopbench._reports.markdown import comparison_block
from pytest_sopbench._reports.terminal.comparison import comparison_lines
from tests.builders import runs
from tests.builders.runs import differing


def run(task: int, *wrong: str, score: float | None = None, domain: str = "claims") -> RunRecord:
    compared = (Compared(field="letter", held=True, score=score),)
    return runs.run(
        f"T{task}",
        Outcome.WRONG if wrong else Outcome.CORRECT,
        domain=domain,
        expected={"refund": "x", "letter": "x"},
        mismatches=differing(wrong),
        compared=() if score is None else compared,
        task_hash="h",
    )


def compared(before: list[RunRecord], now: list[RunRecord]) -> GroupComparison:
    sessions = (
        ComparedSession(name=name, records=runs) for name, runs in (("main", before), ("here", now))
    )
    return compare(*sessions).pooled


def test_each_field_is_told_by_the_tasks_in_which_it_was_lost() -> None:
    one = compared(
        [run(1), run(2, "refund"), run(3), run(4)],
        [run(1, "letter"), run(2), run(3, "letter", "refund"), run(4)],
    )

    assert (
        FieldChange(field="refund", before=3, of_before=4, now=3, of_now=4, lost=1, gained=1),
        FieldChange(field="letter", before=4, of_before=4, now=2, of_now=4, lost=2, gained=0),
    ) == one.fields
    assert any(
        "letter lost 2, gained 0   refund lost 1, gained 1" in line
        for line in comparison_lines(one)
    )


def test_a_field_that_stays_has_no_line() -> None:
    one = compared([run(1), run(2)], [run(1), run(2)])

    assert not any("letter" in line for line in comparison_lines(one))


def test_scores_are_compared_by_random_signs_and_by_no_threshold() -> None:
    before = [run(task, score=0.9) for task in range(8)]
    now = [run(task, score=0.8 if task else 0.95) for task in range(8)]

    one = compared(before, now)

    (score,) = one.scores
    assert (8, 0.9, "0.819") == (score.tasks, score.before, f"{score.now:.3g}")
    # Of 256 signs, 4 lie as far out: all alike, and but the smallest alike, either way.
    assert 4 / 256 == score.test.p
    assert any("score of letter 0.9 -> 0.819, p = 0.016" in line for line in comparison_lines(one))
    assert () == one.lost


def test_without_scores_on_both_sides_nothing_is_said_of_them() -> None:
    one = compared([run(1)], [run(1, score=0.5)])

    assert () == one.scores


def test_fields_of_two_domains_are_not_pooled() -> None:
    both = [run(1), run(1, domain="lab")]

    assert () == compared(both, [run(1, "letter"), run(1, domain="lab")]).fields


def test_json_and_the_page_have_them() -> None:
    sides = (
        ComparedSession(name="main", records=[run(1, score=1.0), run(2)]),
        ComparedSession(name="here", records=[run(1, "letter", score=0.5), run(2)]),
    )

    both = compare(*sides)

    group = comparison_to_json(both)["pooled"]
    assert ["refund", "letter"] == [one["field"] for one in group["fields"]]
    assert 0.5 == group["scores"][0]["now"]
    page = "\n".join(comparison_block(both))
    assert "| letter | 2 of 2 | 1 of 2 | 1 | 0 |" in page
    assert "- score of letter: 1 before, 0.5 now, p = 1 (1 task)" in page
