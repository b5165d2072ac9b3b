"""The timers: what is to be done is done at its time, by a clock that the test moves."""

from __future__ import annotations

import queue
import threading
import time
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
def timers(clock: HandClock) -> Iterator[Timers]:
    timers = Timers(clock, lambda: None)
    timers.start()
    yield timers
    timers.stop()


def test_what_is_due_is_done_in_the_order_of_its_times(timers: Timers, clock: HandClock) -> None:
    done: queue.Queue[str] = queue.Queue()
    for when, name in [(30.0, "late"), (10.0, "early"), (20.0, "middle")]:
        timers.at(when, lambda name=name: done.put(name))

    clock.now = 25.0

    assert ["early", "middle"] == [done.get(timeout=SOON) for _ in range(2)]
    assert done.empty()


def test_what_is_due_already_is_done_at_once(timers: Timers) -> None:
    done: queue.Queue[str] = queue.Queue()

    timers.at(-1.0, lambda: done.put("now"))

    assert "now" == done.get(timeout=SOON)


def test_it_beats_from_the_start_on_and_a_beat_that_fails_does_not_end_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    beats = threading.Semaphore(0)

    def beat() -> None:
        beats.release()
        raise ZeroDivisionError

    timers = Timers(time.perf_counter, beat)
    timers.start()
    timers.start()

    assert all(beats.acquire(timeout=SOON) for _ in range(2))
    assert "could not be enforced" in caplog.text
    timers.stop()


def test_nothing_is_done_once_stopped(timers: Timers) -> None:
    done: queue.Queue[str] = queue.Queue()
    timers.at(5.0, lambda: done.put("before"))
    thread = timers._thread

    timers.stop()
    timers.at(-1.0, lambda: done.put("after"))

    assert thread is not None
    thread.join(SOON)
    assert not thread.is_alive()
    assert done.empty()


def test_an_action_that_fails_does_not_silence_the_ones_after_it(
    timers: Timers, caplog: pytest.LogCaptureFixture
) -> None:
    done: queue.Queue[str] = queue.Queue()

    def fail() -> None:
        raise ZeroDivisionError

    timers.at(-2.0, fail)
    timers.at(-1.0, lambda: done.put("after"))

    assert "after" == done.get(timeout=SOON)
    assert "could not be enforced" in caplog.text
