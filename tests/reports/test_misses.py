"""The misses section: each task in one line."""

from __future__ import annotations

from dataclasses import replace

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.misses import miss_line, miss_lines

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


def test_the_first_twenty_are_printed_and_the_rest_counted() -> None:
    lines = list(miss_lines([replace(MISS, task=f"P_{number}") for number in range(25)]))

    assert " SOP: 25 misses " in lines[0]
    assert len(lines) == 22
    assert lines[-1] == "and 5 more; the saved session holds all of them"


def test_misses_that_were_not_kept_are_counted() -> None:
    lines = list(miss_lines([MISS], 7))

    assert " SOP: 7 misses " in lines[0]
    assert lines[-1] == "and 6 more; the saved session holds all of them"
