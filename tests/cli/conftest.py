"""Sessions to gate, merge, judge again, report and compare, as a user has them on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain, Mismatch, Outcome, RunRecord
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.header import (
    DomainHeader,
    SessionHeader,
    planned_tasks,
    read_session_options,
)
from pytest_sopbench._sessions.saved import summarized
from pytest_sopbench._sessions.writer import sealed_session, summary_to_line
from tests.builders import commands
from tests.builders.refunds import write_refunds

TASKS = tuple(f"T{number}" for number in range(1, 7))

NO_OPTIONS: Mapping[str, Any] = {}
Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]


@pytest.fixture
def sopbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sopbench:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    return commands.sopbench


@pytest.fixture
def refunds(tmp_path: Path) -> Domain:
    """The domain `refunds` in the project, with six tasks."""
    folder = tmp_path / "domains" / "refunds"
    outputs = {"refund": {"type": "enum", "values": ["Refund A", "Refund B"]}}
    return load_domain(write_refunds(folder, dict.fromkeys(TASKS, "Refund A"), outputs=outputs))


@pytest.fixture
def run_of() -> Make:
    """Make a run of the domain `refunds` that fits its outcome."""

    def make(task: str = "T1", outcome: Outcome = Outcome.CORRECT, **more: Any) -> RunRecord:
        actual = "Refund A" if outcome is Outcome.CORRECT else "Refund B"
        wrong = Mismatch(
            field="refund", expected="Refund A", actual=actual, why="other known label"
        )
        completed = outcome in {Outcome.CORRECT, Outcome.WRONG}
        given: dict[str, Any] = {
            "domain": "refunds",
            "task": task,
            "agent": "a:b",
            "outcome": outcome,
            "expected": {"refund": "Refund A"},
            "answer": {"refund": actual} if completed else None,
            "answer_form": "mapping" if completed else "",
            "mismatches": (wrong,) if outcome is Outcome.WRONG else (),
            "duration_s": 1.0,
        }
        return RunRecord(**{**given, **more})

    return make


@pytest.fixture
def runs(run_of: Make) -> Make:
    """Make one run of each task, right but for those that are named."""

    def make(*wrong: str, **more: Any) -> list[RunRecord]:
        outcomes = dict.fromkeys(wrong, Outcome.WRONG)
        return [run_of(task, outcomes.get(task, Outcome.CORRECT), **more) for task in TASKS]

    return make


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write a session of the domain `refunds` under a name, whole unless it is said."""

    def write(
        name: str,
        records: list[RunRecord],
        *,
        whole: bool = True,
        options: Mapping[str, Any] = NO_OPTIONS,
        **header: Any,
    ) -> Path:
        path = tmp_path / ".sop" / "sessions" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        tasks: dict[str, list[int]] = {}
        for one in records:
            tasks.setdefault(one.task, []).append(one.trial)
        plan = planned_tasks(tasks)
        planned = DomainHeader(
            sop="s", planned=plan.planned, trials=plan.trials, some_trials=plan.some_trials
        )
        first = SessionHeader(
            **{
                "plugin": "1.0",
                "agent": "a:b",
                "started": "2026-01-01T00:00:00+00:00",
                "judging": "j",
                "identity": name,
                "domains": {"refunds": planned},
                "options": read_session_options(options),
                **header,
            }
        )
        lines = [*map(to_line, records)]
        if whole:
            lines.append(summary_to_line(summarized(records)))
        path.write_bytes(b"".join(sealed_session(first, lines)))
        return path

    return write
