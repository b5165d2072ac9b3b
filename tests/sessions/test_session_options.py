"""The options in a header: an object of names on disk, each with its type for whoever asks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.keys import TaskName
from pytest_sopbench._sessions.file.writer import sealed_session
from pytest_sopbench._sessions.header.header import SessionHeader
from pytest_sopbench._sessions.header.options import SessionOptions, read_session_options
from pytest_sopbench._sessions.reading.reader import read_session
from pytest_sopbench._settings.values import Shard
from pytest_sopbench.errors import SessionFileError


def test_a_session_that_recorded_nothing_says_nothing() -> None:
    assert SessionOptions() == read_session_options({"of another version": [1]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"selection": ["--sop-limit=3", "--sop-shard=2/4"]},
            {
                "selection": ("--sop-limit=3", "--sop-shard=2/4"),
                "shard": Shard(number=2, count=4),
            },
            id="a shard",
        ),
        pytest.param({"gates": ["tsr=0.9"]}, {"gates": ("tsr=0.9",)}, id="a gate"),
        pytest.param(
            {"must_pass": ["lab/a/b"]}, {"must_pass": (TaskName("lab", "a/b"),)}, id="a task"
        ),
        pytest.param({"failures": 2}, {"failures": 2, "records_failures": True}, id="failures"),
        pytest.param({"failures": None}, {"records_failures": True}, id="failures unknown"),
        pytest.param({"failures": True}, {"records_failures": True}, id="no number"),
        pytest.param({"failures": -1}, {"records_failures": True}, id="less than none"),
        pytest.param({"not_evaluated": None, "compare": ""}, {}, id="empty"),
        pytest.param({"gates": "tsr=0.9", "expired": {}}, {}, id="of another type"),
        pytest.param({"slim": True}, {"is_slim": True}, id="slim"),
        pytest.param({"slim": 1}, {}, id="not slim"),
    ],
)
def test_what_is_recorded_has_its_type(options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert replace(SessionOptions(), **expected) == read_session_options(options)


@pytest.mark.parametrize("shard", ["", "2", "0/4", "5/4", "x/y"])
def test_a_shard_that_means_nothing_passes_for_no_whole(
    tmp_path: Path, header: SessionHeader, shard: str
) -> None:
    made = replace(header, options={"selection": [f"--sop-shard={shard}"]})
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(sealed_session(made, [])))

    with pytest.raises(SessionFileError, match=r"line 1: damaged: .*write i/n"):
        read_session(path)
