"""Where the event logs of a session lie: one file per run, and none outside of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._sessions.file.event_logs import TraceFolder, trace_name, traces_folder
from pytest_sopbench.errors import SessionFileError

KEY = RunKey("lab", "T_1", 1, "pkg:agent")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param(KEY, "lab/T_1@pkg%3Aagent.jsonl", id="usual"),
        pytest.param(RunKey("lab", "T_1"), "lab/T_1.jsonl", id="no agent"),
        pytest.param(RunKey("lab", "T_1", 2), "lab/T_1+2.jsonl", id="second trial"),
        pytest.param(RunKey("lab", "T_1+2"), "lab/T_1%2B2.jsonl", id="plus"),
        pytest.param(RunKey("lab", "../x"), "lab/%2E.%2Fx.jsonl", id="out of the folder"),
        pytest.param(RunKey("..", ".."), "%2E./%2E..jsonl", id="dots"),
        pytest.param(RunKey("lab", "\ud800"), "lab/%ED%A0%80.jsonl", id="half a character"),
    ],
)
def test_the_name_of_a_log(key: RunKey, name: str) -> None:
    assert name == trace_name(key)


KEYS = st.builds(
    RunKey,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300),
    st.integers(1, 9),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)


@given(key=KEYS)
def test_no_log_leaves_its_folder_and_every_disk_takes_its_name(key: RunKey) -> None:
    folder, file = trace_name(key).split("/")

    assert {folder, file}.isdisjoint({"", ".", ".."})
    assert max(len(folder), len(file)) <= 255
    assert set('\\:*?"<>|\0\n').isdisjoint(folder + file)


@given(one=KEYS, other=KEYS)
def test_two_runs_never_share_a_log(one: RunKey, other: RunKey) -> None:
    assert (one == other) is (trace_name(one) == trace_name(other))


@pytest.mark.parametrize(
    ("session", "folder"),
    [
        pytest.param("a/last.jsonl", "a/last.traces", id="a session"),
        pytest.param("a/v1.2", "a/v1.2.traces", id="a path without suffix"),
    ],
)
def test_the_folder_stands_beside_the_session(session: str, folder: str) -> None:
    assert Path(folder) == traces_folder(Path(session))


def test_the_first_log_of_a_run_is_kept(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")

    traces.write(KEY, "first\n")
    traces.write(KEY, "second\n")

    assert "first\n" == (traces.path / trace_name(KEY)).read_text()


def test_a_session_begins_without_logs(tmp_path: Path) -> None:
    TraceFolder(tmp_path / "last.jsonl").write(KEY, "old\n")

    traces = TraceFolder(tmp_path / "last.jsonl")

    assert not traces.path.exists()


def test_logs_are_kept_beside_another_session(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")
    traces.write(KEY, "log\n")

    traces.copy(tmp_path / "main.jsonl")

    assert "log\n" == (tmp_path / "main.traces" / trace_name(KEY)).read_text()
    with pytest.raises(SessionFileError, match=r"main\.traces"):
        traces.copy(tmp_path / "main.jsonl")


def test_no_logs_leave_no_folder(tmp_path: Path) -> None:
    TraceFolder(tmp_path / "last.jsonl").copy(tmp_path / "main.jsonl")

    assert [] == list(tmp_path.iterdir())


def test_what_stands_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "last.traces").write_text("a file")

    with pytest.raises(SessionFileError, match=r"last\.traces: cannot be written"):
        TraceFolder(tmp_path / "last.jsonl")


def test_a_disk_that_takes_no_log_is_told(tmp_path: Path) -> None:
    traces = TraceFolder(tmp_path / "last.jsonl")
    traces.path.write_text("a file")

    with pytest.raises(SessionFileError, match=r"T_1@pkg.*cannot be written"):
        traces.write(KEY, "log\n")
