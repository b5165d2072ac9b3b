"""The commit in the header, with a real git, and what a resumption says of another one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_sopbench._sessions.commands.resume import git_differences
from pytest_sopbench._sessions.header import GitState, git_state

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", *identity, *arguments],  # noqa: S607 - whichever git the machine has
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    git(tmp_path, "init")
    return tmp_path


def commit(repository: Path) -> str:
    (repository / "agent.py").write_text("one\n", "utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "one")
    return git(repository, "rev-parse", "HEAD")


def test_a_clean_repository_gives_its_commit(repository: Path) -> None:
    head = commit(repository)

    assert GitState(commit=head, dirty=False) == git_state(repository)


def test_the_state_is_that_of_the_repository_around_a_folder(repository: Path) -> None:
    head = commit(repository)
    inside = repository / "tests"
    inside.mkdir()

    assert GitState(commit=head, dirty=False) == git_state(inside)


@pytest.mark.parametrize(
    "name", [pytest.param("agent.py", id="changed file"), pytest.param("b.py", id="new file")]
)
def test_a_file_that_is_not_in_the_commit_makes_it_dirty(repository: Path, name: str) -> None:
    head = commit(repository)
    (repository / name).write_text("two\n", "utf-8")

    assert GitState(commit=head, dirty=True) == git_state(repository)


def test_a_repository_without_a_commit_has_no_state(repository: Path) -> None:
    assert git_state(repository) is None


def test_a_folder_outside_a_repository_has_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert git_state(tmp_path) is None


def test_a_missing_folder_has_no_state(tmp_path: Path) -> None:
    assert git_state(tmp_path / "missing") is None


def test_a_repository_elsewhere_is_the_one_that_its_variable_names(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = commit(repository)
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository))

    assert GitState(commit=head, dirty=False) == git_state(tmp_path_factory.mktemp("elsewhere"))


def test_a_work_tree_of_its_own_gives_its_commit(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    head = commit(repository)
    tree = tmp_path_factory.mktemp("trees") / "one"
    git(repository, "worktree", "add", str(tree))

    assert GitState(commit=head, dirty=False) == git_state(tree)


def test_a_machine_without_git_has_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))

    assert git_state(tmp_path) is None


def test_git_that_takes_too_long_has_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    fake_git(tmp_path, "exec /bin/sleep 20", monkeypatch)

    assert git_state(tmp_path, time_limit=0.1) is None


def fake_git(folder: Path, does: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a program in the place of git, and return its folder."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{does}\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


# Of which code a session's runs are, as far as git tells: what a resumption asks first.

CLEAN = GitState(commit="a" * 40, dirty=False)
CHANGED = GitState(commit="a" * 40, dirty=True)
LATER = GitState(commit="b" * 40, dirty=False)


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        pytest.param(CLEAN, CLEAN, [], id="the same"),
        pytest.param(None, None, [], id="no repository at all"),
        pytest.param(
            CLEAN, LATER, [f"git commit: {'a' * 12} there, {'b' * 12} here"], id="another commit"
        ),
        pytest.param(
            CLEAN,
            CHANGED,
            ["git: no uncommitted changes there, uncommitted changes here"],
            id="changed since",
        ),
        pytest.param(
            CHANGED,
            CLEAN,
            ["git: uncommitted changes there, no uncommitted changes here"],
            id="changed then",
        ),
        pytest.param(
            None, CLEAN, [f"git: no repository there, {'a' * 12} here"], id="a repository since"
        ),
    ],
)
def test_other_code_is_told(then: GitState | None, now: GitState | None, said: list[str]) -> None:
    assert said == list(git_differences(then, now))
