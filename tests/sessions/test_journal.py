"""What a process that died has left: what it had ended, and what it had only begun."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_sopbench import Outcome, RunKey, RunRecord, Trace
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind
from pytest_sopbench._core.records.record import to_line
from pytest_sopbench._sessions import writer
from pytest_sopbench._sessions.journal import (
    DeadWorkerRuns,
    Journal,
    ReadJournal,
    clear_journals,
    journal_path,
    journals_folder,
    read_journal,
    read_journals,
    record_worker_death,
)
from pytest_sopbench._sessions.lines import bare, sealed
from pytest_sopbench.errors import SessionFileError
from tests.builders.runs import run

Open = Callable[[Path], Journal]
TRACE = Trace(ending=Ending.RETURNED, returned=Returned(kind=ReturnedKind.TEXT, text="café"))


def record(task: str) -> RunRecord:
    return run(task, agent="a")


def key(task: str) -> RunKey:
    return record(task).key


def end(journal: Journal, task: str, trace: Trace | None = TRACE) -> None:
    journal.end(key(task), to_line(record(task)), trace)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return journal_path(journals_folder(tmp_path / "last.jsonl"), "gw0")


@pytest.fixture
def opened() -> Iterator[Open]:
    """Begin journals that are closed when the test is over, as by the end of a process."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(closing(Journal(path)))


def test_the_journals_lie_in_a_folder_beside_their_session(tmp_path: Path, path: Path) -> None:
    assert tmp_path / "last.journals" / "gw0.jsonl" == path


def test_what_ended_and_what_was_only_begun_are_told_apart(path: Path, opened: Open) -> None:
    journal = opened(path)
    journal.start(key("T_1"))
    journal.start(key("T_2"))
    end(journal, "T_1")

    found = read_journal(path)

    assert {key("T_1"): (record("T_1"), TRACE)} == {
        name: (run.record, run.trace) for name, run in found.finished.items()
    }
    assert to_line(record("T_1")) == found.finished[key("T_1")].line
    assert (key("T_2"),) == found.unfinished


def test_every_line_is_on_disk_at_once(path: Path, opened: Open) -> None:
    """The process may die before the next one; nobody closes the file then."""
    journal = opened(path)

    journal.start(key("T_1"))

    assert path.read_text("ascii").endswith("\n")


def test_a_trace_that_may_not_be_written_is_not(path: Path, opened: Open) -> None:
    journal = opened(path)

    end(journal, "T_1", trace=None)

    assert '"trace"' not in [line.split(":")[1].split(",")[0] for line in path.read_text().split()]
    assert read_journal(path).finished[key("T_1")].trace is None


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_line_that_was_cut_short_is_passed_over(path: Path, cut: int) -> None:
    journal = Journal(path)
    journal.start(key("T_1"))
    end(journal, "T_1")
    journal.start(key("T_2"))
    journal.close()
    path.write_bytes(path.read_bytes()[:-cut])

    found = read_journal(path)

    assert [key("T_1")] == list(found.finished)
    assert () == found.unfinished


def test_a_run_counts_as_finished_when_all_of_it_is_there(path: Path) -> None:
    journal = Journal(path)
    journal.start(key("T_1"))
    end(journal, "T_1")
    journal.close()
    # The trace comes first, so that a run without its line has not ended.
    path.write_bytes(path.read_bytes()[:-1])

    found = read_journal(path)

    assert {} == found.finished
    assert (key("T_1"),) == found.unfinished


def test_threads_do_not_mix_their_lines(path: Path, opened: Open) -> None:
    journal = opened(path)
    ready = threading.Barrier(8)

    def work(number: int) -> None:
        ready.wait(60)
        for one in range(20):
            journal.start(key(f"T_{number}_{one}"))
            end(journal, f"T_{number}_{one}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 160 == len(read_journal(path).finished)


def test_a_journal_replaces_the_one_of_an_earlier_session(path: Path) -> None:
    first = Journal(path)
    first.start(key("T_1"))
    first.close()

    Journal(path).close()

    assert ReadJournal() == read_journal(path)


def test_the_journals_of_a_session_are_read_as_one(path: Path, opened: Open) -> None:
    """What one process began and another ended has ended."""
    one, other = opened(path), opened(path.with_name("gw1.jsonl"))
    one.start(key("T_1"))
    one.start(key("T_2"))
    other.start(key("T_1"))
    end(other, "T_1")

    found = read_journals(path.parent)

    assert [key("T_1")] == list(found.finished)
    assert (key("T_2"),) == found.unfinished


def test_without_a_folder_there_is_nothing(tmp_path: Path) -> None:
    assert ReadJournal() == read_journals(tmp_path / "none")
    clear_journals(tmp_path / "none")


def test_journals_that_are_needed_no_more_go_with_their_folder(path: Path) -> None:
    Journal(path).close()

    clear_journals(path.parent)

    assert not path.parent.exists()


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("{}", id="no type"),
        pytest.param('{"type":"start","domain":"lab"}', id="no key"),
        pytest.param("[]", id="a list"),
        pytest.param("hello", id="no JSON"),
    ],
)
def test_a_line_that_no_journal_has_is_passed_over(path: Path, line: str) -> None:
    journal = Journal(path)
    end(journal, "T_1")
    journal.close()
    path.write_bytes(f"{line}\n".encode() + path.read_bytes())

    found = read_journal(path)

    assert [key("T_1")] == list(found.finished)
    assert (f"{path}: 1 damaged (line 1), passed over; the others count",) == found.problems


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('"task":"T_1"', '"task":1', id="a number as the name of a task"),
        pytest.param('"trial":1', '"trial":1.0', id="half numbers of trials"),
        pytest.param('"trial":1', f'"trial":{10**30}', id="more trials than there are"),
        pytest.param('"outcome":"correct"', '"outcome":"splendid"', id="no outcome"),
        pytest.param('"duration_s":null', '"duration_s":NaN', id="no number"),
        pytest.param('"text":"caf', '"text":7,"x":"caf', id="a trace with a number as its text"),
        pytest.param('"calls":[]', '"calls":[{"name":1}]', id="a call without a name"),
    ],
)
def test_a_sealed_line_with_a_value_of_a_wrong_type_is_passed_over(
    path: Path, old: str, new: str
) -> None:
    """As another program may write it."""
    journal = Journal(path)
    end(journal, "T_1")
    end(journal, "T_2")
    journal.close()
    lines = [bare(line).decode() for line in path.read_bytes().splitlines()]
    at = next(at for at, line in enumerate(lines) if old in line)
    lines[at] = lines[at].replace(old, new, 1)
    path.write_bytes(b"".join(sealed(line) + b"\n" for line in lines))

    found = read_journal(path)

    assert (f"{path}: 1 damaged (line {at + 1}), passed over; the others count",) == found.problems
    assert {key("T_1"), key("T_2")} >= found.finished.keys() >= {key("T_2")}
    assert all(run.record == record(name.task) for name, run in found.finished.items())


def test_a_line_without_its_checksum_does_not_count(path: Path) -> None:
    """Who edits a line by hand cannot make it count by removing the checksum."""
    journal = Journal(path)
    end(journal, "T_1", trace=None)
    journal.close()
    path.write_bytes(bare(path.read_bytes().rstrip()) + b"\n")

    assert {} == read_journal(path).finished


def test_a_disk_that_refuses_is_told(tmp_path: Path) -> None:
    (tmp_path / "last.journals").write_text("a file where the folder shall be")

    with pytest.raises(SessionFileError, match="cannot be used"):
        Journal(tmp_path / "last.journals" / "gw0.jsonl")


def test_a_journal_that_is_closed_refuses(path: Path) -> None:
    journal = Journal(path)
    journal.close()

    with pytest.raises(SessionFileError, match="cannot be used"):
        journal.start(key("T_1"))


def test_a_disk_that_takes_a_part_at_a_time_gets_all_of_it(
    path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    journal = opened(path)
    slow = {**vars(os), "write": lambda fd, data: write(fd, data[:7])}
    monkeypatch.setattr(writer, "os", SimpleNamespace(**slow))

    journal.start(key("T_1"))
    end(journal, "T_1")

    assert [key("T_1")] == list(read_journal(path).finished)


def test_what_a_full_disk_has_torn_spoils_nothing_behind_it(
    path: Path, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """44 runs were unreadable for one that the disk took half of."""
    write = os.write
    taken: list[int] = []

    def full(fd: int, data: bytes) -> int:
        if taken:
            raise OSError(28, "No space left on device")
        taken.append(write(fd, data[:40]))
        return 40

    journal = opened(path)
    end(journal, "T_1")
    with monkeypatch.context() as patch:
        patch.setattr(writer, "os", SimpleNamespace(**{**vars(os), "write": full}))
        with pytest.raises(SessionFileError, match="No space left"):
            end(journal, "T_2")
    journal.start(key("T_3"))
    end(journal, "T_4")

    found = read_journal(path)

    assert [key("T_1"), key("T_4")] == list(found.finished)
    assert (key("T_3"),) == found.unfinished
    assert 1 == len(found.problems)


def test_a_value_that_was_edited_under_its_checksum_does_not_count(path: Path) -> None:
    journal = Journal(path)
    end(journal, "T_1", trace=None)
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"outcome":"correct"', b'"outcome":"wrong"'))

    found = read_journal(path)

    assert whole != path.read_bytes()
    assert {} == found.finished
    assert (f"{path}: 1 damaged (line 1), passed over; the others count",) == found.problems


@pytest.mark.parametrize("place", range(0, 2_000, 97))
def test_one_flipped_byte_loses_one_run_and_no_other(path: Path, place: int) -> None:
    journal = Journal(path)
    for number in range(5):
        journal.start(key(f"T_{number}"))
        end(journal, f"T_{number}")
    journal.close()
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 4
    path.write_bytes(bytes(data))

    found = read_journal(path)

    assert 4 <= len(found.finished)
    assert all(run.record == record(name.task) for name, run in found.finished.items())
    assert 1 == len(found.problems)


# What workers learn of those that died: what they ended, what they had begun, who is to blame.

ENDED = RunRecord(domain="lab", task="T_1", agent="a", outcome=Outcome.CORRECT)
BEGUN = RunKey("lab", "T_2", 1, "a")
OTHER = RunKey("lab", "T_3", 1, "a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The journal of `gw0`, which ended one run and began two more."""
    journal = Journal(journal_path(tmp_path, "gw0"))
    for key in (ENDED.key, BEGUN, OTHER):
        journal.start(key)
    journal.end(ENDED.key, to_line(ENDED), None)
    journal.close()
    return tmp_path


def test_who_is_alive_leaves_nothing(folder: Path) -> None:
    estate = DeadWorkerRuns(folder)

    estate.look()

    assert ({}, set(), set()) == (estate.finished, estate.suspects, estate.condemned)


def test_of_several_that_were_begun_each_is_a_suspect(folder: Path) -> None:
    estate = DeadWorkerRuns(folder)
    record_worker_death(folder, "gw0", None)

    estate.look()

    assert [ENDED.key] == list(estate.finished)
    assert {BEGUN, OTHER} == estate.suspects
    assert set() == estate.condemned


def test_the_one_that_is_known_to_be_guilty_is_condemned(folder: Path) -> None:
    estate = DeadWorkerRuns(folder)
    record_worker_death(folder, "gw0", BEGUN)

    estate.look()

    assert {BEGUN} == estate.condemned


def test_a_death_is_looked_into_once(folder: Path) -> None:
    estate = DeadWorkerRuns(folder)
    record_worker_death(folder, "gw0", None)
    estate.look()
    estate.suspects.clear()

    estate.look()

    assert set() == estate.suspects


def test_a_later_death_is_seen_by_the_next_look(folder: Path) -> None:
    estate = DeadWorkerRuns(folder)
    estate.look()
    record_worker_death(folder, "gw0", None)

    estate.look()

    assert {BEGUN, OTHER} == estate.suspects


def test_a_mark_is_whole_or_not_there(folder: Path) -> None:
    record_worker_death(folder, "gw0", None)

    assert ["gw0.dead", "gw0.jsonl"] == sorted(path.name for path in folder.iterdir())


def test_a_folder_that_is_gone_tells_nothing(tmp_path: Path) -> None:
    estate = DeadWorkerRuns(tmp_path / "gone")

    estate.look()

    assert {} == estate.finished


@pytest.mark.parametrize(
    "mark", [pytest.param("{", id="no JSON"), pytest.param("é", id="no ASCII")]
)
def test_a_mark_that_cannot_be_read_is_told_with_its_worker(folder: Path, mark: str) -> None:
    (folder / "gw0.dead").write_text(mark, "utf-8")

    with pytest.raises(SessionFileError, match="the mark of gw0"):
        DeadWorkerRuns(folder).look()


def test_a_death_without_its_journal_is_told(folder: Path) -> None:
    record_worker_death(folder, "gw7", None)

    with pytest.raises(SessionFileError, match="gw7"):
        DeadWorkerRuns(folder).look()
