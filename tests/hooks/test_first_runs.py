"""How many runs may begin before one has ended otherwise than the others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_sopbench._core.model.trace import Problem
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.runs.first_runs import Likeness, Starts
from tests.builders.runs import run


def record(message: str = "") -> RunRecord:
    problem = Problem(type="RuntimeError", message=message) if message else None
    return run("T_1", Outcome.ERROR, problem=problem)


def begun_before_it_closes(config: Any) -> int:
    starts = Starts(config)
    while starts.are_open:
        starts.begun += 1
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
