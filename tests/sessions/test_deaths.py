"""What workers learn of those that died: what they ended, what they had begun, who is to blame."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.journal import (
    DeadWorkerRuns,
    Journal,
    journal_path,
    record_worker_death,
)
from pytest_sopbench.errors import SessionFileError

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
