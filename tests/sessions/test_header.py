"""The first line of a saved session."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_sopbench._sessions.header import (
    DomainHeader,
    PlannedTasks,
    SessionHeader,
    header_from_json,
    header_to_line,
    planned_trials,
)


def test_a_header_comes_back_from_its_line(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert header == header_from_json(json.loads(line))


def test_a_header_says_first_what_it_is(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert line.startswith('{"type":"header","schema":2,')
    assert line.isascii()
    assert "\n" not in line


def test_a_session_outside_git_has_no_state(header: SessionHeader) -> None:
    bare = replace(header, git=None)

    assert bare == header_from_json(json.loads(header_to_line(bare)))


def test_keys_of_later_versions_say_nothing_and_stay(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    data["later"] = 1
    data["others"] = {"agent": "x"}
    data["domains"]["refunds"]["later"] = [1]

    read = header_from_json(data)

    assert header == read
    assert data == json.loads(header_to_line(read))


@pytest.mark.parametrize("key", ["schema", "agent", "domains", "git", "judging", "options"])
def test_a_missing_key_is_named(header: SessionHeader, key: str) -> None:
    data = json.loads(header_to_line(header))
    del data[key]

    with pytest.raises(ValueError, match=key):
        header_from_json(data)


def test_domains_of_another_shape_are_refused(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    data["domains"] = ["refunds"]

    with pytest.raises(ValueError, match="header"):
        header_from_json(data)


def test_planned_trials_are_the_same_for_each_task_or_named() -> None:
    tasks = {"T1": [1, 2, 3], "T2": [2], "T3": [3, 1, 2]}

    trials, some_trials = planned_trials(tasks)
    domain = DomainHeader(planned=tuple(tasks), trials=trials, some_trials=some_trials)

    assert (3, {"T2": (2,)}) == (trials, some_trials)
    assert [("T1", 1), ("T3", 1), ("T1", 2), ("T2", 2), ("T3", 2), ("T1", 3), ("T3", 3)] == [
        *domain.runs
    ]


def test_a_header_without_trials_has_one_of_each_task(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    for domain in data["domains"].values():
        del domain["trials"], domain["some_trials"]

    found = header_from_json(data)

    for domain in found.domains.values():
        assert [(task, 1) for task in domain.planned] == [*domain.runs]


def test_trials_come_back_from_a_line(header: SessionHeader) -> None:
    domain = DomainHeader(planned=("T1", "T2"), trials=2, some_trials={"T2": (2,)})
    whole = replace(header, domains={"lab": domain})

    assert whole == header_from_json(json.loads(header_to_line(whole)))


def test_a_trial_that_two_agents_have_is_one_trial_of_the_task() -> None:
    assert (2, {"T2": (2,)}) == planned_trials({"T1": [1, 2, 1, 2], "T2": [2, 2]})


def test_agents_come_back_from_a_line(header: SessionHeader) -> None:
    agents = {
        "ag:one": PlannedTasks(planned=("T1", "T2"), trials=2, some_trials={"T2": (2,)}),
        "ag:two": PlannedTasks(planned=("T1",)),
    }
    domain = DomainHeader(planned=("T1", "T2"), trials=2, agents=agents)
    whole = replace(header, domains={"lab": domain})

    assert whole == header_from_json(json.loads(header_to_line(whole)))


def test_a_header_without_agents_is_read(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    for domain in data["domains"].values():
        del domain["agents"]

    assert header == header_from_json(data)
