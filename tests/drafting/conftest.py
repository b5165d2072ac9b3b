"""An empty project, a brief in it, and a model on loopback that the real client asks."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main

sys.path.insert(0, str(Path(__file__).parent))

from drafting_model import BRIEF, WITH_MODEL, DraftingModel

Drafts = Callable[..., Result]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[DraftingModel]:
    with DraftingModel() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
        yield server


@pytest.fixture
def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drafts:
    """Run `sopbench new refunds` with these arguments in an empty project with a brief."""
    monkeypatch.chdir(tmp_path)
    Path("brief.md").write_text(BRIEF, "utf-8")

    def run(*arguments: str, typed: str = "") -> Result:
        command = ["new", "refunds", *arguments]
        return CliRunner().invoke(main, command, input=typed, catch_exceptions=False)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "domains" / "refunds"


@pytest.fixture(scope="session")
def drafted_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a draft that nobody has read; made once, and copied."""
    project = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch, DraftingModel() as model:
        patch.setenv("OPENAI_BASE_URL", model.url)
        patch.setenv("OPENAI_API_KEY", "sk-of-nobody")
        patch.chdir(project)
        Path("brief.md").write_text(BRIEF, "utf-8")
        command = ["new", "refunds", *WITH_MODEL]
        result = CliRunner().invoke(main, command, catch_exceptions=False)
        Path("said.txt").write_text(result.output, "utf-8")
        assert 0 == result.exit_code, result.output
    return project


@pytest.fixture
def draft(drafted_once: Path, tmp_path: Path, drafts: Drafts) -> Drafts:
    """The draft in this test's project, and the command about it; no model can be asked."""
    shutil.copytree(drafted_once, tmp_path, dirs_exist_ok=True)
    return drafts
