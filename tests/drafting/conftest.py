"""An empty project, a brief in it, and a model on loopback that the real client asks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main

sys.path.insert(0, str(Path(__file__).parent))

from drafting_model import BRIEF, DraftingModel

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
