"""Saved sessions that are whole, left behind, damaged, or none at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_sopbench._core.metrics.summary_json import summary_to_json
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.lines import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.file.writer import sealed_session
from pytest_sopbench._sessions.header import SessionHeader, header_to_line
from pytest_sopbench._sessions.lines import seal_of, sealed
from pytest_sopbench._sessions.reading import reader as content
from pytest_sopbench._sessions.reading.reader import KnownRun, read_session
from pytest_sopbench.errors import SessionFileError


@pytest.fixture
def lines(header: SessionHeader, records: list[RunRecord]) -> list[str]:
    summary = {"refunds": summary_to_json(summary_of(records))}
    last = json.dumps({"type": "summary", "domains": summary, "total": {}})
    session = sealed_session(header, [*map(to_line, records), last])
    return [line.decode().rstrip("\n") for line in session]


def known_of(lines: list[str], records: list[RunRecord]) -> dict[RunKey, KnownRun]:
    """What the writer of a session knows of its runs."""
    pairs = zip(records, lines[1:], strict=False)
    return {one.key: KnownRun(seal_of(line.encode()), one) for one, line in pairs}


def again(record: RunRecord) -> str:
    """Another line of the session that `lines` are of."""
    return sealed(to_line(record)).decode()


def write(folder: Path, text: str) -> Path:
    path = folder / "s.jsonl"
    path.write_bytes(text.encode("utf-8"))
    return path


def test_a_whole_session_is_read(
    tmp_path: Path, lines: list[str], header: SessionHeader, records: list[RunRecord]
) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines) + "\n"))

    assert header == saved.header
    assert tuple(records) == saved.records
    assert {"refunds": summary_of(records)} == saved.summaries
    assert saved.problems == ()


@pytest.mark.parametrize("kept", [1, 2, 4], ids=["header only", "one run", "no summary"])
def test_a_session_without_its_end_is_read(tmp_path: Path, lines: list[str], kept: int) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:kept]) + "\n"))

    assert kept - 1 == len(saved.records)
    assert saved.summaries is None
    assert saved.problems == ()


def test_a_session_is_readable_wherever_it_was_cut(tmp_path: Path, lines: list[str]) -> None:
    """Cut at every byte after the header: no error, and no run that was whole is lost."""
    start = len(lines[0]) + 1
    text = "\n".join(lines) + "\n"

    for end in range(start, len(text), 7):
        saved = read_session(write(tmp_path, text[:end]))

        whole = text[:end].count("\n") - 1
        assert len(saved.records) >= min(whole, 3)
        at_line_end = text[end - 1 : end + 1].find("\n") >= 0
        assert at_line_end or len(saved.problems) == 1


def test_a_line_that_was_cut_short_is_named(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:3])[:-5]))

    assert (f"{tmp_path / 's.jsonl'}, line 3: cut short, and left out",) == saved.problems
    assert len(saved.records) == 1


def test_zeros_at_the_end_are_what_a_power_failure_leaves(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines[:3]) + "\n" + "\0" * 4096))

    assert len(saved.records) == 2


def test_line_ends_of_windows_are_read(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\r\n".join(lines) + "\r\n"))

    assert len(saved.records) == 3


def test_the_last_line_of_a_key_wins(
    tmp_path: Path, lines: list[str], records: list[RunRecord]
) -> None:
    better = replace(records[0], outcome=Outcome.WRONG)

    saved = read_session(write(tmp_path, "\n".join([*lines[:4], again(better)]) + "\n"))

    assert (better, records[1], records[2]) == saved.records


def test_a_summary_is_forgotten_when_runs_follow_it(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, "\n".join([*lines, lines[1]]) + "\n"))

    assert saved.summaries is None
    assert not saved.finished


def test_a_line_that_was_written_anew_is_damaged(tmp_path: Path, lines: list[str]) -> None:
    """Whoever formats a session has had it in hands, and may have changed more than spaces."""
    spaced = json.dumps(json.loads(lines[1]), indent=None)

    saved = read_session(write(tmp_path, "\n".join([lines[0], spaced, *lines[2:]]) + "\n"))

    assert [2] == [one.number for one in saved.damaged]
    assert len(saved.records) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "no saved session: it is empty", id="empty"),
        pytest.param("name,value\n1,2\n", "its first line is no header", id="csv"),
        pytest.param("[1]\n", "its first line is no header", id="list"),
        pytest.param('{"type": "run"}\n', "its first line is no header", id="no header"),
        pytest.param("\u00e9\n", "bytes that no saved session holds", id="not ascii"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SessionFileError, match=message) as raised:
        read_session(write(tmp_path, text))

    assert str(tmp_path / "s.jsonl") in str(raised.value)


def test_a_newer_schema_is_refused(tmp_path: Path, header: SessionHeader) -> None:
    line = header_to_line(replace(header, schema=3))

    with pytest.raises(SessionFileError, match=r"newer pytest-sopbench \(schema 3") as raised:
        read_session(write(tmp_path, line + "\n"))

    assert "upgrade" in str(raised.value)


def test_a_header_that_lacks_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionFileError, match=r"line 1: damaged: .*git"):
        read_session(write(tmp_path, '{"type": "header", "schema": 1}\n'))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        pytest.param('{"type": "note"}', "neither a run nor a summary", id="unknown type"),
        pytest.param('{"type": "summary"}', "neither a run nor a summary", id="no domains"),
        pytest.param('{"type": "summary", "domains": {"d": {}}}', "summary", id="no counts"),
        pytest.param('{"type":"run","domain":"d"}', "missing", id="run without keys"),
        pytest.param('{"type":"start","domain":"d"}', "a start without", id="start without keys"),
    ],
)
def test_a_line_that_no_session_writes_is_damaged(
    tmp_path: Path, lines: list[str], line: str, why: str
) -> None:
    """Whatever its checksum says."""
    text = "\n".join([lines[0], lines[1], sealed(line).decode(), *lines[2:]]) + "\n"

    saved = read_session(write(tmp_path, text))

    assert [3] == [one.number for one in saved.damaged]
    assert why in saved.damaged[0].why
    assert len(saved.records) == 3
    assert ("1 damaged line",) == saved.doubts


def test_a_last_line_that_was_ended_is_damage(tmp_path: Path, lines: list[str]) -> None:
    saved = read_session(write(tmp_path, f"{lines[0]}\ngarbage\n"))

    assert (f"{tmp_path / 's.jsonl'}, line 2: damaged, and left out: it has no checksum",) == (
        saved.problems
    )


def test_a_missing_session_names_the_nearest(tmp_path: Path, lines: list[str]) -> None:
    write(tmp_path, "\n".join(lines))

    with pytest.raises(SessionFileError, match="cannot be read") as raised:
        read_session(tmp_path / "x.jsonl")

    assert raised.value.hint == f"sessions in {tmp_path}: s"


def test_a_missing_folder_has_nothing_near(tmp_path: Path) -> None:
    with pytest.raises(SessionFileError, match="cannot be read") as raised:
        read_session(tmp_path / "missing" / "x.jsonl")

    assert raised.value.hint == ""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("refunds/T2", id="domain and task"),
        pytest.param("refunds::T2", id="as in a node id"),
        pytest.param("T2", id="task alone"),
    ],
)
def test_the_runs_of_a_task_are_found(
    tmp_path: Path, lines: list[str], records: list[RunRecord], name: str
) -> None:
    second = replace(records[1], trial=2)
    saved = read_session(write(tmp_path, "\n".join([lines[0], again(second), *lines[1:]]) + "\n"))

    assert (records[1], second) == saved.runs_of(name)


def test_a_task_of_two_domains_must_be_named_in_full(
    tmp_path: Path, lines: list[str], records: list[RunRecord]
) -> None:
    other = again(replace(records[1], domain="claims"))
    saved = read_session(write(tmp_path, "\n".join([*lines[:4], other]) + "\n"))

    with pytest.raises(SessionFileError, match="is a task of claims, refunds") as raised:
        saved.runs_of("T2")

    assert raised.value.hint == "write claims/T2"


@pytest.mark.parametrize(
    ("task", "hint"),
    [
        pytest.param("refunds/T9", "did you mean refunds/T", id="near"),
        pytest.param("nothing", "tasks are named DOMAIN/TASK", id="far"),
    ],
)
def test_an_unknown_task_is_told(tmp_path: Path, lines: list[str], task: str, hint: str) -> None:
    saved = read_session(write(tmp_path, "\n".join(lines) + "\n"))

    with pytest.raises(SessionFileError, match="no run of a task") as raised:
        saved.runs_of(task)

    assert raised.value.hint.startswith(hint)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_no_session(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A reader of the one hangs, and of the other never comes to an end."""
    path = tmp_path / "s.jsonl"
    make(path)

    with pytest.raises(SessionFileError, match="it is a pipe or a device, and no file"):
        read_session(path)


def test_runs_that_are_known_are_not_parsed_and_give_the_same_session(
    tmp_path: Path,
    lines: list[str],
    records: list[RunRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write(tmp_path, "\n".join(lines) + "\n")
    plain = read_session(path)
    parsed: list[bytes] = []
    read_json = content.read_json
    monkeypatch.setattr(
        content, "read_json", lambda line: (parsed.append(line), read_json(line))[1]
    )

    known = read_session(path, known=known_of(lines, records))

    assert plain == known
    assert set() == {*parsed} & {line.encode() for line in lines[1:-1]}


def test_a_known_run_whose_line_was_changed_is_damaged_all_the_same(
    tmp_path: Path, lines: list[str], records: list[RunRecord]
) -> None:
    changed = [lines[0], lines[1].replace("correct", "wrong"), *lines[2:]]
    path = write(tmp_path, "\n".join(changed) + "\n")

    saved = read_session(path, known=known_of(lines, records))

    assert records[0].key == saved.damaged[0].run
    assert saved.doubts


def test_a_known_run_whose_line_was_written_anew_is_what_the_file_says(
    tmp_path: Path, header: SessionHeader, records: list[RunRecord], lines: list[str]
) -> None:
    other = replace(records[0], outcome=Outcome.WRONG)
    anew = [line.decode() for line in sealed_session(header, map(to_line, (other, *records[1:])))]
    path = write(tmp_path, "".join(anew))

    saved = read_session(path, known=known_of(lines, records))

    assert Outcome.WRONG is saved.records[0].outcome
