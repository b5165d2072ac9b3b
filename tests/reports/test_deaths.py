"""Runs that a dead worker took with it are named, and what could not be counted is said."""

from __future__ import annotations

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._reports.notices import death_lines, untold_lines


def keys(number: int) -> list[RunKey]:
    return [RunKey("lab", f"T_{one:02}") for one in range(1, number + 1)]


def test_without_a_death_nothing_is_said() -> None:
    assert [] == [*death_lines([], tests=0)]


def test_runs_that_nobody_made_again_are_named_with_their_trial() -> None:
    text = " ".join(line.strip() for line in death_lines([RunKey("lab", "T_01", 2)], tests=1))

    assert (
        "alarm  1 run was in flight when a worker died, and not made again; counted as crash: "
        "lab/T_01/t2"
    ) == text


def test_the_first_of_them_are_named_and_the_rest_counted() -> None:
    lines = [*death_lines(keys(8), tests=0)]

    assert lines[-1].endswith("lab/T_05, 3 more")
    assert max(map(len, lines)) <= 80


def test_a_test_that_was_not_run_again_is_counted() -> None:
    (line,) = death_lines([], tests=2)

    assert "alarm  2 tests were running when a worker died, and not run again" == line


def test_where_no_plan_is_known_nothing_is_said_to_be_counted() -> None:
    (*_, last) = untold_lines(keys(1))

    assert last.strip() == "no worker has told what was planned, so nothing is counted or saved"


def test_a_hostile_name_stays_in_its_line() -> None:
    assert all(line.isprintable() for line in death_lines([RunKey("lab", "T\n\x1b[31m")], tests=0))
