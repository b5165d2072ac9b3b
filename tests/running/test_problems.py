"""A Ctrl-C waits for what must not be left half done."""

from __future__ import annotations

import email.message
import os
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._running.importing import SlowImportError, limited_import
from pytest_sopbench._running.limits import Backoff
from pytest_sopbench._running.observing import (
    LONGEST,
    retry_after,
    watched_interrupts,
)


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_ctrl_c_is_noted_also_where_it_is_swallowed() -> None:
    with watched_interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        press_ctrl_c()

    assert interrupts.seen


def test_a_run_after_an_agent_that_set_its_own_handler_is_watched_all_the_same() -> None:
    before = signal.getsignal(signal.SIGINT)

    try:
        with watched_interrupts():
            signal.signal(signal.SIGINT, lambda *_: None)
        with watched_interrupts() as later:
            press_ctrl_c()
    finally:
        signal.signal(signal.SIGINT, before)

    assert later.seen


def test_in_a_thread_that_gets_no_signals_nothing_is_noted() -> None:
    seen: list[bool] = []

    def work() -> None:
        with watched_interrupts() as interrupts:
            seen.append(interrupts.seen)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [False] == seen


# For how long a provider asks to be left alone, and for how long it is.


class ThrottledError(Exception):
    def __init__(self, headers: Any, *, mapping: bool = False) -> None:
        super().__init__()
        self.response: Any = SimpleNamespace(headers=headers)
        if mapping:
            self.response = {"ResponseMetadata": {"HTTPHeaders": headers}}


def message(value: str) -> email.message.Message:
    headers = email.message.Message()
    headers["Retry-After"] = value
    return headers


class Hostile:
    def get(self, name: str) -> str:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(ThrottledError({"retry-after": "7"}), 7.0, id="seconds"),
        pytest.param(ThrottledError({"Retry-After": 1.5}), 1.5, id="number"),
        pytest.param(ThrottledError({"retry-after-ms": "250"}), 0.25, id="milliseconds"),
        pytest.param(ThrottledError(message("3")), 3.0, id="message"),
        pytest.param(ThrottledError({"retry-after": "4"}, mapping=True), 4.0, id="botocore"),
        pytest.param(
            ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 GMT"}), 20.0, id="date"
        ),
        pytest.param(
            ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 -0000"}), 20.0, id="naive"
        ),
        pytest.param(
            ThrottledError({"retry-after": "Fri, 31 Dec 1999 00:00:00 GMT"}), 0.0, id="past"
        ),
        pytest.param(ThrottledError({"retry-after": "-4"}), 0.0, id="negative"),
        pytest.param(ThrottledError({"retry-after": "86400"}), LONGEST, id="a-day"),
        pytest.param(ThrottledError({"retry-after": "nan"}), None, id="nan"),
        pytest.param(ThrottledError({"retry-after": "soon"}), None, id="words"),
        pytest.param(ThrottledError({"retry-after": None}), None, id="empty"),
        pytest.param(ThrottledError({}), None, id="none"),
        pytest.param(ThrottledError(Hostile()), None, id="hostile"),
        pytest.param(ValueError(), None, id="no-response"),
    ],
)
def test_the_header_is_read(error: BaseException, expected: float | None) -> None:
    asked = retry_after(error, now=lambda: datetime(2000, 1, 1, tzinfo=UTC))

    assert expected == asked


def test_the_chain_of_causes_is_followed() -> None:
    error = ValueError()
    error.__cause__ = ThrottledError({"retry-after": "5"})

    assert 5.0 == retry_after(error)


def test_a_date_is_held_against_the_clock_of_the_machine() -> None:
    error = ThrottledError({"retry-after": "Sat, 01 Jan 2000 00:00:20 GMT"})

    assert 0.0 == retry_after(error)


@given(st.integers(1, 5_000), st.floats(0, 1), st.none() | st.floats(0, 300))
def test_a_wait_is_bounded_and_never_shorter_than_asked_for(
    failed: int, drawn: float, asked: float | None
) -> None:
    backoff = Backoff(first=0.5, most=60, random=lambda: drawn)

    delay = backoff.delay(failed, asked)

    assert (asked or 0.0) <= delay <= (asked or 0.0) + 60


def test_the_bound_of_a_wait_doubles() -> None:
    backoff = Backoff(first=1, most=60, random=lambda: 1.0)

    assert [1, 2, 4, 8, 16, 32, 60, 60] == [backoff.delay(failed) for failed in range(1, 9)]


# An import that takes long is told of, and ended when its time is over.

NEVER = 300


def test_an_import_that_ends_in_time_is_not_told_of() -> None:
    lines: list[str] = []

    with limited_import("agent 'a:b'", 60.0, lines.append):
        pass

    assert [] == lines


def test_an_import_that_takes_long_is_told_of() -> None:
    told = threading.Event()
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        told.set()

    with limited_import("agent 'a:b'", None, say, patience=0.01):
        assert told.wait(60)

    assert ["sop: still importing agent 'a:b' after 0 s"] == lines


def test_an_import_that_hangs_is_ended_when_its_time_is_over() -> None:
    lines: list[str] = []
    limit = limited_import("agent 'a:b'", 0.5, lines.append)

    with pytest.raises(SlowImportError) as caught, limit:
        time.sleep(NEVER)

    assert str(caught.value).startswith(f"took longer than 0.5 s at {Path(__file__)}:")
    assert [] == lines


def test_the_user_may_interrupt_and_is_told_where() -> None:
    lines: list[str] = []
    limit = limited_import("agent 'a:b'", 60.0, lines.append)

    with pytest.raises(KeyboardInterrupt), limit:
        signal.raise_signal(signal.SIGINT)

    (line,) = lines
    assert line.startswith(f"sop: interrupted while importing agent 'a:b' at {Path(__file__)}:")


def test_without_a_thread_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def scarce(_: threading.Thread) -> None:
        raise MemoryError

    monkeypatch.setattr("threading.Thread.start", scarce)

    with limited_import("agent 'a:b'", 0.0, print):
        imported = True

    assert imported
