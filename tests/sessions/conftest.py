"""A session to write and read."""

from __future__ import annotations

import pytest

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._sessions.header import (
    DomainHeader,
    GitState,
    SessionHeader,
    SessionOptions,
)

TASKS = ("T1", "T2", "T3")


@pytest.fixture
def header() -> SessionHeader:
    return SessionHeader(
        plugin="1.0",
        agent="mypkg:agent",
        agent_args={"model": "m"},
        options=SessionOptions(selection=("--sop-sample=3@0",)),
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
