"""`last` leads to the session that ended last, in whichever form the disk takes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._sessions.file.writer import SessionWriter
from pytest_sopbench._sessions.folder.paths import is_own_name
from pytest_sopbench._sessions.folder.pointer import (
    Withdrawal,
    followed,
    last_path,
    point_at,
    withdrawn_by,
)
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.reading.reader import read_session

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
