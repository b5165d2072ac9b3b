"""What a value on the command line stands for: a name, or a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._sessions.folder.paths import session_path
from pytest_sopbench.errors import SessionFileError

FOLDER = Path("kept")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        pytest.param("last", FOLDER / "last.jsonl", id="name"),
        pytest.param("v1.2-rc_3", FOLDER / "v1.2-rc_3.jsonl", id="name with dots"),
        pytest.param("base.jsonl", Path("base.jsonl"), id="file here"),
        pytest.param("tests/base.jsonl", Path("tests/base.jsonl"), id="file elsewhere"),
        pytest.param("./base", Path("base"), id="path without suffix"),
        pytest.param("~/base.jsonl", Path.home() / "base.jsonl", id="home"),
    ],
)
def test_a_value_is_a_name_or_a_path(value: str, path: Path) -> None:
    assert path == session_path(value, FOLDER)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="nothing"),
        pytest.param("-x", id="option"),
        pytest.param("..", id="parent"),
        pytest.param("two words", id="space"),
        pytest.param("a" * 201, id="too long"),
    ],
)
def test_other_values_are_refused(value: str) -> None:
    with pytest.raises(SessionFileError, match="is no name of a session"):
        session_path(value, FOLDER)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("/", id="root"),
        pytest.param("./", id="current folder"),
        pytest.param("a/..", id="parent"),
        pytest.param(f"a/{'b' * 201}", id="too long"),
        pytest.param("\u00e9" * 101 + ".jsonl", id="too many bytes"),
        pytest.param("~nobody-is-called-so/a", id="home of nobody"),
    ],
)
def test_a_path_that_can_be_of_no_file_is_refused(value: str) -> None:
    """Python and the disk would else raise errors of their own, wherever they look for it."""
    with pytest.raises(SessionFileError, match="is no path of a session"):
        session_path(value, FOLDER)
