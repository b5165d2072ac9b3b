"""Where rows of tasks lie, as a reviewer on GitHub sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._sessions.commands.page import row_places

TASK = TaskName("lab", "T2")


def domain_in(folder: Path) -> Domain:
    folder = folder / "lab"
    folder.mkdir(parents=True)
    described = {"name": "lab", "input_columns": ["id"], "output_columns": ["grade"]}
    (folder / "metadata.json").write_text(json.dumps(described))
    (folder / "sop.txt").write_text("Grade it.")
    (folder / "toolspecs.json").write_text("[]")
    (folder / "data.csv").write_text('id,grade\nT1,"a\nb"\nT2,c\n')
    return load_domain(folder)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    return tmp_path / "repo"


def test_a_path_starts_at_the_top_of_the_repository_and_a_line_is_an_editors(
    repository: Path,
) -> None:
    domain = domain_in(repository / "service" / "domains")

    places = row_places([domain], {TASK, TaskName("lab", "gone")}, repository / "service", {})

    assert {TASK: ("service/domains/lab/data.csv", 4)} == places


@pytest.mark.parametrize("folder", [".venv/lib/domains", "env/lib/site-packages/ours"])
def test_what_is_installed_into_a_repository_is_not_of_it(repository: Path, folder: str) -> None:
    assert {} == row_places([domain_in(repository / folder)], {TASK}, repository, {})


def test_what_lies_elsewhere_has_no_place(repository: Path, tmp_path: Path) -> None:
    assert {} == row_places([domain_in(tmp_path / "other")], {TASK}, repository, {})


def test_without_git_the_workspace_of_the_runner_is_the_top(tmp_path: Path) -> None:
    domain = domain_in(tmp_path / "work" / "service" / "domains")
    given = {"GITHUB_WORKSPACE": str(tmp_path / "work")}

    places = row_places([domain], {TASK}, tmp_path / "work" / "service", given)

    assert "service/domains/lab/data.csv" == places[TASK].path


def test_without_either_the_project_is_the_top(tmp_path: Path) -> None:
    domain = domain_in(tmp_path / "work" / "domains")

    places = row_places([domain], {TASK}, tmp_path / "work", {})

    assert "domains/lab/data.csv" == places[TASK].path
