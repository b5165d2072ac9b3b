"""`sopbench approve`: snapshots from what a session has seen, without running an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.records.reconstruct import CUT
from pytest_sopbench._core.records.record import CallRecord, to_line
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.header import GitState, SessionHeader
from pytest_sopbench._sessions.writer import SessionWriter
from tests.builders.commands import sopbench
from tests.builders.refunds import write_refunds

Approve = Callable[..., Result]
WHY = ("--reason", "the cache is gone")
BROKEN = RuleResult(
    id="no-wire",
    clause="",
    severity=Severity.SHOULD,
    kind=DemandKind.FORBIDS,
    state=RuleState.BROKEN,
    why="",
    applies=True,
)


@pytest.fixture
def approve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Approve:
    """Run the command in a folder with the domain `refunds` of four tasks."""
    monkeypatch.chdir(tmp_path)
    make_domain("refunds")

    return partial(sopbench, "approve")


def make_domain(name: str, *, under: str = "domains", tasks: Sequence[str] = "1234") -> None:
    write_refunds(Path(under) / name, {f"T{task}": "yes" for task in tasks})


def run_of(
    task: str, *calls: str | tuple[str, Any], domain: str = "refunds", **more: Any
) -> RunRecord:
    hashes: dict[str, str] = {}
    for path in Path().glob(f"*/{domain}/metadata.json"):
        hashes = {one.id: one.hash for one in load_domain(path.parent).tasks}
    pairs = [(one, {"id": task}) if isinstance(one, str) else one for one in calls]
    return RunRecord(
        domain=domain,
        task=task,
        calls=tuple(CallRecord(name=name, arguments=given) for name, given in pairs),
        **{
            "outcome": Outcome.CORRECT,
            "agent": "a:b",
            "task_hash": hashes.get(task, ""),
            **more,
        },
    )


def save(*runs: RunRecord) -> None:
    header = SessionHeader(
        plugin="",
        agent="a:b",
        started="",
        judging="",
        git=GitState(commit="c0ffee", dirty=False),
    )
    writer = SessionWriter(Path(".sop/sessions/last.jsonl"), header)
    for run in runs:
        writer.append(to_line(run))
    writer.close()


def snapshot(task: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(f"sop_snapshots/refunds/{task}.json").read_text())
    return data


def test_a_right_run_becomes_a_snapshot_with_its_reason(approve: Approve) -> None:
    save(run_of("T1", "look", "pay"), run_of("T2", "look"))

    result = approve("last", *WHY)

    assert 0 == result.exit_code
    assert "2 approved in sop_snapshots: refunds/T1 refunds/T2\n" == result.stdout
    assert ["look", "pay"] == [call["name"] for call in snapshot("T1")["calls"]]
    lines = Path("sop_snapshots/refunds/approvals.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert 2 == len(lines)
    assert len("2026-01-31") == len(first.pop("date"))
    assert 16 == len(first.pop("snapshot"))
    assert first == {
        "task": "T1",
        "reason": "the cache is gone",
        "agent": "a:b",
        "session": "last",
        "commit": "c0ffee",
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("T2", id="its id"),
        pytest.param("refunds/T2", id="with its domain"),
        pytest.param("refunds::T2", id="as a node id"),
    ],
)
def test_tasks_are_approved_by_name(approve: Approve, name: str) -> None:
    save(run_of("T1", "look"), run_of("T2", "look"))

    result = approve("last", name, *WHY)

    assert "1 approved in sop_snapshots: refunds/T2\n" == result.stdout
    assert not Path("sop_snapshots/refunds/T1.json").exists()


def test_runs_that_are_not_right_are_named(approve: Approve) -> None:
    save(
        run_of("T1", "look"),
        run_of("T2", outcome=Outcome.WRONG),
        run_of("T3", "wire", rules=(BROKEN,)),
        run_of("T4", ("look", {"sha256": "0" * 64, "characters": 9_000})),
    )

    result = approve("last", *WHY)

    assert 0 == result.exit_code
    assert result.stdout.splitlines() == [
        "1 approved in sop_snapshots: refunds/T1",
        "3 not approved",
        "  refunds/T2: wrong",
        "  refunds/T3: breaks no-wire",
        f"  refunds/T4: {CUT}",
    ]


@pytest.mark.parametrize(
    "tasks", [pytest.param(("T1", "T2"), id="among others"), pytest.param(("T2",), id="alone")]
)
def test_a_named_task_that_is_not_approved_is_a_failure(
    approve: Approve, tasks: tuple[str, ...]
) -> None:
    save(run_of("T1", "look"), run_of("T2", outcome=Outcome.WRONG))

    assert 1 == approve("last", *tasks, *WHY).exit_code


def test_where_nothing_can_be_approved_it_is_a_failure(approve: Approve) -> None:
    save(run_of("T2", outcome=Outcome.WRONG))

    assert 1 == approve("last", *WHY).exit_code


def test_what_is_approved_already_is_counted_and_not_written(approve: Approve) -> None:
    save(run_of("T1", "look"))
    approve("last", *WHY)

    result = approve("last", *WHY)

    assert 0 == result.exit_code
    assert "0 approved in sop_snapshots\n1 approved already\n" == result.stdout
    assert 1 == len(Path("sop_snapshots/refunds/approvals.jsonl").read_text().splitlines())


def test_another_trajectory_replaces_the_approved_one(approve: Approve) -> None:
    save(run_of("T1", "look"))
    approve("last", *WHY)
    save(run_of("T1", "pay"))

    approve("last", *WHY)

    assert ["pay"] == [call["name"] for call in snapshot("T1")["calls"]]
    assert "or" not in snapshot("T1")


def test_it_can_stand_beside_the_approved_one(approve: Approve) -> None:
    save(run_of("T1", "look"))
    approve("last", *WHY)
    save(run_of("T1", "pay"))

    approve("last", "--add", *WHY)

    assert ["look"] == [call["name"] for call in snapshot("T1")["calls"]]
    assert [["pay"]] == [[call["name"] for call in one] for one in snapshot("T1")["or"]]


def test_a_damaged_snapshot_is_replaced(approve: Approve) -> None:
    save(run_of("T1", "look"))
    approve("last", *WHY)
    Path("sop_snapshots/refunds/T1.json").write_text("<<<<<<<")

    result = approve("last", *WHY)

    assert 0 == result.exit_code
    assert "T1" == snapshot("T1")["task"]


def test_two_agents_that_differ_are_not_approved_unasked(approve: Approve) -> None:
    save(
        run_of("T1", "look", agent="a:b"),
        run_of("T1", "pay", agent="a:c"),
        run_of("T2", "look", agent="a:b"),
        run_of("T2", "look", agent="a:c"),
    )

    result = approve("last", *WHY)
    both = approve("last", "T1", "--add", *WHY)

    assert "  refunds/T1: agent a:c made other calls; --add approves both" in result.stdout
    assert 0 == both.exit_code
    assert 1 == len(snapshot("T1")["or"])


def test_two_agents_that_are_wrong_are_both_named(approve: Approve) -> None:
    wrong = Outcome.WRONG
    save(run_of("T1", outcome=wrong, agent="a:b"), run_of("T1", outcome=wrong, agent="a:c"))

    result = approve("last", *WHY)

    assert "2 not approved\n  refunds/T1: wrong\n  refunds/T1 (a:c): wrong\n" in result.stdout


def test_of_trials_the_first_is_approved(approve: Approve) -> None:
    save(run_of("T1", "look"), run_of("T1", "pay", trial=2))

    approve("last", *WHY)

    assert ["look"] == [call["name"] for call in snapshot("T1")["calls"]]


def test_a_later_trial_is_not_approved_beside_the_first(approve: Approve) -> None:
    save(run_of("T1", "look"), run_of("T1", "pay", trial=2))

    result = approve("last", "--add", *WHY)

    assert "not approved" not in result.stdout
    assert {"task", "calls"} == set(snapshot("T1"))


def test_runs_whose_task_or_domain_is_gone_are_named(approve: Approve) -> None:
    save(
        run_of("T1", "look"),
        run_of("T9", "look"),
        run_of("T1", "look", domain="old"),
        run_of("T2", "look", task_hash="another"),
    )

    result = approve("last", *WHY)

    assert result.stdout.splitlines()[1:] == [
        "3 not approved",
        "  refunds/T9: refunds has no such task; is it renamed or its row deleted?",
        "  old/T1: the domain old is not found: name its folder with --domain",
        "  refunds/T2: its row has changed since; run it again",
    ]


def test_what_stands_without_a_task_is_said_and_left(approve: Approve) -> None:
    save(run_of("T1", "look"), run_of("T2", "look"))
    approve("last", *WHY)
    Path("sop_snapshots/refunds/T1.json").unlink()
    Path("sop_snapshots/refunds/T9.json").write_text("{}")
    Path("sop_snapshots/old").mkdir()

    result = approve("last", "T2", *WHY)

    assert 0 == result.exit_code
    assert result.stdout.splitlines()[2:] == [
        "3 entries without a task, left as before",
        "  sop_snapshots/old: no domain of this name is found",
        "  sop_snapshots/refunds/T9.json: refunds has no such task",
        "  sop_snapshots/refunds/T1.json: approved once, and gone",
    ]
    assert Path("sop_snapshots/refunds/T9.json").exists()


def test_a_domain_that_is_not_found_by_its_name_is_found_by_its_place(approve: Approve) -> None:
    make_domain("lab", under="elsewhere")
    save(run_of("T1", "look", domain="lab"))

    result = approve("last", "--domain=./elsewhere/lab", *WHY)

    assert 0 == result.exit_code
    assert Path("sop_snapshots/lab/T1.json").exists()


def test_it_writes_where_the_project_or_the_user_says(approve: Approve) -> None:
    Path("pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nsop_committed_dir = "tests/steps"\n'
        'sop_snapshot_rules = ["replace:id=T[0-9]"]\n'
    )
    save(run_of("T1", "look"))

    approve("last", *WHY)
    approve("last", "--to=given", *WHY)

    assert '{"id": "<id>"}' in Path("tests/steps/sop_snapshots/refunds/T1.json").read_text()
    assert Path("given/refunds/T1.json").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        pytest.param(("last",), "Missing option '--reason'", id="no reason"),
        pytest.param(("last", "--reason", " "), "say why", id="an empty reason"),
        pytest.param(("last", "T9", *WHY), "no run of a task 'T9'", id="an unknown task"),
        pytest.param(("first", *WHY), "cannot be read", id="an unknown session"),
    ],
)
def test_wrong_usage_is_2(approve: Approve, arguments: tuple[str, ...], why: str) -> None:
    save(run_of("T1", "look"))

    result = approve(*arguments)

    assert 2 == result.exit_code
    assert why in result.stderr


def test_a_rule_that_cannot_be_read_is_wrong_usage(approve: Approve) -> None:
    Path("pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nsop_snapshot_rules = ["whatever"]\n'
    )
    save(run_of("T1", "look"))

    result = approve("last", *WHY)

    assert 2 == result.exit_code
    assert "sop_snapshot_rules: 'whatever' is no rule" in result.stderr
