"""Journals beside a session: read as part of it, brought into its file, or passed over."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.commands.resume import merge_journal_into_session, read_resumable
from pytest_sopbench._sessions.file.event_logs import trace_name, traces_folder
from pytest_sopbench._sessions.file.writer import SessionWriter
from pytest_sopbench._sessions.header import SessionHeader, SessionOptions
from pytest_sopbench._sessions.journal import Journal, claim_journals, journal_path, journals_folder
from pytest_sopbench._sessions.reading.reader import read_session
from pytest_sopbench.errors import SessionFileError


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
