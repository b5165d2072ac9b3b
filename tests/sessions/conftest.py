"""A session to write and read."""

from __future__ import annotations

import pytest

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.header import (
    DomainHeader,
    GitState,
    SessionHeader,
    read_session_options,
)

TASKS = ("T1", "T2", "T3")


@pytest.fixture
def header() -> SessionHeader:
    return SessionHeader(
        plugin="1.0",
        agent="mypkg:agent",
        agent_args={"model": "m"},
        options=read_session_options({"sample": "3@0"}),
        git=GitState(commit="abc", dirty=True),
        started="2026-01-01T00:00:00+00:00",
        judging="hash",
        domains={
            "refunds": DomainHeader(sop="s", specs="p", tools="t", data="d", planned=TASKS),
        },
    )


@pytest.fixture
def records() -> list[RunRecord]:
    return [
        RunRecord(
            domain="refunds",
            task=task,
            outcome=Outcome.CORRECT,
            expected={"refund": "caf\u00e9"},
            answer={"refund": "caf\u00e9"},
        )
        for task in TASKS
    ]
