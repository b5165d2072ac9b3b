"""An import that takes long is told of, and ended when its time is over."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from pytest_sopbench._running.importing import ImportLimit, SlowImportError

NEVER = 300


def test_an_import_that_ends_in_time_is_not_told_of() -> None:
    lines: list[str] = []

    with ImportLimit(60.0, lines.append).watching("agent 'a:b'"):
        pass

    assert [] == lines


def test_an_import_that_takes_long_is_told_of() -> None:
    told = threading.Event()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        told.set()

    with ImportLimit(None, say, patience=0.01).watching("agent 'a:b'"):
        assert told.wait(60)

    assert ["sop: still importing agent 'a:b' after 0 s"] == lines


def test_an_import_that_hangs_is_ended_when_its_time_is_over() -> None:
    lines: list[str] = []
    limit = ImportLimit(0.05, lines.append)

    with pytest.raises(SlowImportError) as caught, limit.watching("agent 'a:b'"):
        time.sleep(NEVER)

    assert str(caught.value).startswith(f"took longer than 0.1 s at {Path(__file__)}:")
    assert [] == lines


def test_the_user_may_interrupt_and_is_told_where() -> None:
    lines: list[str] = []
    limit = ImportLimit(60.0, lines.append)

    with pytest.raises(KeyboardInterrupt), limit.watching("agent 'a:b'"):
        signal.raise_signal(signal.SIGINT)

    (line,) = lines
    assert line.startswith(f"sop: interrupted while importing agent 'a:b' at {Path(__file__)}:")


def test_without_a_thread_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def scarce(_: threading.Thread) -> None:
        raise MemoryError

    monkeypatch.setattr("pytest_sopbench._running.importing.start", scarce)

    with ImportLimit(0.0, print).watching("agent 'a:b'"):
        imported = True

    assert imported
