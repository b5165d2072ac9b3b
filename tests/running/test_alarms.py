"""The watchdog: what is to be done is done at its time, by a clock that the test moves."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from pytest_sopbench._running.threads import Timers

SOON = 60.0
"""Seconds of real time that a test waits at most for what is sure to come."""


class HandClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def alarms(clock: HandClock) -> Iterator[Timers]:
    alarms = Timers(clock)
    yield alarms
    alarms.stop()


def test_alarms_ring_in_the_order_of_their_times(alarms: Timers, clock: HandClock) -> None:
    rung: queue.Queue[str] = queue.Queue()
    for when, name in [(30.0, "late"), (10.0, "early"), (20.0, "middle")]:
        alarms.at(when, lambda name=name: rung.put(name))

    clock.now = 25.0
    alarms.poke()

    assert ["early", "middle"] == [rung.get(timeout=SOON) for _ in range(2)]
    assert rung.empty()


def test_what_is_due_already_is_done_at_once(alarms: Timers) -> None:
    rung: queue.Queue[str] = queue.Queue()

    alarms.at(-1.0, lambda: rung.put("now"))

    assert "now" == rung.get(timeout=SOON)


def test_a_cancelled_alarm_does_not_ring(alarms: Timers) -> None:
    rung: queue.Queue[str] = queue.Queue()
    alarms.at(5.0, lambda: rung.put("cancelled")).cancel()

    alarms._clock.now = 6.0  # type: ignore[attr-defined] # the fixture's own clock
    alarms.at(5.0, lambda: rung.put("kept"))

    assert "kept" == rung.get(timeout=SOON)
    assert rung.empty()


def test_nothing_rings_once_stopped(alarms: Timers) -> None:
    rung: queue.Queue[str] = queue.Queue()
    alarms.at(5.0, lambda: rung.put("before"))
    thread = alarms._thread

    alarms.stop()
    alarms.at(-1.0, lambda: rung.put("after"))

    assert thread is not None
    thread.join(SOON)
    assert not thread.is_alive()
    assert rung.empty()


def test_an_action_that_fails_does_not_silence_the_ones_after_it(
    alarms: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    rung: queue.Queue[str] = queue.Queue()

    def fail() -> None:
        raise ZeroDivisionError

    alarms.at(-2.0, fail)
    alarms.at(-1.0, lambda: rung.put("after"))

    assert "after" == rung.get(timeout=SOON)
    assert "could not be enforced" in caplog.text


def no_thread(_: threading.Thread) -> None:
    raise RuntimeError


def test_without_a_thread_alarms_ring_where_somebody_catches_up(
    alarms: Timers, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_sopbench._running.threads.start", no_thread)
    rung: list[str] = []
    alarms.at(20.0, lambda: rung.append("later"))
    alarms.at(10.0, lambda: rung.append("due"))

    clock.now = 15.0
    alarms.beside(lambda: rung.append("beat"))()

    assert ["beat", "due"] == rung


def test_a_thread_that_could_not_start_is_tried_again(
    alarms: Timers, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: queue.Queue[str] = queue.Queue()
    with monkeypatch.context() as patched:
        patched.setattr("pytest_sopbench._running.threads.start", no_thread)
        alarms.at(-1.0, lambda: rung.put("first"))

    alarms.at(-1.0, lambda: rung.put("second"))

    assert ["first", "second"] == [rung.get(timeout=SOON) for _ in range(2)]
