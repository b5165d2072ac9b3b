"""What a session says of the tasks that must pass, and of those that may fail."""

from __future__ import annotations

from datetime import date

from pytest_sopbench._core.gates.quarantine import PolicyReport, RunsOfEntry, TaskPolicy
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.terminal.gate import entry_lines


def entry(task: str = "T1") -> TaskPolicy:
    return TaskPolicy(
        name=TaskName("lab", task),
        may_fail="the tool is flaky",
        until=date(2026, 12, 1),
        issue="#12",
    )


def runs(one: TaskPolicy, *, count: int = 1, correct: int = 0) -> RunsOfEntry:
    first = RunRecord(domain="lab", task="T1", outcome=Outcome.ERROR, reason="no model")
    return RunsOfEntry(entry=one, runs=count, correct=correct, first=first)


def test_nothing_to_say_is_nothing_said() -> None:
    assert [] == list(entry_lines(PolicyReport(), file="sop_tasks.toml"))


def test_what_fails_the_session_stands_first() -> None:
    report = PolicyReport(
        failed=(runs(entry("T1")),),
        passed=(runs(entry("T2"), count=5, correct=5), runs(entry("T6"), correct=1)),
        expired=(entry("T3"),),
        broken=(runs(entry("T4"), count=3, correct=1),),
        unsure=(runs(entry("T5")),),
    )

    assert [
        "tasks  1 task must pass and did not",
        "       lab/T4 (1 of 3) error: no model",
        "tasks  1 task may fail no longer, by sop_tasks.toml",
        "       lab/T3 until 2026-12-01: the tool is flaky (#12)",
        "tasks  1 task must pass, and nobody knows",
        "       lab/T5 error: no model",
        "tasks  1 task may fail and did, outside gates",
        "       lab/T1 until 2026-12-01: the tool is flaky (#12)",
        "tasks  1 task may fail and did not: take it out of sop_tasks.toml",
        "       lab/T2 (5 of 5)",
        "tasks  1 task may fail and did not, in too few runs to tell (--sop-trials=5)",
        "       lab/T6 (1 of 1)",
    ] == list(entry_lines(report, file="sop_tasks.toml"))


def test_a_long_list_is_cut() -> None:
    report = PolicyReport(expired=tuple(entry(f"T{number}") for number in range(25)))

    lines = list(entry_lines(report, file="sop_tasks.toml"))

    assert 22 == len(lines)
    assert "       and 5 more" == lines[-1]


def test_no_line_is_longer_than_a_terminal() -> None:
    report = PolicyReport(expired=(entry("T" * 90),))

    assert all(len(line) <= 80 for line in entry_lines(report, file="x" * 90))
