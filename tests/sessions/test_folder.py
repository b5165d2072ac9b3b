"""What a value on the command line stands for: a name, or a path."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_sopbench import Outcome, RunRecord
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions.commands.resume import merge_journal_into_session, read_resumable
from pytest_sopbench._sessions.event_logs import trace_name, traces_folder
from pytest_sopbench._sessions.folder import session_path
from pytest_sopbench._sessions.header import SessionHeader, SessionOptions
from pytest_sopbench._sessions.journal import Journal, claim_journals, journal_path, journals_folder
from pytest_sopbench._sessions.mark import (
    UNKNOWN,
    Mark,
    claim,
    is_running,
    mark_path,
    owner_of,
    refuse_running,
)
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.writer import SessionWriter
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


# A mark tells a session that is running from one whose process is gone.

HOLD = """
import os, sys
from pathlib import Path
from pytest_sopbench._sessions.mark import Mark
mark = Mark(Path(sys.argv[1]))
{more}
print("marked", flush=True)
sys.stdin.read()
"""
FORKS = """
there, here = os.pipe()
if not os.fork():
    # By now all has happened that happens at a fork.
    os.write(here, b"x")
    os.close(0), os.close(1)
    import time
    time.sleep(600)
os.read(there, 1)
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "one.jsonl"


@contextmanager
def holder(session: Path, more: str = "") -> Generator[subprocess.Popen[str]]:
    """Another process that has marked a session."""
    command = [sys.executable, "-c", HOLD.format(more=more), str(session)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_marked_session_is_running(session: Path) -> None:
    mark = Mark(session)

    assert is_running(session)
    assert os.getpid() == owner_of(session).process
    mark.leave()


def test_an_honest_end_leaves_no_mark(session: Path) -> None:
    Mark(session).take_off()

    assert not is_running(session)
    assert [] == list(session.parent.iterdir())


def test_a_session_without_a_mark_is_not_running(session: Path) -> None:
    assert not is_running(session)
    assert UNKNOWN == owner_of(session)


def test_a_session_of_another_process_is_refused_and_the_process_named(session: Path) -> None:
    with holder(session) as process, pytest.raises(SessionFileError) as raised:
        claim(session)

    assert f"still running (process {process.pid} on " in str(raised.value)


def test_a_process_that_was_killed_leaves_a_mark_that_does_not_block(session: Path) -> None:
    with holder(session) as process:
        process.kill()
        process.wait()

        assert mark_path(session).exists()
        assert not is_running(session)
        refuse_running(session)
        mark = claim(session)

    assert mark is not None
    assert os.getpid() == owner_of(session).process
    mark.take_off()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_child_that_outlives_its_session_does_not_keep_it_running(session: Path) -> None:
    with holder(session, more=FORKS) as process:
        process.kill()
        process.wait()

        assert not is_running(session)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_child_does_not_take_off_the_mark(session: Path) -> None:
    mark = Mark(session)

    child = os.fork()
    if not child:
        mark.take_off()
        os._exit(0)
    os.waitpid(child, 0)

    assert is_running(session)
    mark.take_off()


def test_two_that_look_at_once_do_not_see_each_other(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Mark(session).leave()
    seen: list[bool] = []

    def look(path: Path) -> object:
        monkeypatch.undo()
        seen.append(is_running(path))
        return UNKNOWN

    monkeypatch.setattr("pytest_sopbench._sessions.mark.owner_of", look)

    assert not is_running(session)
    assert [False] == seen


@pytest.mark.parametrize("was_there", [False, True], ids=["of nobody", "of a dead process"])
def test_what_is_given_back_is_as_it_was(session: Path, was_there: bool) -> None:
    if was_there:
        Mark(session).leave()

    Mark(session).give_back()

    assert was_there == mark_path(session).exists()
    assert not is_running(session)


def test_a_mark_that_a_full_disk_cut_short_is_none(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(SessionFileError, match="No space left on device"):
        Mark(session)
    assert not mark_path(session).exists()


def test_a_folder_that_takes_no_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SessionFileError, match="cannot be written"):
        Mark(tmp_path / "file" / "one.jsonl")


# Journals beside a session: read as part of it, brought into its file, or passed over.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "last.jsonl"


@pytest.fixture
def killed(path: Path, header: SessionHeader, records: list[RunRecord]) -> Path:
    """A session that recorded T1, ended T1 otherwise and T2 in its journal, and began T3."""
    writer = SessionWriter(path, replace(header, identity="this"))
    writer.append(to_line(records[0]))
    writer.close()
    write_journal(path, "this", records)
    return path


def write_journal(path: Path, identity: str, records: list[RunRecord]) -> None:
    folder = journals_folder(path)
    claim_journals(folder, identity)
    journal = Journal(journal_path(folder, "main"))
    wrong = replace(records[0], outcome=Outcome.WRONG)
    for one in (wrong, records[1]):
        journal.start(one.key)
        journal.end(one.key, to_line(one), None, f"log of {one.task}\n")
    journal.start(records[2].key)
    journal.close()


def test_a_run_that_only_a_journal_has_is_read(killed: Path, records: list[RunRecord]) -> None:
    saved = read_session(killed)

    assert tuple(records[:2]) == saved.records
    assert (records[2].key,) == saved.unfinished


@pytest.mark.parametrize("identity", ["another", ""])
def test_the_journals_of_another_session_are_not_read(
    path: Path, header: SessionHeader, records: list[RunRecord], identity: str
) -> None:
    SessionWriter(path, replace(header, identity=identity)).close()
    write_journal(path, "this", records)

    assert () == read_session(path).records


def test_journals_without_an_owner_are_nobodys(killed: Path) -> None:
    (journals_folder(killed) / "session").unlink()

    assert 1 == len(read_session(killed).records)


def test_a_session_that_came_to_its_end_needs_no_journal(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, replace(header, identity="this"))
    writer.append(to_line(records[2]))
    writer.finish([records[2].key], {})
    write_journal(path, "this", records)

    assert (records[2],) == read_session(path).records


def test_a_damaged_journal_is_told_and_the_file_is_read(killed: Path) -> None:
    journal_path(journals_folder(killed), "gw0").write_text("no journal\n")

    saved = read_session(killed)

    assert 2 == len(saved.records)
    assert any("gw0.jsonl: 1 damaged (line 1)" in problem for problem in saved.problems)


def test_what_is_brought_in_reads_as_before(killed: Path) -> None:
    before = read_session(killed)

    merge_journal_into_session(killed)

    after = read_session(killed)
    assert {one.key: one for one in before.records} == {one.key: one for one in after.records}
    assert before.unfinished == after.unfinished
    assert not journals_folder(killed).exists()


def test_the_event_logs_of_a_journal_come_along(killed: Path, records: list[RunRecord]) -> None:
    merge_journal_into_session(killed)

    log = traces_folder(killed) / trace_name(records[1].key)
    assert "log of T2\n" == log.read_text()


def test_an_event_log_that_is_there_stays(killed: Path, records: list[RunRecord]) -> None:
    log = traces_folder(killed) / trace_name(records[0].key)
    log.parent.mkdir(parents=True)
    log.write_text("of the recorded run\n")

    merge_journal_into_session(killed)

    assert "of the recorded run\n" == log.read_text()


def test_a_line_that_was_cut_short_is_left_out(killed: Path, records: list[RunRecord]) -> None:
    with killed.open("a") as file:
        file.write(to_line(records[2])[:50])

    merge_journal_into_session(killed)

    saved = read_session(killed)
    assert {records[0].key, records[1].key} == {one.key for one in saved.records}
    assert (records[2].key,) == saved.unfinished


def test_outcomes_that_say_nothing_of_the_agent_are_not_taken_over(
    path: Path, header: SessionHeader, records: list[RunRecord]
) -> None:
    writer = SessionWriter(path, header)
    outcomes = (Outcome.CORRECT, Outcome.UNAVAILABLE, Outcome.TIMEOUT)
    for record, outcome in zip(records, outcomes, strict=True):
        writer.append(to_line(replace(record, outcome=outcome)))
    writer.close()

    usual = read_resumable(path, ())
    asked = read_resumable(path, (Outcome.TIMEOUT,))

    assert [records[0].key, records[2].key] == [*usual.finished]
    assert [records[0].key] == [*asked.finished]
    assert {records[2].key} == asked.again


def test_a_slim_baseline_cannot_be_resumed(path: Path, header: SessionHeader) -> None:
    SessionWriter(path, replace(header, options=SessionOptions(slim=True))).close()

    with pytest.raises(SessionFileError, match="no runs to take over"):
        read_resumable(path, ())
