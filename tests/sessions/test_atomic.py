"""Files that are written aside and renamed: whole, or as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from pytest_sopbench._sessions.file.atomic import (
    add_file,
    copy_file,
    replace_file,
    replace_path,
    try_writing,
)

Writing = Callable[[Path], AbstractContextManager[BinaryIO]]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    with replace_file(path) as file:
        file.write(b"new")
        assert b"old" == path.read_bytes()

    assert b"new" == path.read_bytes()
    assert ["a.txt"] == names(tmp_path)


@pytest.mark.parametrize("writing", [replace_file, add_file], ids=["replace", "add"])
def test_what_fails_leaves_nothing(tmp_path: Path, writing: Writing) -> None:
    path = tmp_path / "folder" / "a.txt"

    with pytest.raises(TypeError), writing(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]

    assert [] == names(tmp_path / "folder")


def test_a_disk_that_refuses_the_rename_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space left"), replace_file(path) as file:
        file.write(b"new")

    assert b"old" == path.read_bytes()
    assert ["a.txt"] == names(tmp_path)


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    with replace_file(tmp_path / "one" / "two" / "a.txt") as file:
        file.write(b"x")

    assert b"x" == (tmp_path / "one" / "two" / "a.txt").read_bytes()


@pytest.mark.parametrize(
    "link", [pytest.param(True, id="links"), pytest.param(False, id="no links")]
)
def test_what_is_added_replaces_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, link: bool
) -> None:
    path = tmp_path / "a.txt"
    if not link:
        monkeypatch.setattr(os, "link", _no_links)

    with add_file(path) as file:
        file.write(b"first")
    with pytest.raises(FileExistsError), add_file(path) as file:
        file.write(b"second")

    assert b"first" == path.read_bytes()
    assert ["a.txt"] == names(tmp_path)


def test_only_what_is_durable_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)

    with replace_file(tmp_path / "a.txt"):
        pass
    assert [] == synced

    with replace_file(tmp_path / "b.txt", is_durable=True):
        pass
    assert 1 == len(synced)


def test_a_link_is_put_in_place_in_one_step(tmp_path: Path) -> None:
    pointer = tmp_path / "last"
    pointer.write_text("old")

    with replace_path(pointer) as aside:
        aside.symlink_to("a.txt")

    assert Path("a.txt") == pointer.readlink()


def test_a_copy_is_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 100_000)

    copy_file(tmp_path / "a.txt", tmp_path / "folder" / "b.txt")

    assert b"x" * 100_000 == (tmp_path / "folder" / "b.txt").read_bytes()


def test_to_try_a_place_changes_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"old")

    try_writing(tmp_path / "a.txt")
    try_writing(tmp_path / "folder" / "b.txt")

    assert b"old" == (tmp_path / "a.txt").read_bytes()
    assert [] == names(tmp_path / "folder")


def _no_links(*_: object) -> None:
    raise OSError(95, "Operation not supported")
