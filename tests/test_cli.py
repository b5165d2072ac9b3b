"""The command `sopbench`, as a user types it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from pytest_sopbench import Mismatch, Outcome, RunRecord
from tests.builders import commands
from tests.builders.refunds import write_refunds
from tests.builders.saved import SessionHeader, SessionWriter, to_line

Sopbench = Callable[..., Result]


@pytest.fixture
def sopbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sopbench:
    """Run a command in an empty folder."""
    monkeypatch.chdir(tmp_path)

    return commands.sopbench


def make_domain(folder: Path, rows: str = "T1,yes\nT2,no\n") -> None:
    expected = dict(row.split(",") for row in rows.splitlines())
    write_refunds(folder, expected, title="Small refunds")


def save(path: Path, *runs: RunRecord) -> None:
    writer = SessionWriter(path, SessionHeader(plugin="", agent="a:b", started="", judging=""))
    for run in runs:
        writer.append(to_line(run))
    writer.close()


WRONG = RunRecord(
    domain="refunds",
    task="T1",
    outcome=Outcome.WRONG,
    agent="a:b",
    expected={"refund": "yes"},
    answer={"refund": "no"},
    mismatches=(Mismatch(field="refund", expected="yes", actual="no", why="other known label"),),
    duration_s=1.0,
)


def test_the_version_is_that_of_the_package(sopbench: Sopbench) -> None:
    result = sopbench("--version")

    assert result.exit_code == 0
    assert result.stdout.startswith("sopbench ")


def test_help_names_the_commands(sopbench: Sopbench) -> None:
    result = sopbench("-h")

    assert result.exit_code == 0
    assert "list" in result.stdout
    assert "show" in result.stdout


def test_no_command_needs_pytest_for_its_help() -> None:
    program = (
        "import sys, pytest_sopbench.cli\n"
        "pytest_sopbench.cli.main(['-h'], standalone_mode=False)\n"
        "print('pytest' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("Usage: ")
    assert done.stdout.endswith("False\n")


def test_the_projects_domains_are_listed(sopbench: Sopbench, tmp_path: Path) -> None:
    make_domain(tmp_path / "domains" / "refunds")

    result = sopbench("list")

    assert result.exit_code == 0
    assert "refunds  Small refunds\n  holds    2 tasks, 0 tools, no licence" in result.stdout


def test_a_domain_is_listed_by_its_path_in_detail(sopbench: Sopbench, tmp_path: Path) -> None:
    make_domain(tmp_path / "lab" / "refunds")

    result = sopbench("list", "-v", "./lab/refunds")

    assert result.exit_code == 0
    assert "inputs   id" in result.stdout


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param('[tool.pytest.ini_options]\nsop_paths = "lab"', id="text"),
        pytest.param('[tool.pytest.ini_options]\nsop_paths = ["lab"]', id="list"),
        pytest.param('[tool.pytest]\nsop_paths = ["lab"]', id="native table"),
    ],
)
def test_domains_lie_where_the_project_says(
    sopbench: Sopbench, tmp_path: Path, configuration: str
) -> None:
    make_domain(tmp_path / "lab" / "refunds")
    (tmp_path / "pyproject.toml").write_text(configuration, "utf-8")

    result = sopbench("list", "-q", "all")

    assert result.stdout == "refunds  2 tasks  Small refunds\n"


@pytest.mark.parametrize(
    "configuration",
    [
        pytest.param("[tool.pytest]\nsop_paths = {}", id="neither text nor list"),
        pytest.param("[tool.pytest.ini_options]\nsop_paths = []", id="empty list"),
        pytest.param('[tool.pytest.ini_options]\nsop_paths = ""', id="empty text"),
        pytest.param("tool = 1", id="no table"),
    ],
)
def test_without_a_usable_setting_domains_lie_in_the_usual_places(
    sopbench: Sopbench, tmp_path: Path, configuration: str
) -> None:
    make_domain(tmp_path / "tests" / "domains" / "refunds")
    (tmp_path / "pyproject.toml").write_text(configuration, "utf-8")

    result = sopbench("list", "-q", "all")

    assert result.stdout == "refunds  2 tasks  Small refunds\n"


def test_a_broken_configuration_is_told(sopbench: Sopbench, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[", "utf-8")

    result = sopbench("list")

    assert result.exit_code == 2
    assert result.stderr.startswith("sopbench: pyproject.toml: cannot be read")


def test_a_broken_domain_does_not_hide_the_others(sopbench: Sopbench, tmp_path: Path) -> None:
    make_domain(tmp_path / "domains" / "refunds")
    make_domain(tmp_path / "domains" / "broken", rows="")

    result = sopbench("list")

    assert result.exit_code == 0
    assert "refunds  Small refunds" in result.stdout
    assert "broken\n  problem" in result.stdout


def test_a_broken_domain_that_was_asked_for_is_wrong_usage(
    sopbench: Sopbench, tmp_path: Path
) -> None:
    make_domain(tmp_path / "domains" / "broken", rows="")

    result = sopbench("list", "broken")

    assert result.exit_code == 2
    assert "problem" in result.stdout


def test_a_package_whose_domain_is_gone_is_listed_with_its_problem(
    sopbench: Sopbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "gone-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gone\nVersion: 1\n", "utf-8")
    (info / "entry_points.txt").write_text(
        "[pytest_sopbench.domains]\ngone = gone_domains.here\n", "utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)

    result = sopbench("list")

    assert result.exit_code == 0
    assert "gone\n  problem" in result.stdout


def test_an_unknown_domain_is_wrong_usage_without_a_traceback(sopbench: Sopbench) -> None:
    result = sopbench("list", "nowhere")

    assert result.exit_code == 2
    assert result.stderr.startswith("sopbench: nowhere: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("task", ["refunds/T1", "refunds::T1", "T1"])
def test_a_task_of_the_last_session_is_shown(sopbench: Sopbench, tmp_path: Path, task: str) -> None:
    save(tmp_path / ".sop" / "sessions" / "last.jsonl", WRONG)

    result = sopbench("show", "last", task)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "wrong: refund is 'no', not 'yes'",
        "task     refunds/T1",
    ]


def test_all_trials_and_agents_of_a_task_are_shown(sopbench: Sopbench, tmp_path: Path) -> None:
    runs = [
        RunRecord(domain="d", task="T", trial=trial, agent=agent, outcome=Outcome.CRASH)
        for agent in ("one", "other")
        for trial in (1, 2)
    ]
    save(tmp_path / "s.jsonl", *runs)

    lines = sopbench("show", "s.jsonl", "T").stdout.splitlines()

    assert [line for line in lines if line.startswith("agent")] == ["agent    one"] * 2 + [
        "agent    other"
    ] * 2
    assert len([line for line in lines if "(trial 2)" in line]) == 2


def test_sessions_lie_where_the_project_says(sopbench: Sopbench, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.pytest]\nsop_dir = "kept"', "utf-8")
    save(tmp_path / "kept" / "sessions" / "base.jsonl", WRONG)

    assert sopbench("show", "base", "T1").exit_code == 0


def test_what_is_odd_about_a_session_is_told_beside(sopbench: Sopbench, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    save(path, WRONG)
    path.write_text(path.read_text("ascii") + '{"type":', "ascii")

    result = sopbench("show", "s.jsonl", "T1")

    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "sopbench: s.jsonl: it has no end; what follows is of the runs that it has",
        "sopbench: s.jsonl, line 3: cut short, and left out",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("show", "s.jsonl", "T9"), "s.jsonl: no run of a task 'T9'", id="task"),
        pytest.param(("show", "gone.jsonl", "T1"), "gone.jsonl: cannot be read", id="session"),
        pytest.param(("show", "two words", "T1"), "'two words' is no name", id="name"),
    ],
)
def test_our_errors_are_messages(
    sopbench: Sopbench, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    save(tmp_path / "s.jsonl", WRONG)

    result = sopbench(*arguments)

    assert result.exit_code == 2
    assert f"sopbench: {message}" in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_usage_of_the_command_itself_is_told_by_it(sopbench: Sopbench) -> None:
    assert sopbench("show", "only-one").exit_code == 2


def test_a_name_that_no_disk_takes_is_told(sopbench: Sopbench) -> None:
    result = sopbench("audit", f"./{'x' * 300}")

    assert 2 == result.exit_code
    assert result.stderr.endswith("x: File name too long\n")
