"""What is left of a run whose process died: the line that says that it began."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.file.line_places import start_from_json, start_to_line
from pytest_sopbench._sessions.file.writer import SessionWriter
from pytest_sopbench._sessions.header import SessionHeader
from pytest_sopbench._sessions.reading.reader import read_session

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


def test_a_start_without_its_keys_is_refused() -> None:
    with pytest.raises(ValueError, match="a start without 'task'"):
        start_from_json({"type": "start", "domain": "lab"})
