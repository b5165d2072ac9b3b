"""A pipe or a device in the place of a file never ends: it is refused, and nobody waits for it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_sopbench._judge.judging import calibration_path, read_calibrations
from pytest_sopbench._judge.keeping import Judgements
from pytest_sopbench._loading.files import read_toml
from pytest_sopbench._loading.tables import read_table
from pytest_sopbench._replay.cassette_lines import TaskPlace, cassette_path
from pytest_sopbench._replay.cassettes import Store, inspect
from pytest_sopbench._sessions.event_logs import add_to_page, try_page, write_pages
from pytest_sopbench.errors import SopbenchError

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")

PLACE = TaskPlace("mypkg:agent", "parcels", "T_01")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    os.mkfifo(path)
    return path


@pytest.mark.parametrize("read", [read_table, read_toml], ids=["labels", "prices"])
def test_what_a_user_names_must_be_a_file(pipe: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(SopbenchError, match="is no regular file, and must be a file"):
        read(pipe)


def test_calibration_must_be_a_file(tmp_path: Path) -> None:
    os.mkfifo(calibration_path(tmp_path))

    with pytest.raises(SopbenchError, match="no regular file"):
        read_calibrations(tmp_path)


def test_judgement_that_is_no_file_is_as_good_as_absent(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    os.mkfifo(tmp_path / "ab" / "abc.json")

    assert Judgements(tmp_path, str).find("abc", "an answer") is None


def test_recording_that_is_no_file_is_told_of(tmp_path: Path) -> None:
    path = cassette_path(tmp_path, PLACE)
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    (problem,) = inspect(tmp_path).problems

    assert re.search(r"T_01\.jsonl: cannot be read: .*no regular file", problem)
    with pytest.raises(SopbenchError, match="no regular file"):
        Store(tmp_path).load(PLACE)


@pytest.mark.parametrize(
    "write",
    [lambda path: write_pages({path: "x"}), lambda path: add_to_page(path, "x")],
    ids=["a page", "a summary"],
)
def test_page_into_a_pipe_that_nobody_reads_is_refused(
    pipe: Path, write: Callable[[Path], None]
) -> None:
    with pytest.raises(SopbenchError, match="cannot be written"):
        write(pipe)
    with pytest.raises(OSError, match="No such device"):
        try_page(pipe)


def test_page_into_a_pipe_reaches_whoever_reads_it(pipe: Path) -> None:
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_pages({pipe: "page"})

    assert b"page" == os.read(reader, 99)
    os.close(reader)
