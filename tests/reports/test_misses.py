"""The misses section: each task in one line."""

from __future__ import annotations

from dataclasses import replace

from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import miss_line, miss_lines, short_miss_lines

MISS = RunRecord(domain="dangerous_goods", task="P_1", outcome=Outcome.NO_ANSWER, reason="no class")


def test_a_miss_is_a_line() -> None:
    assert miss_line(MISS) == "dangerous_goods/P_1 no_answer: no class"


def test_a_miss_without_a_reason_is_its_outcome() -> None:
    assert miss_line(replace(MISS, reason="", trial=2)) == "dangerous_goods/P_1 (trial 2) no_answer"


def test_a_long_domain_leaves_the_task_readable() -> None:
    line = miss_line(replace(MISS, domain="d" * 100, reason="x\n" * 100))

    assert "d.../P_1 no_answer: x x" in line
    assert len(line) == 80


def test_no_miss_has_no_section() -> None:
    assert list(miss_lines([])) == []


def test_one_miss_has_a_section() -> None:
    heading, line = miss_lines([MISS])

    assert " SOP: 1 miss " in heading
    assert line == miss_line(MISS)


def test_a_miss_of_several_fields_has_all_of_their_values() -> None:
    mismatches = (
        Mismatch(field="decision", expected="free", actual="refuse", why="other known label"),
        Mismatch(field="pays", expected="0", actual=240, why="number off by 240"),
    )
    miss = replace(MISS, domain="bikes", outcome=Outcome.WRONG, mismatches=mismatches)

    said = "bikes/P_1 wrong: decision 'free' -> 'refuse', pays 0 -> 240"
    assert said == miss_line(miss)


def test_misses_end_with_what_to_do_next() -> None:
    lines = list(
        miss_lines([MISS], after=["again    pytest x::P_1", "more     sopbench show last P_1"])
    )

    assert ["again    pytest x::P_1", "more     sopbench show last P_1"] == lines[-2:]


def test_misses_in_full_are_apart_by_an_empty_line() -> None:
    heading, *lines = miss_lines([MISS, MISS], full=lambda one: f"{one.task}\nall of it")

    assert " SOP: 2 misses " in heading
    assert ["P_1", "all of it", "", "P_1", "all of it"] == lines


def test_misses_in_short_are_named_and_the_rest_counted() -> None:
    two = [MISS, replace(MISS, task="P_2", domain="lab")]

    assert ["missed P_1, and 2 more"] == list(short_miss_lines([MISS], 3))
    assert ["missed dangerous_goods/P_1, lab/P_2"] == list(short_miss_lines(two, 2))
    assert [] == list(short_miss_lines([], 0))


def test_the_first_twenty_are_printed_and_the_rest_counted() -> None:
    lines = list(miss_lines([replace(MISS, task=f"P_{number}") for number in range(25)]))

    assert " SOP: 25 misses " in lines[0]
    assert len(lines) == 22
    assert lines[-1] == "and 5 more; the saved session holds all of them"


def test_misses_that_were_not_kept_are_counted() -> None:
    lines = list(miss_lines([MISS], 7))

    assert " SOP: 7 misses " in lines[0]
    assert lines[-1] == "and 6 more; the saved session holds all of them"
