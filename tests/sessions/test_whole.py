"""Every run that a session planned, also where no line tells of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.header import DomainHeader, PlannedTasks, SessionHeader
from pytest_sopbench._sessions.reading.planned import planned_records
from pytest_sopbench._sessions.reading.reader import SavedSession
from tests.builders.runs import run

BOTH = ("ag:one", "ag:two")


def run_of(task: str, agent: str, outcome: Outcome = Outcome.CORRECT) -> RunRecord:
    return run(task, outcome, agent=agent)


@pytest.fixture
def saved(header: SessionHeader) -> SavedSession:
    """A session of two agents with two tasks each, killed when the second began its first."""
    planned = PlannedTasks(planned=("T1", "T2"))
    domain = DomainHeader(planned=planned.planned, agents=dict.fromkeys(BOTH, planned))
    return SavedSession(
        path=Path("last.jsonl"),
        header=replace(header, domains={"lab": domain}),
        records=(run_of("T1", "ag:one"), run_of("T2", "ag:one")),
        unfinished=(RunKey("lab", "T1", 1, "ag:two"),),
    )


def test_the_runs_of_one_agent_do_not_stand_for_those_of_another(saved: SavedSession) -> None:
    found = [(one.task, one.agent, one.outcome) for one in planned_records(saved)]

    assert [
        ("T1", "ag:one", Outcome.CORRECT),
        ("T2", "ag:one", Outcome.CORRECT),
        ("T1", "ag:two", Outcome.CRASH),
        ("T2", "ag:two", Outcome.NOT_RUN),
    ] == found


def test_where_agents_were_not_recorded_no_run_is_made_up(saved: SavedSession) -> None:
    """Whether the second agent had the second task, the header of an old session does not say."""
    old = replace(saved.header.domains["lab"], agents={})
    header = replace(saved.header, domains={"lab": old})

    found = [one.outcome for one in planned_records(replace(saved, header=header))]

    assert [Outcome.CORRECT, Outcome.CORRECT, Outcome.CRASH] == found
