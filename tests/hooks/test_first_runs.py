"""How many runs may begin before one has ended otherwise than the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._hooks.runs.prefetch import Likeness, Starts
from tests.builders.runs import run

MANY = 100


class Watch:
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def record(message: str = "") -> RunRecord:
    problem = Problem(type="RuntimeError", message=message) if message else None
    return run("T_1", Outcome.ERROR, problem=problem)


def begun_before_it_closes(config: Any) -> int:
    return begun_by(Starts(config, clock=lambda: 0.0))


def begun_by(starts: Starts) -> int:
    while starts.are_open and starts.begun < MANY:
        starts.begin()
    return starts.begun


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_all_workers_together_begin_five(workers: int) -> None:
    configs = [
        SimpleNamespace(workerinput={"workerid": f"gw{place}", "workercount": workers})
        for place in range(workers)
    ]

    assert 5 == sum(map(begun_before_it_closes, configs))


def test_a_worker_with_a_name_of_its_own_begins_some() -> None:
    given = {"workerid": "alpha", "workercount": 2}

    assert 3 == begun_before_it_closes(SimpleNamespace(workerinput=given))


def test_a_worker_that_takes_over_from_a_dead_one_begins_as_many_as_it_may() -> None:
    given = {"workerid": "gw2", "workercount": 2}

    config: Any = SimpleNamespace(workerinput=given)
    starts = Starts(config)
    starts.begun = 100

    assert starts.are_open


def test_a_process_without_workers_begins_five() -> None:
    assert 5 == begun_before_it_closes(SimpleNamespace())


def test_without_a_failure_the_others_start_after_two_seconds() -> None:
    """An agent of half a minute would else take half a minute longer."""
    clock = Watch()
    starts = Starts(SimpleNamespace(), clock)  # type: ignore[arg-type]
    assert 5 == begun_by(starts)

    clock.now += 1.9
    before = begun_by(starts)
    clock.now += 0.1
    after = begun_by(starts)

    assert (5, MANY) == (before, after)


def test_the_two_seconds_begin_with_the_first_run() -> None:
    clock = Watch()
    starts = Starts(SimpleNamespace(), clock)  # type: ignore[arg-type]

    clock.now += 60

    assert 5 == begun_by(starts)


@pytest.mark.parametrize("failed", [1, 4])
def test_after_a_failure_the_others_wait_for_a_run_that_ends_otherwise(failed: int) -> None:
    clock = Watch()
    starts = Starts(SimpleNamespace(), clock)  # type: ignore[arg-type]
    begun_by(starts)
    for _ in range(failed):
        starts.likeness.watch(record("no key"))

    clock.now += 60
    before = begun_by(starts)
    starts.likeness.watch(record())
    after = begun_by(starts)

    assert (5, MANY) == (before, after)


def test_one_that_ended_well_opens_at_once() -> None:
    starts = Starts(SimpleNamespace(), Watch())  # type: ignore[arg-type]
    begun_by(starts)

    starts.likeness.watch(record())

    assert MANY == begun_by(starts)


@pytest.mark.parametrize(
    ("messages", "alike", "differ"),
    [
        pytest.param(["no key"] * 3, 3, False, id="the-same-error"),
        pytest.param(["no key", "no key", "gone"], 2, True, id="another-error"),
        pytest.param(["no key", "", "no key"], 1, True, id="one-without"),
    ],
)
def test_runs_are_alike_until_one_is_not(messages: list[str], alike: int, differ: bool) -> None:
    likeness = Likeness()

    for message in messages:
        likeness.watch(record(message))

    assert (alike, differ) == (likeness.alike, likeness.differ)
