"""Which session of a folder never ended, and which old ones go."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._sessions.file.writer import SessionWriter
from pytest_sopbench._sessions.folder.mark import Mark, mark_path
from pytest_sopbench._sessions.folder.paths import with_time
from pytest_sopbench._sessions.folder.pointer import (
    last_path,
    marked_unended,
    not_ended,
    point_at,
    prune,
    resumable_since_last,
    running_since_last,
    unended_since_last,
)
from pytest_sopbench._sessions.header import SessionHeader

HEADER = SessionHeader(
    plugin="1.0",
    agent="desk:agent",
    agent_args={},
    started="2026-11-22T07:14:49+00:00",
    judging="",
)


def place(folder: Path, minute: int) -> Path:
    return folder / f"20261122-07{minute:02}00-000-1a2b3c4d.jsonl"


def whole(folder: Path, minute: int) -> Path:
    path = place(folder, minute)
    SessionWriter(path, HEADER).finish([], {})
    return path


def killed(folder: Path, minute: int, *, early: bool = False) -> Path:
    """What a killed process leaves: its mark, and the file unless it died before the first run."""
    path = place(folder, minute)
    if not early:
        SessionWriter(path, HEADER).close()
    Mark(path).leave()
    return path


def test_a_folder_that_is_not_there_has_no_sessions(tmp_path: Path) -> None:
    assert unended_since_last(tmp_path / "none") is None
    assert "" == not_ended(last_path(tmp_path / "none"))


@pytest.mark.parametrize("early", [False, True], ids=["in a run", "before its first run"])
def test_a_session_killed_after_the_last_one_did_not_end(tmp_path: Path, early: bool) -> None:
    point_at(whole(tmp_path, 1))
    session = killed(tmp_path, 2, early=early)

    assert session == unended_since_last(tmp_path)
    assert f"the last session did not end: {with_time(session.stem)}" == not_ended(
        last_path(tmp_path)
    )
    assert f"the session did not end: {session.stem}" == not_ended(session)


def test_only_what_left_a_file_is_resumed(tmp_path: Path) -> None:
    point_at(whole(tmp_path, 1))
    session = killed(tmp_path, 2)
    killed(tmp_path, 3, early=True)

    assert session == resumable_since_last(tmp_path)


def test_an_older_session_is_not_resumed_in_place_of_the_last_one(tmp_path: Path) -> None:
    killed(tmp_path, 1)
    point_at(whole(tmp_path, 2))

    assert resumable_since_last(tmp_path) is None


def test_an_older_session_that_died_after_the_last_one_ended_is_told_of(tmp_path: Path) -> None:
    session = killed(tmp_path, 1)
    point_at(whole(tmp_path, 2))

    assert [session] == marked_unended(tmp_path)
    assert f"the last session did not end: {with_time(session.stem)}" == not_ended(
        last_path(tmp_path)
    )


def test_a_file_without_a_summary_did_not_end_even_without_a_mark(tmp_path: Path) -> None:
    """The next session has told of it, and taken its mark off."""
    point_at(whole(tmp_path, 1))
    session = killed(tmp_path, 2)
    mark_path(session).unlink()

    assert session == unended_since_last(tmp_path)


def test_a_session_whose_process_ended_badly_after_its_summary_did_not_end(tmp_path: Path) -> None:
    session = whole(tmp_path, 1)
    point_at(session)
    Mark(session).leave()

    assert f"the last session did not end: {with_time(session.stem)}" == not_ended(
        last_path(tmp_path)
    )


def test_a_running_session_has_not_failed_to_end(tmp_path: Path) -> None:
    point_at(whole(tmp_path, 1))
    session = place(tmp_path, 2)
    mark = Mark(session)

    assert session == running_since_last(tmp_path, but=tmp_path / "own.jsonl")
    assert running_since_last(tmp_path, but=session) is None
    assert unended_since_last(tmp_path) is None
    assert "" == not_ended(last_path(tmp_path))
    assert not_ended(session).startswith("the session is still running (process ")
    mark.take_off()


def belongings(session: Path) -> list[Path]:
    """Folders that lie beside a session."""
    folders = [session.with_suffix(".traces"), session.with_suffix(".journals")]
    for folder in folders:
        (folder / "lab").mkdir(parents=True)
    return folders


def test_the_oldest_sessions_go_with_all_that_is_theirs(tmp_path: Path) -> None:
    old, *kept = [whole(tmp_path, minute) for minute in range(1, 4)]
    gone = belongings(old)
    stay = belongings(kept[0])
    point_at(kept[-1])

    prune(tmp_path, 2)

    assert not any(path.exists() for path in (old, *gone))
    assert all(path.exists() for path in (*kept, *stay))


def test_what_is_running_is_last_or_has_a_name_is_never_removed(tmp_path: Path) -> None:
    running, last = whole(tmp_path, 1), whole(tmp_path, 2)
    named = tmp_path / "main.jsonl"
    SessionWriter(named, HEADER).finish([], {})
    whole(tmp_path, 3)
    point_at(last)
    mark = Mark(running)

    prune(tmp_path, 1)

    assert all(path.exists() for path in (running, last, named))
    mark.take_off()


def test_what_a_killed_session_left_without_a_file_goes_as_well(tmp_path: Path) -> None:
    session = killed(tmp_path, 1, early=True)
    journals, _ = belongings(session)
    point_at(whole(tmp_path, 2))

    prune(tmp_path, 1)

    assert not mark_path(session).exists()
    assert not journals.exists()


def test_what_has_no_file_does_not_count_for_a_session_that_is_kept(tmp_path: Path) -> None:
    kept = [whole(tmp_path, minute) for minute in range(1, 3)]
    killed(tmp_path, 3, early=True)
    place(tmp_path, 4).with_suffix(".journals").mkdir()
    last = whole(tmp_path, 5)
    point_at(last)

    prune(tmp_path, 3)

    assert all(path.exists() for path in (*kept, last))
