"""Threads that agents leave behind keep no session from ending."""

from __future__ import annotations

import os
from threading import Event, Thread

import pytest

from pytest_sopbench._hooks.process import left_threads
from pytest_sopbench._hooks.process.left_threads import LeftThreads


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The statuses with which the process was left, which goes on all the same."""
    statuses: list[int] = []
    monkeypatch.setattr(os, "_exit", statuses.append)
    monkeypatch.setattr(left_threads, "_last_calls", lambda: None)
    return statuses


def events(*, goes_on: bool) -> tuple[Event, Event]:
    waits, over = Event(), Event()
    waits.set()
    if goes_on:
        over.set()
    return waits, over


def test_the_process_is_left_with_the_status_of_its_session(
    left: list[int], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bytes] = []
    monkeypatch.setattr(left_threads, "_write", lambda _, text: told.append(text))
    threads, held = LeftThreads(lambda text: text.replace("key", "***")), Event()
    threads.pytest_sessionfinish(request.session)
    thread = Thread(target=held.wait, daemon=False, name="client of key")
    thread.start()

    threads.end(*events(goes_on=False), patience=0.01)
    held.set()
    thread.join()

    assert [int(request.session.exitstatus)] == left
    assert b"threads that still run: 'client of ***'" in told[0]


def test_threads_that_end_in_time_are_waited_for(left: list[int]) -> None:
    LeftThreads(str).end(*events(goes_on=True))

    assert [] == left
