"""`sopbench cassettes`: what is recorded, what is wrong with it, and what nothing uses."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._replay.cassette_lines import TaskPlace, cassette_path
from pytest_sopbench._replay.cassettes import Store
from pytest_sopbench._replay.exchange import Recording, Request, Response, Shaping
from pytest_sopbench._replay.run_tape import RunTape
from tests.builders.commands import sopbench

SYSTEM = "Follow the procedure. " * 40
TASKS = ("T_01", "T_02", "T_03")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the domain `parcels` and a recording of each of its tasks."""
    folder = tmp_path / "domains" / "parcels"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Weigh the parcel.\n")
    (folder / "toolspecs.json").write_text("[]")
    keys = {"name": "parcels", "input_columns": ["parcel_id"], "output_columns": ["grade"]}
    (folder / "metadata.json").write_text(json.dumps(keys))
    rows = "".join(f"{task},light\n" for task in TASKS)
    (folder / "data.csv").write_text(f"parcel_id,grade\n{rows}")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    for task in TASKS:
        record(tmp_path / "sop_cassettes", task)
    return tmp_path / "sop_cassettes"


def record(root: Path, task: str, system: str = SYSTEM) -> None:
    body = {"model": "m-1", "messages": [{"role": "system", "content": system}, {"content": task}]}
    sent = Request(method="POST", url="http://h/v1/chat", body=json.dumps(body).encode())
    tape = RunTape("record", Recording(), Shaping())
    tape.answer(sent)
    tape.keep(sent, Response(status=200, chunks=(b'{"grade": "light"}',)))
    recording = Recording(
        exchanges=tape.taken.exchanges,
        recorded="2026-10-12T08:00:00+00:00",
        usage=Usage(input_tokens=1_200, output_tokens=30),
    )
    Store(root).keep(place(task), 1, recording, trials=1)


def without_checksum(path: Path) -> None:
    text, count = re.subn(r'"crc":"[0-9a-f]{8}",', "", path.read_text())
    assert count
    path.write_text(text)


def place(task: str) -> TaskPlace:
    return TaskPlace("mypkg:agent", "parcels", task)


cassettes = partial(sopbench, "cassettes")


def test_list_has_a_line_for_each_recording(root: Path) -> None:
    result = cassettes()

    first, *_, last = result.output.splitlines()
    assert 0 == result.exit_code
    assert first.startswith("mypkg:agent  parcels/T_01  m-1  2026-10-12  1 request  1.2k tokens")
    assert last.startswith("3 recordings, ")


def test_list_for_programs_tells_the_same(root: Path) -> None:
    listed = json.loads(cassettes("--json").output)

    assert list(TASKS) == [one["task"] for one in listed]
    assert ["m-1"] == listed[0]["trials"]["1"]["models"]


def test_list_says_what_the_last_session_has_missed(root: Path) -> None:
    sessions = root.parent / ".sop" / "sessions"
    sessions.mkdir(parents=True)
    header = {"type": "header", "options": {"replay_misses": {"messages[0].content": 327}}}
    (sessions / "last.jsonl").write_text(f"{json.dumps(header)}\n")

    assert "by runs: messages[0].content 327" in cassettes().output


def test_check_is_content_with_what_is_whole(root: Path) -> None:
    result = cassettes("check")

    assert (0, "3 recordings: whole, and of tasks of today\n") == (result.exit_code, result.output)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        pytest.param('"T_01"}]', '"T_09"}]', "trial 1: changed since it was recorded", id="body"),
        pytest.param('"light"', '"heavy"', "trial 1: changed since it was recorded", id="reply"),
        pytest.param('"light"', '"sk-' + "a1" * 10 + '"', "key of OpenAI or alike", id="secret"),
        pytest.param('"requests":1', '"requests":2', "ends before all requests", id="cut"),
        pytest.param('"requests":1', '"requests":0', "key 'requests' is missing", id="one too few"),
        pytest.param('"task":"T_01"', '"task":"T_02"', "in the place of another", id="renamed"),
    ],
)
def test_check_names_what_is_wrong(root: Path, old: str, new: str, told: str) -> None:
    path = cassette_path(root, place("T_01"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))

    result = cassettes("check")

    assert 1 == result.exit_code
    assert told in result.output
    assert "T_01.jsonl" in result.output
    assert "a1a1" not in result.output


def test_check_names_a_recording_without_a_request(root: Path) -> None:
    nothing = Recording(recorded="2026-10-12T08:00:00+00:00")
    Store(root).keep(place("T_02"), 1, nothing, trials=1)

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "T_02.jsonl: trial 1: no request in it" in result.output


def test_check_names_a_file_without_a_recording(root: Path) -> None:
    path = cassette_path(root, place("T_01"))
    path.write_text(path.read_text().splitlines()[0])

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "T_01.jsonl: no recording in it" in result.output


def test_check_asks_for_no_line_end_that_a_replay_does_not_need(root: Path) -> None:
    path = cassette_path(root, place("T_01"))
    path.write_text(path.read_text().rstrip("\n"))

    assert 0 == cassettes("check").exit_code


def test_check_names_a_recording_without_a_checksum(root: Path) -> None:
    without_checksum(cassette_path(root, place("T_01")))

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "T_01.jsonl: trial 1: changed since it was recorded" in result.output


def test_check_finds_a_changed_shared_text(root: Path) -> None:
    (text,) = root.rglob("shared/*.json")
    text.write_text(text.read_text().replace("procedure", "rules"))

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "its content was changed" in result.output


def test_check_names_tasks_without_a_recording_and_recordings_without_a_task(root: Path) -> None:
    cassette_path(root, place("T_02")).unlink()
    record(root, "T_99")

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "mypkg:agent, parcels: no recording of T_02" in result.output
    assert "the domain has no task 'T_99'" in result.output


def test_recording_of_a_variant_is_used_as_long_as_its_task_is_there(root: Path) -> None:
    record(root, "T_02/v-nosop")
    record(root, "T_09/v-nosop")

    checked, pruned = cassettes("check"), cassettes("prune")

    assert "the domain has no task 'T_09/v-nosop'" in checked.output
    assert "T_02/v-nosop" not in checked.output
    assert cassette_path(root, place("T_02/v-nosop")).exists()
    assert not cassette_path(root, place("T_09/v-nosop")).exists()
    assert "T_09" in pruned.output


def test_check_of_nothing_is_no_success(root: Path) -> None:
    for path in sorted(root.rglob("*.jsonl")):
        path.unlink()

    result = cassettes("check")

    assert 1 == result.exit_code
    assert "no recordings in" in result.output


def test_prune_removes_what_no_task_uses_and_nothing_else(root: Path) -> None:
    record(root, "T_99", "Another prompt. " * 40)
    before = {path for path in root.rglob("*") if path.is_file()}

    shown = cassettes("prune", "--dry-run").output
    after_dry_run = {path for path in root.rglob("*") if path.is_file()}
    removed = cassettes("prune").output

    gone = before - {path for path in root.rglob("*") if path.is_file()}
    assert after_dry_run == before
    assert shown.replace("would remove", "removed") == removed
    assert 2 == len(gone)
    assert {"shared", "parcels"} == {path.parent.name for path in gone}
    assert 0 == cassettes("check").exit_code
    assert "nothing is unused" in cassettes("prune").output


def test_prune_leaves_domains_that_are_not_found_alone(root: Path) -> None:
    for path in (root.parent / "domains" / "parcels").iterdir():
        path.unlink()

    assert "nothing is unused" in cassettes("prune").output
