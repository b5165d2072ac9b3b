"""A saved session as a table, where pandas is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench import load_session
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.file.writer import sealed_session
from pytest_sopbench._sessions.header import SessionHeader

# At once, since pytester takes back what is imported later, and numpy cannot be loaded again.
pandas = pytest.importorskip("pandas")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    header = SessionHeader(plugin="", agent="a:b", started="", judging="")
    records = [
        RunRecord(
            domain="d",
            task="T1",
            agent="a:b",
            outcome=Outcome.CORRECT,
            answer={"grade": "A"},
            expected={"grade": "A"},
            duration_s=0.5,
            usage=Usage(input_tokens=3),
        ),
        RunRecord(domain="d", task="T2", agent="a:b", outcome=Outcome.NOT_RUN, reason="never"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(sealed_session(header, map(to_line, records))))
    return path


def test_a_table_has_one_row_for_each_run(saved: Path) -> None:
    frame = load_session(saved).to_dataframe()

    assert [
        "domain",
        "task",
        "trial",
        "agent",
        "outcome",
        "correct",
        "reason",
        "fields",
        "answer.grade",
        "right.grade",
        "calls",
        "duration_s",
        "input_tokens",
        "cached_tokens",
        "cache_write_tokens",
        "output_tokens",
        "reasoning_tokens",
        "model_calls",
        "cost_usd",
        "model",
    ] == list(frame.columns)
    assert ["correct", "not_run"] == list(frame["outcome"])
    assert [True, False] == list(frame["correct"])
    assert [True] == list(frame["right.grade"].dropna())
    assert [1.0] == list(frame["fields"].dropna())
    assert [0.5] == list(frame["duration_s"].dropna())
    assert pandas.isna(frame["answer.grade"][1])


def test_a_session_without_runs_is_a_table_without_rows(saved: Path) -> None:
    saved.write_text(saved.read_text().splitlines()[0] + "\n")

    frame = load_session(saved).to_dataframe()

    assert 0 == len(frame)
    assert "outcome" in frame.columns
