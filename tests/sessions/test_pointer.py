"""What the last session took, read without reading the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._sessions.folder import (
    LastSession,
    Withdrawal,
    followed,
    is_own_name,
    last_path,
    marked_unended,
    not_ended,
    point_at,
    prune,
    read_last,
    resumable_since_last,
    running_since_last,
    unended_since_last,
    with_time,
    withdrawn_by,
)
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.mark import Mark, mark_path
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.writer import SessionWriter

HEADER: dict[str, Any] = {
    "type": "header",
    "agent": "ag:flaky",
    "options": {"concurrency": 24},
    "domains": {"lab": {}},
}
RESUMED = {**HEADER, "options": {"concurrency": 24, "resumed": [{"session": "last", "runs": 2}]}}


def summary(**changes: Any) -> dict[str, Any]:
    pooled = {
        "runs": 3,
        "outcomes": {"correct": 3},
        "usage": {"cost_usd": {"total": 3.2, "known": 3}},
    }
    pooled |= changes.pop("pooled", {})
    return {"type": "summary", "duration_s": 660.0, "total": {"pooled": pooled}, **changes}


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "ascii")
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "last.jsonl"


@pytest.mark.parametrize("size", [0, 10, 70_000, 200_000], ids="{} characters between".format)
def test_both_ends_are_read_whatever_lies_between(path: Path, size: int) -> None:
    written(path, HEADER, {"type": "run", "text": "x" * size}, summary(more="y" * size))

    expected = LastSession(
        agent="ag:flaky",
        domains=frozenset({"lab"}),
        runs=3,
        duration_s=660.0,
        concurrency=24,
        cost_usd=3.2,
    )
    assert expected == read_last(path)


def test_what_was_never_started_took_nothing(path: Path) -> None:
    written(path, HEADER, summary(pooled={"runs": 9, "outcomes": {"correct": 3, "not_run": 6}}))

    found = read_last(path)

    assert found is not None
    assert (3, 3.2) == (found.runs, found.cost_usd)


def test_a_part_of_the_cost_is_no_cost(path: Path) -> None:
    usage = {"cost_usd": {"total": 3.2, "known": 2}}
    written(path, HEADER, summary(pooled={"usage": usage}))

    found = read_last(path)

    assert found is not None
    assert found.cost_usd is None


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([HEADER], id="a header alone"),
        pytest.param([HEADER, {"type": "run"}], id="cut short"),
        pytest.param([HEADER, summary(duration_s=None)], id="made of others"),
        pytest.param([RESUMED, summary()], id="timed in a part"),
        pytest.param([HEADER, {**summary(), "type": "run"}], id="another line"),
        pytest.param([["header"], summary()], id="no header"),
        pytest.param([], id="empty"),
    ],
)
def test_what_does_not_tell_is_passed_over(path: Path, lines: list[object]) -> None:
    assert read_last(written(path, *lines)) is None


def test_a_summary_from_before_durations_is_passed_over(path: Path) -> None:
    data = summary()
    del data["duration_s"]

    assert read_last(written(path, HEADER, data)) is None


def test_no_file_is_no_session(path: Path) -> None:
    assert read_last(path) is None


# `last` leads to the session that ended last, in whichever form the disk takes it.

STARTED = "2026-11-22T07:14:49+00:00"


def session(path: Path, identity: str = "1a2b3c4d5e6f7a8b") -> Path:
    header = SessionHeader(
        plugin="1.0",
        agent="desk:agent",
        agent_args={},
        started=STARTED,
        judging="",
        identity=identity,
    )
    SessionWriter(path, header).close()
    return path


@pytest.fixture(params=["link", "line"])
def _form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that has symbolic links, and one that has none."""

    def refuse(*_: object) -> None:
        raise OSError

    if request.param == "line":
        monkeypatch.setattr(Path, "symlink_to", refuse)


@pytest.mark.usefixtures("_form")
def test_last_is_read_as_the_session_that_it_leads_to(tmp_path: Path) -> None:
    one = session(tmp_path / "one.jsonl")

    point_at(one)

    assert one == followed(last_path(tmp_path))
    assert one == read_session(last_path(tmp_path)).path


@pytest.mark.usefixtures("_form")
def test_a_later_session_moves_the_pointer_and_nothing_else(tmp_path: Path) -> None:
    one, two = session(tmp_path / "one.jsonl"), session(tmp_path / "two.jsonl")
    point_at(one)
    before = one.read_bytes()

    point_at(two)

    assert two == followed(last_path(tmp_path))
    assert before == one.read_bytes()
    assert ["last.jsonl", "one.jsonl", "two.jsonl"] == sorted(
        path.name for path in tmp_path.iterdir()
    )


def test_a_path_that_is_no_pointer_stays_as_it_is(tmp_path: Path) -> None:
    one = session(tmp_path / "one.jsonl")

    assert one == followed(one)
    assert tmp_path / "none.jsonl" == followed(tmp_path / "none.jsonl")


def test_a_link_of_the_users_to_another_folder_is_left_to_the_disk(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    one = session(elsewhere / "one.jsonl")
    link = tmp_path / "mine.jsonl"
    link.symlink_to(one)

    assert link == followed(link)
    assert "desk:agent" == read_session(link).header.agent


@pytest.mark.parametrize(
    "name", ["../one.jsonl", "a/one.jsonl", "/one.jsonl", ""], ids=["up", "down", "root", "empty"]
)
def test_a_line_leads_to_no_other_folder(tmp_path: Path, name: str) -> None:
    pointer = last_path(tmp_path)
    pointer.write_text(json.dumps({"type": "pointer", "session": name}, separators=(",", ":")))

    assert pointer == followed(pointer)


def test_the_session_of_an_earlier_version_is_last_until_another_one_ends(tmp_path: Path) -> None:
    old = session(tmp_path / "last.jsonl")
    (tmp_path / "last.traces" / "lab").mkdir(parents=True)
    before = old.read_bytes()
    assert old == followed(old)

    point_at(session(tmp_path / "one.jsonl"))

    moved = tmp_path / "20261122-071449-000-1a2b3c4d.jsonl"
    assert before == moved.read_bytes()
    assert moved.with_suffix(".traces").is_dir()
    assert is_own_name(moved.stem)
    assert tmp_path / "one.jsonl" == followed(last_path(tmp_path))


def test_what_is_no_session_does_not_stand_in_the_pointers_way(tmp_path: Path) -> None:
    last_path(tmp_path).write_text("anything")

    point_at(session(tmp_path / "one.jsonl"))

    assert tmp_path / "one.jsonl" == followed(last_path(tmp_path))


def numbered(folder: Path, number: int) -> Path:
    return folder / f"20261122-0714{number:02}-000-1a2b3c4d.jsonl"


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(["begin", "end", "give back", "die"])),
        max_size=12,
    )
)
def test_no_gate_decides_while_a_later_session_has_come_to_no_result(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """Sessions side by side, of which each begins, and then ends, is none, or dies."""
    folder = tmp_path_factory.mktemp("sessions")
    begun: dict[int, Withdrawal] = {}
    owing: set[int] = set()
    newest = 0
    session(numbered(folder, 0))
    point_at(numbered(folder, 0))

    for number, step in steps:
        # A later session has a later name, since names tell the time.
        if step == "begin" and number not in begun and number > max(begun, default=0):
            begun[number] = Withdrawal(numbered(folder, number))
            owing.add(number)
        elif step == "end" and number in owing:
            point_at(session(numbered(folder, number)))
            owing.discard(number)
            newest = number
        elif step == "give back" and number in owing:
            begun[number].give_back()
            owing.discard(number)

    assert numbered(folder, newest) == followed(last_path(folder))
    if any(number > newest for number in owing):
        assert withdrawn_by(folder)
    if not owing and len(begun) <= 1:
        assert not withdrawn_by(folder)


@pytest.mark.usefixtures("_form")
def test_a_pointer_that_is_withdrawn_leads_where_it_led_and_is_given_back(tmp_path: Path) -> None:
    one = session(numbered(tmp_path, 1))
    point_at(one)

    taken = Withdrawal(numbered(tmp_path, 2))
    led = followed(last_path(tmp_path))
    by = withdrawn_by(tmp_path)
    taken.give_back()

    assert (one, numbered(tmp_path, 2).stem) == (led, by)
    assert "" == withdrawn_by(tmp_path)
    assert sorted([one, last_path(tmp_path)]) == sorted(tmp_path.iterdir())


def test_a_session_that_lies_in_the_pointers_place_is_withdrawn_as_well(tmp_path: Path) -> None:
    """So a folder looks of which a CI server has made a copy."""
    session(last_path(tmp_path))

    Withdrawal(numbered(tmp_path, 2))

    assert numbered(tmp_path, 2).stem == withdrawn_by(tmp_path)
    assert "desk:agent" == read_session(last_path(tmp_path)).header.agent


# Which session of a folder never ended, and which old ones go.

HEADER_OF_UNENDED = SessionHeader(
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
    SessionWriter(path, HEADER_OF_UNENDED).finish([], {})
    return path


def killed(folder: Path, minute: int, *, early: bool = False) -> Path:
    """What a killed process leaves: its mark, and the file unless it died before the first run."""
    path = place(folder, minute)
    if not early:
        SessionWriter(path, HEADER_OF_UNENDED).close()
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
    SessionWriter(named, HEADER_OF_UNENDED).finish([], {})
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
