"""A mark tells a session that is running from one whose process is gone."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pytest_sopbench._sessions.folder.mark import (
    UNKNOWN,
    Mark,
    claim,
    is_running,
    mark_path,
    owner_of,
    refuse_running,
)
from pytest_sopbench.errors import SessionFileError

HOLD = """
import os, sys
from pathlib import Path
from pytest_sopbench._sessions.folder.mark import Mark
mark = Mark(Path(sys.argv[1]))
{more}
print("marked", flush=True)
sys.stdin.read()
"""
FORKS = """
there, here = os.pipe()
if not os.fork():
    # By now all has happened that happens at a fork.
    os.write(here, b"x")
    os.close(0), os.close(1)
    import time
    time.sleep(600)
os.read(there, 1)
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / "one.jsonl"


@contextmanager
def holder(session: Path, more: str = "") -> Generator[subprocess.Popen[str]]:
    """Another process that has marked a session."""
    command = [sys.executable, "-c", HOLD.format(more=more), str(session)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_a_marked_session_is_running(session: Path) -> None:
    mark = Mark(session)

    assert is_running(session)
    assert os.getpid() == owner_of(session).process
    mark.leave()


def test_an_honest_end_leaves_no_mark(session: Path) -> None:
    Mark(session).take_off()

    assert not is_running(session)
    assert [] == list(session.parent.iterdir())


def test_a_session_without_a_mark_is_not_running(session: Path) -> None:
    assert not is_running(session)
    assert UNKNOWN == owner_of(session)


def test_a_session_of_another_process_is_refused_and_the_process_named(session: Path) -> None:
    with holder(session) as process, pytest.raises(SessionFileError) as raised:
        claim(session)

    assert f"still running (process {process.pid} on " in str(raised.value)


def test_a_process_that_was_killed_leaves_a_mark_that_does_not_block(session: Path) -> None:
    with holder(session) as process:
        process.kill()
        process.wait()

        assert mark_path(session).exists()
        assert not is_running(session)
        refuse_running(session)
        mark = claim(session)

    assert mark is not None
    assert os.getpid() == owner_of(session).process
    mark.take_off()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_child_that_outlives_its_session_does_not_keep_it_running(session: Path) -> None:
    with holder(session, more=FORKS) as process:
        process.kill()
        process.wait()

        assert not is_running(session)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
def test_a_forked_child_does_not_take_off_the_mark(session: Path) -> None:
    mark = Mark(session)

    child = os.fork()
    if not child:
        mark.take_off()
        os._exit(0)
    os.waitpid(child, 0)

    assert is_running(session)
    mark.take_off()


def test_two_that_look_at_once_do_not_see_each_other(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Mark(session).leave()
    seen: list[bool] = []

    def look(path: Path) -> object:
        monkeypatch.undo()
        seen.append(is_running(path))
        return UNKNOWN

    monkeypatch.setattr("pytest_sopbench._sessions.folder.mark.owner_of", look)

    assert not is_running(session)
    assert [False] == seen


@pytest.mark.parametrize("was_there", [False, True], ids=["of nobody", "of a dead process"])
def test_what_is_given_back_is_as_it_was(session: Path, was_there: bool) -> None:
    if was_there:
        Mark(session).leave()

    Mark(session).give_back()

    assert was_there == mark_path(session).exists()
    assert not is_running(session)


def test_a_mark_that_a_full_disk_cut_short_is_none(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)

    with pytest.raises(SessionFileError, match="No space left on device"):
        Mark(session)
    assert not mark_path(session).exists()


def test_a_folder_that_takes_no_mark_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SessionFileError, match="cannot be written"):
        Mark(tmp_path / "file" / "one.jsonl")
