"""Lost tasks come in full, one run of each, in the order of the session."""

from __future__ import annotations

from dataclasses import replace

from pytest_sopbench import Mismatch, Outcome, RunRecord
from pytest_sopbench._reports.failure import failure_lines
from pytest_sopbench._reports.terminal.comparison import keys_of, lost_lines, lost_records
from pytest_sopbench._reports.terminal.misses import LIMIT

WRONG = RunRecord(
    domain="lab",
    task="T_1",
    agent="a:b",
    outcome=Outcome.WRONG,
    mismatches=(Mismatch(field="grade", expected="pass", actual="fail", why="other known label"),),
)


def full(record: RunRecord) -> str:
    return "\n".join(failure_lines(record, inputs=None, rerun="", location=""))


def test_a_lost_task_is_told_by_its_first_run_that_failed() -> None:
    """Of three trials the first may be right, and the third wrong as well."""
    trials = [replace(WRONG, trial=trial) for trial in (1, 2, 3)]
    trials[0] = replace(trials[0], outcome=Outcome.CORRECT, mismatches=())

    found = lost_records(trials, [("lab", "T_1", "")])

    assert (trials[1],) == found


def test_they_keep_the_order_of_the_session() -> None:
    records = [replace(WRONG, task=task) for task in ("T_3", "T_1", "T_2")]

    found = lost_records(records, [("lab", "T_1", ""), ("lab", "T_3", "")])

    assert ["T_3", "T_1"] == [one.task for one in found]


def test_a_task_is_lost_by_one_agent_of_several() -> None:
    records = [WRONG, replace(WRONG, agent="c:d")]

    found = lost_records(records, [("lab", "T_1", "c:d")])

    assert (records[1],) == found


def test_the_same_task_of_another_domain_is_not_lost() -> None:
    assert () == lost_records([replace(WRONG, domain="clinic")], [("lab", "T_1", "")])


def test_no_lost_task_has_no_section() -> None:
    assert [] == list(lost_lines([], "main", full))


def test_the_section_names_the_baseline_and_shows_the_run() -> None:
    lines = list(lost_lines([WRONG], "main", full))

    assert " SOP: 1 task lost since main " in lines[0]
    assert "wrong: grade is 'fail', not 'pass'" == lines[1]
    assert "task     lab/T_1" == lines[2]


def test_runs_are_apart_by_an_empty_line() -> None:
    one = list(lost_lines([WRONG], "main", full))[1:]

    both = list(lost_lines([WRONG, WRONG], "main", full))[1:]

    assert [*one, "", *one] == both


def test_a_long_section_says_how_many_it_leaves_out() -> None:
    many = [replace(WRONG, task=f"T_{number}") for number in range(LIMIT + 3)]

    lines = list(lost_lines(many, "main", full))

    assert "and 3 more; the saved session holds all of them" == lines[-1]
    assert LIMIT == sum(line.startswith("task ") for line in lines)


def test_what_the_section_leaves_out_is_listed_as_a_miss() -> None:
    many = [replace(WRONG, task=f"T_{number}") for number in range(LIMIT + 3)]

    assert {one.key for one in many[:LIMIT]} == keys_of(many)


def test_a_name_of_two_lines_breaks_no_heading() -> None:
    heading = next(iter(lost_lines([WRONG], "ma\nin", full)))

    assert "\n" not in heading
