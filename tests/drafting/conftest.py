"""An empty project, a brief in it, and a model on loopback that the real client asks."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

if sys.platform != "win32":
    import fcntl

from pytest_sopbench.cli import main

sys.path.insert(0, str(Path(__file__).parent))

from drafting_model import BRIEF, EXCLUDED, WITH_MODEL, DraftingModel

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


def drafted(project: Path, **writes: str) -> Path:
    """Make a draft that nobody has read in a folder, with what the model writes otherwise."""
    with pytest.MonkeyPatch.context() as patch, DraftingModel() as model:
        for name, text in writes.items():
            setattr(model.writer, name, text)
        patch.setenv("OPENAI_BASE_URL", model.url)
        patch.setenv("OPENAI_API_KEY", "sk-of-nobody")
        patch.chdir(project)
        Path("brief.md").write_text(BRIEF, "utf-8")
        command = ["new", "refunds", *WITH_MODEL]
        result = CliRunner().invoke(main, command, catch_exceptions=False)
        Path("said.txt").write_text(result.output, "utf-8")
        assert 0 == result.exit_code, result.output
    return project


@pytest.fixture(scope="session")
def once(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Make a draft once for all workers, each of which would else take seconds for its own.

    Windows has no such lock, and there each has its own.
    """
    folder = tmp_path_factory.getbasetemp()
    if sys.platform != "win32" and hasattr(request.config, "workerinput"):
        folder = folder.parent

    def make(name: str, **writes: str) -> Path:
        project = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX)
            if not project.exists():
                drafted(tmp_path_factory.mktemp(name), **writes).rename(project)
        return project

    return make


@pytest.fixture(scope="session")
def drafted_once(once: Callable[..., Path]) -> Path:
    """A project with a draft, which is copied."""
    return once("drafted")


@pytest.fixture(scope="session")
def doubted_once(once: Callable[..., Path]) -> Path:
    """The same of a draft whose second policy excludes what the first includes."""
    return once("doubted", policy_b=EXCLUDED)


@pytest.fixture
def doubted(doubted_once: Path, tmp_path: Path, drafts: Drafts, model: DraftingModel) -> Drafts:
    """That draft in this test's project, and the command about it; its model can be asked on."""
    model.writer.policy_b = EXCLUDED
    shutil.copytree(doubted_once, tmp_path, dirs_exist_ok=True)
    return drafts


@pytest.fixture
def draft(drafted_once: Path, tmp_path: Path, drafts: Drafts) -> Drafts:
    """The draft in this test's project, and the command about it; no model can be asked."""
    shutil.copytree(drafted_once, tmp_path, dirs_exist_ok=True)
    return drafts
