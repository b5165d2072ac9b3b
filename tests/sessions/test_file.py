"""Files that are written aside and renamed: whole, or as they were."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunKey, RunRecord
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.atomic import (
    add_file,
    copy_file,
    replace_file,
    replace_path,
    try_writing,
)
from pytest_sopbench._sessions.event_logs import (
    TraceFolder,
    add_to_page,
    trace_name,
    traces_folder,
    write_pages,
)
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.writer import SessionWriter, start_to_line
from pytest_sopbench.errors import SessionFileError, SopbenchError

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


# Pages on disk: all or none, never half of one, and nothing else is touched.


def test_pages_are_written_and_replace_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("something longer")

    write_pages({tmp_path / "a": "é\n", tmp_path / "b": "b"})

    assert "é\n" == (tmp_path / "a").read_text("utf-8")
    assert {"a", "b"} == {one.name for one in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "broken", [pytest.param("gone/page", id="no folder"), pytest.param("folder", id="a folder")]
)
@pytest.mark.parametrize("place", [0, 1])
def test_where_one_cannot_be_written_none_is(tmp_path: Path, broken: str, place: int) -> None:
    (tmp_path / "a").write_text("before")
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / "a"]
    paths.insert(place, tmp_path / broken)

    with pytest.raises(SopbenchError, match=f"{broken}: cannot be written: "):
        write_pages(dict.fromkeys(paths, "after"))

    assert "before" == (tmp_path / "a").read_text()
    assert {"a", "folder"} == {one.name for one in tmp_path.iterdir()}


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "page").symlink_to(tmp_path / "there" / "page")

    write_pages({tmp_path / "page": "x"})

    assert (tmp_path / "page").is_symlink()
    assert "x" == (tmp_path / "there" / "page").read_text()


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.is_char_device():
        pytest.skip("this system has no device that is always full")

    with pytest.raises(SopbenchError, match="No space left"):
        write_pages({tmp_path / "a": "x", full: "x"})

    assert full.is_char_device()
    assert [] == list(tmp_path.iterdir())


def test_half_a_character_is_no_reason_to_lose_a_page(tmp_path: Path) -> None:
    write_pages({tmp_path / "a": "\ud800"})
    add_to_page(tmp_path / "a", "\udfff")

    assert "\\ud800\\udfff" == (tmp_path / "a").read_text()


def test_what_cannot_be_added_to_is_named(tmp_path: Path) -> None:
    with pytest.raises(SopbenchError, match="gone/page: cannot be written: No such file"):
        add_to_page(tmp_path / "gone" / "page", "x")


# Where the event logs of a session lie: one file per run, and none outside of its folder.

KEY = RunKey("lab", "T_1", 1, "pkg:agent")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param(KEY, "lab/T_1@pkg%3Aagent.jsonl", id="usual"),
        pytest.param(RunKey("lab", "T_1"), "lab/T_1.jsonl", id="no agent"),
        pytest.param(RunKey("lab", "T_1", 2), "lab/T_1+2.jsonl", id="second trial"),
        pytest.param(RunKey("lab", "T_1+2"), "lab/T_1%2B2.jsonl", id="plus"),
        pytest.param(RunKey("lab", "../x"), "lab/%2E.%2Fx.jsonl", id="out of the folder"),
        pytest.param(RunKey("..", ".."), "%2E%2E/%2E%2E.jsonl", id="dots"),
        pytest.param(RunKey("lab", "\ud800"), "lab/%ED%A0%80.jsonl", id="half a character"),
    ],
)
def test_the_name_of_a_log(key: RunKey, name: str) -> None:
    assert name == trace_name(key)


KEYS = st.builds(
    RunKey,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.integers(1, 9),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


@given(key=KEYS)
def test_no_log_leaves_its_folder_and_every_disk_takes_its_name(key: RunKey) -> None:
    folder, file = trace_name(key).split("/")

    assert {folder, file}.isdisjoint({"", ".", ".."})
    assert max(len(folder), len(file)) <= 255
    assert set('\\:*?"<>|\0\n').isdisjoint(folder + file)


@given(one=KEYS, other=KEYS)
def test_two_runs_never_share_a_log(one: RunKey, other: RunKey) -> None:
    assert (one == other) is (trace_name(one) == trace_name(other))


@pytest.mark.parametrize(
    ("session", "folder"),
    [
        pytest.param("a/last.jsonl", "a/last.traces", id="a session"),
        pytest.param("a/v1.2", "a/v1.2.traces", id="a path without suffix"),
    ],
)
def test_the_folder_stands_beside_the_session(session: str, folder: str) -> None:
    assert Path(folder) == traces_folder(Path(session))


def test_the_first_log_of_a_run_is_kept(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")

    traces.write(KEY, "first\n")
    traces.write(KEY, "second\n")

    assert "first\n" == (traces.path / trace_name(KEY)).read_text()


def test_a_session_begins_without_logs(tmp_path: Path) -> None:
    TraceFolder(tmp_path / "last.jsonl").write(KEY, "old\n")

    traces = TraceFolder(tmp_path / "last.jsonl")

    assert not traces.path.exists()


def test_logs_are_kept_beside_another_session(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")
    traces.write(KEY, "log\n")

    traces.copy(tmp_path / "main.jsonl")

    assert "log\n" == (tmp_path / "main.traces" / trace_name(KEY)).read_text()
    with pytest.raises(SessionFileError, match=r"main\.traces"):
        traces.copy(tmp_path / "main.jsonl")


def test_no_logs_leave_no_folder(tmp_path: Path) -> None:
    TraceFolder(tmp_path / "last.jsonl").copy(tmp_path / "main.jsonl")

    assert [] == list(tmp_path.iterdir())


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "last.traces").write_text("a file")

    with pytest.raises(SessionFileError, match=r"last\.traces: cannot be written"):
        TraceFolder(tmp_path / "last.jsonl")


def test_a_disk_that_takes_no_log_is_told(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")
    traces.path.write_text("a file")

    with pytest.raises(SessionFileError, match=r"T_1@pkg.*cannot be written"):
        traces.write(KEY, "log\n")


# What is left of a run whose process died: the line that says that it began.

HEADER = SessionHeader(plugin="1", agent="a", started="2026-01-01T00:00:00+00:00", judging="j")
ENDED = RunRecord(domain="lab", task="T_1", agent="a", outcome=Outcome.CORRECT)
DIED = RunKey("lab", "T_2", 1, "a")


def test_a_run_that_began_and_has_no_end_is_unfinished(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "last.jsonl", HEADER)
    writer.append(start_to_line(ENDED.key))
    writer.append(to_line(ENDED))
    writer.append(start_to_line(DIED))
    writer.close()

    saved = read_session(tmp_path / "last.jsonl")

    assert (ENDED,) == saved.records
    assert (DIED,) == saved.unfinished
    assert "lab/T_2 was begun and has no end" in saved.problems[0]


def test_a_finished_session_holds_no_starts(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "last.jsonl", HEADER)
    writer.append(start_to_line(ENDED.key))
    writer.append(to_line(ENDED))

    writer.finish([ENDED.key], {})

    assert "start" not in [line.split('"')[3] for line in writer.path.read_text().splitlines()]
    assert () == read_session(writer.path).unfinished
