"""What the last session took, read without reading the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._sessions.folder.pointer import LastSession, read_last

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
