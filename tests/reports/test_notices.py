"""Runs that a dead worker took with it are named, and what could not be counted is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench import Outcome, RunKey, RunRecord
from pytest_sopbench._core.model.trace import ATTEMPT, GOES_ON, HELD, LOOP_LOST, STOOD_STILL
from pytest_sopbench._reports.notices import (
    UNASKED,
    RunAlarms,
    approval_lines,
    death_lines,
    leftover_lines,
    not_approved_lines,
    special_lines,
    unasked_lines,
    unplaced_lines,
    untold_lines,
)


def keys(number: int) -> list[RunKey]:
    return [RunKey("lab", f"T_{one:02}") for one in range(1, number + 1)]


def test_without_a_death_nothing_is_said() -> None:
    assert [] == [*death_lines([], tests=0)]


def test_runs_that_nobody_made_again_are_named_with_their_trial() -> None:
    text = " ".join(line.strip() for line in death_lines([RunKey("lab", "T_01", 2)], tests=1))

    assert (
        "alarm  1 run was in flight when a worker died, and not made again; counted as crash: "
        "lab/T_01 (trial 2)"
    ) == text


def test_the_first_of_them_are_named_and_the_rest_counted() -> None:
    lines = [*death_lines(keys(8), tests=0)]

    assert lines[-1].endswith("lab/T_05, and 3 more")
    assert max(map(len, lines)) <= 80


def test_a_test_that_was_not_run_again_is_counted() -> None:
    (line,) = death_lines([], tests=2)

    assert "alarm  2 tests were running when a worker died, and not run again" == line


def test_where_no_plan_is_known_nothing_is_said_to_be_counted() -> None:
    (*_, last) = untold_lines(keys(1))

    assert last.strip() == "no worker has told what was planned, so nothing is counted or saved"


def test_a_hostile_name_stays_in_its_line() -> None:
    assert all(line.isprintable() for line in death_lines([RunKey("lab", "T\n\x1b[31m")], tests=0))


# What is said of snapshots at the end of a session, and by `sopbench approve`.


def test_where_all_is_well_nothing_is_said() -> None:
    assert [] == [
        *not_approved_lines({}),
        *leftover_lines([], deleted=False),
        *unasked_lines([], "sop_snapshots"),
        *unplaced_lines([]),
    ]


def test_what_was_not_approved_is_counted_and_named() -> None:
    lines = list(not_approved_lines({"lab/T1": "wrong", "lab/T2": "breaks a"}))

    assert lines == [
        "2 not approved; what was approved before stays as it was",
        "  lab/T1: wrong",
        "  lab/T2: breaks a",
    ]


def test_a_long_list_is_cut_and_counted() -> None:
    lines = list(not_approved_lines({f"lab/T{number}": "wrong" for number in range(23)}))

    assert 22 == len(lines)
    assert "  and 3 more" == lines[-1]


def test_what_is_left_over_is_named_with_what_to_do() -> None:
    assert list(leftover_lines(["lab/T9"], deleted=False)) == [
        "1 unused snapshot: the domain has no such task",
        "  lab/T9",
        "pytest --snapshot-update deletes what is unused",
    ]


def test_what_was_deleted_is_named() -> None:
    assert list(leftover_lines(["lab/T8", "lab/T9"], deleted=True)) == [
        "2 unused snapshots deleted",
        "  lab/T8",
        "  lab/T9",
    ]


def test_domains_that_nobody_asked_for_are_named_with_the_folder() -> None:
    assert list(unasked_lines(["old"], "sop_snapshots")) == [
        "no test asks for the snapshots of old; if the domain is gone,",
        "  delete them in sop_snapshots",
    ]


def test_an_approval_names_every_task() -> None:
    lines = list(
        approval_lines(["lab/T1", "lab/T2"], ["lab/T3"], {"lab/T4": "wrong"}, folder="snaps")
    )

    assert lines == [
        "2 approved in snaps: lab/T1 lab/T2",
        "1 approved already",
        "1 not approved",
        "  lab/T4: wrong",
    ]


def test_where_nothing_was_approved_that_is_said() -> None:
    assert ["0 approved in snaps"] == list(approval_lines([], [], {}, folder="snaps"))


def test_what_has_no_task_is_said_and_left() -> None:
    assert list(unplaced_lines(["a.json: gone", "b.json: gone"])) == [
        "2 entries without a task, left as before",
        "  a.json: gone",
        "  b.json: gone",
    ]


# What must not go unsaid: agents that go on, runs made again, runs whose tests never came.

RUN = RunRecord(domain="lab", task="T_01", outcome=Outcome.CORRECT)
HUNG = replace(RUN, outcome=Outcome.TIMEOUT, notes=("cut", GOES_ON))
AGAIN = replace(RUN, notes=(f"{ATTEMPT} 2 of 3",))


def lines(*runs: RunRecord, unasked: int = 0) -> list[str]:
    special = RunAlarms()
    special.others[UNASKED] += unasked
    for run in runs:
        special.watch(run)
    return list(special_lines(special))


def test_a_session_like_any_other_has_nothing_to_say() -> None:
    assert [] == lines(RUN, replace(RUN, notes=("a note of another kind",)))


def test_runs_whose_tests_never_came_are_counted() -> None:
    assert [f"note   2 runs {UNASKED}"] == lines(RUN, unasked=2)


def test_an_agent_that_goes_on_is_named() -> None:
    assert ["alarm  1 timed-out agent may go on calling models: lab/T_01"] == lines(HUNG, RUN)


def test_an_agent_that_goes_on_is_named_with_its_trial() -> None:
    said = "alarm  1 timed-out agent may go on calling models: lab/T_01 (trial 2)"

    assert [said] == lines(replace(HUNG, trial=2))


def test_the_first_agents_are_named_and_the_rest_counted() -> None:
    found = lines(*(replace(HUNG, task=f"T_{number:02}") for number in range(1, 9)))

    assert [
        "alarm  8 timed-out agents may go on calling models: lab/T_01, lab/T_02,",
        "       lab/T_03, lab/T_04, lab/T_05, and 3 more",
    ] == found


def test_a_hostile_name_stays_in_its_line_in_special() -> None:
    (line,) = lines(replace(HUNG, task="T\n\x1b[31m1"))

    assert line.isprintable()


def test_runs_that_were_made_again_are_counted() -> None:
    said = "made again, as the provider was not available before"

    assert [f"note   1 run {said}"] == lines(AGAIN)
    assert [f"note   2 runs {said}"] == lines(AGAIN, AGAIN, RUN)


@pytest.mark.parametrize(
    ("note", "one", "two"),
    [
        pytest.param(
            f"{STOOD_STILL} 4 s",
            "1 run in which the process stood still, which no time limit counted",
            "2 runs in which the process stood still, which no time limit counted",
            id="stood-still",
        ),
        pytest.param(
            f"lab/T_02 {HELD} 4 s",
            "1 run held up by an agent that blocks; no time limit counted that",
            "2 runs held up by an agent that blocks; no time limit counted that",
            id="held-up",
        ),
        pytest.param(
            f"{LOOP_LOST} lab/T_02",
            "1 run made again, as another agent blocked their event loop",
            "2 runs made again, as another agent blocked their event loop",
            id="made-again",
        ),
    ],
)
def test_what_kept_runs_from_their_work_is_counted(note: str, one: str, two: str) -> None:
    kept = replace(RUN, notes=(note,))

    assert [f"note   {one}"] == lines(kept)
    assert [f"note   {two}"] == lines(kept, kept, RUN)
    assert all(len(line) <= 80 for line in lines(kept, kept))


def test_everything_is_said_and_what_costs_money_first() -> None:
    found = lines(HUNG, AGAIN, unasked=1)

    assert ["alarm", "note", "note"] == [line.split()[0] for line in found]
