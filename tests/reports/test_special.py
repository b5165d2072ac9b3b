"""What must not go unsaid: agents that go on, runs made again, runs whose tests never came."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.model.trace import ATTEMPT, GOES_ON, HELD, LOOP_LOST, STOOD_STILL
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.notices import RunAlarms, special_lines

RUN = RunRecord(domain="lab", task="T_01", outcome=Outcome.CORRECT)
HUNG = replace(RUN, outcome=Outcome.TIMEOUT, notes=("cut", GOES_ON))
AGAIN = replace(RUN, notes=(f"{ATTEMPT} 2 of 3",))


def lines(*runs: RunRecord, unasked: int = 0) -> list[str]:
    special = RunAlarms(unasked=unasked)
    for run in runs:
        special.watch(run)
    return list(special_lines(special))


def test_a_session_like_any_other_has_nothing_to_say() -> None:
    assert [] == lines(RUN, replace(RUN, notes=("a note of another kind",)))


@pytest.mark.parametrize(
    ("count", "said"),
    [
        pytest.param(1, "1 run ended before its test came, which was not run", id="one"),
        pytest.param(2, "2 runs ended before their tests came, which were not run", id="two"),
    ],
)
def test_runs_whose_tests_never_came_are_counted(count: int, said: str) -> None:
    assert [f"note   {said}; counted above"] == lines(RUN, unasked=count)


def test_an_agent_that_goes_on_is_named() -> None:
    assert ["alarm  1 timed-out agent may go on calling models: lab/T_01"] == lines(HUNG, RUN)


def test_an_agent_that_goes_on_is_named_with_its_trial() -> None:
    said = "alarm  1 timed-out agent may go on calling models: lab/T_01/t2"

    assert [said] == lines(replace(HUNG, trial=2))


def test_the_first_agents_are_named_and_the_rest_counted() -> None:
    found = lines(*(replace(HUNG, task=f"T_{number:02}") for number in range(1, 9)))

    assert [
        "alarm  8 timed-out agents may go on calling models: lab/T_01, lab/T_02,",
        "       lab/T_03, lab/T_04, lab/T_05, 3 more",
    ] == found


def test_a_hostile_name_stays_in_its_line() -> None:
    (line,) = lines(replace(HUNG, task="T\n\x1b[31m1"))

    assert line.isprintable()


def test_runs_that_were_made_again_are_counted() -> None:
    said = "made again, as the provider was not available before"

    assert [f"note   1 run was {said}"] == lines(AGAIN)
    assert [f"note   2 runs were {said}"] == lines(AGAIN, AGAIN, RUN)


@pytest.mark.parametrize(
    ("note", "one", "two"),
    [
        pytest.param(
            f"{STOOD_STILL} 4 s",
            "the process stood still in 1 run, which no time limit counted",
            "the process stood still in 2 runs, which no time limit counted",
            id="stood-still",
        ),
        pytest.param(
            f"lab/T_02 {HELD} 4 s",
            "1 run was held up by an agent that blocks; no time limit counted that",
            "2 runs were held up by an agent that blocks; no time limit counted that",
            id="held-up",
        ),
        pytest.param(
            f"{LOOP_LOST} lab/T_02",
            "1 run was made again, as another agent blocked their event loop",
            "2 runs were made again, as another agent blocked their event loop",
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
