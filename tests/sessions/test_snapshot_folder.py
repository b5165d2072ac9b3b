"""Snapshots on disk: written whole, refused where damaged, and never lost by accident."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from pytest_sopbench import Call, Trajectory
from pytest_sopbench._core.trajectory.snapshot import Snapshot, snapshot_text
from pytest_sopbench._sessions.snapshots import ApprovalEntry, SnapshotFolder, shown_task
from pytest_sopbench.errors import SnapshotFileError

SNAPSHOT = Snapshot(task="a/1", approved=(Trajectory(calls=(Call(name="é", arguments={}),)),))
APPROVAL = ApprovalEntry(
    task="a/1", date="2026-01-31", reason="é", agent="m:a", session="last", commit="", snapshot="0"
)


@pytest.fixture
def folder(tmp_path: Path) -> SnapshotFolder:
    return SnapshotFolder(tmp_path / "snaps")


def test_what_is_written_is_read(folder: SnapshotFolder) -> None:
    folder.write("lab", "a/1", snapshot_text(SNAPSHOT))

    assert SNAPSHOT == folder.read("lab", "a/1")
    assert ["a%2F1.json"] == [path.name for path in (folder.path / "lab").iterdir()]


def test_a_task_that_was_never_approved_has_none(folder: SnapshotFolder) -> None:
    assert folder.read("lab", "a/1") is None
    assert () == folder.domains()
    assert () == folder.leftovers("lab", ["a/1"])
    assert () == folder.approvals("lab")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"{", "no snapshot: not JSON", id="damaged"),
        pytest.param(b"\xff", "cannot be read", id="no text"),
        pytest.param(b'{"task": "b", "calls": []}', 'of task "b"', id="of another task"),
    ],
)
def test_what_is_no_snapshot_of_the_task_is_refused(
    folder: SnapshotFolder, content: bytes, why: str
) -> None:
    path = folder.file("lab", "a/1")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    with pytest.raises(SnapshotFileError, match=why):
        folder.read("lab", "a/1")


def test_leftovers_are_the_snapshots_of_no_task(folder: SnapshotFolder) -> None:
    for task in ("a/1", "b", "c"):
        folder.write("lab", task, "{}")
    folder.record("lab", APPROVAL)

    found = folder.leftovers("lab", ["b", "d"])

    assert ["a/1", "c"] == [shown_task(path) for path in found]
    assert ("lab",) == folder.domains()


def test_reasons_are_kept_in_the_order_of_time(folder: SnapshotFolder) -> None:
    folder.write("lab", "a/1", "{}")
    folder.record("lab", APPROVAL)
    folder.record("lab", APPROVAL)

    assert (APPROVAL, APPROVAL) == folder.approvals("lab")


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x0c", "\x1e", "\r", "\n"])
def test_a_reason_may_have_any_sign_in_it(folder: SnapshotFolder, sign: str) -> None:
    approval = replace(APPROVAL, task=f"a{sign}1", reason=f"the{sign}reason")
    folder.write("lab", "a/1", "{}")

    folder.record("lab", approval)
    folder.record("lab", APPROVAL)

    assert (approval, APPROVAL) == folder.approvals("lab")


def test_a_reason_that_was_written_with_another_line_end_in_it_is_read(
    folder: SnapshotFolder,
) -> None:
    approval = replace(APPROVAL, reason="the\u2028\x85reason")
    folder.write("lab", "a/1", "{}")
    line = json.dumps(asdict(approval), ensure_ascii=False)

    (folder.path / "lab" / "approvals.jsonl").write_text(f"{line}\n", "utf-8")

    assert (approval,) == folder.approvals("lab")


@pytest.mark.parametrize(
    "line", [pytest.param("{", id="damaged"), pytest.param('{"task": "a"}', id="keys are missing")]
)
def test_a_reason_that_cannot_be_read_is_told_by_its_line(
    folder: SnapshotFolder, line: str
) -> None:
    folder.write("lab", "a/1", "{}")
    folder.record("lab", APPROVAL)
    with (folder.path / "lab" / "approvals.jsonl").open("a") as file:
        file.write(line)

    with pytest.raises(SnapshotFileError, match=r"approvals\.jsonl, line 2: no approval"):
        folder.approvals("lab")


def test_a_disk_that_refuses_is_told(folder: SnapshotFolder) -> None:
    folder.path.write_text("a file in the way")

    with pytest.raises(SnapshotFileError, match="cannot be written"):
        folder.write("lab", "a/1", "{}")
    with pytest.raises(SnapshotFileError, match="cannot be written"):
        folder.record("lab", APPROVAL)


def test_a_write_that_fails_leaves_the_old_snapshot(
    folder: SnapshotFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("lab", "b", "old")

    def refuse(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "replace", refuse)

    with pytest.raises(SnapshotFileError):
        folder.write("lab", "b", "new")
    assert ["b.json"] == [path.name for path in (folder.path / "lab").iterdir()]
    assert "old" == folder.file("lab", "b").read_text()
