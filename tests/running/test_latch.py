"""Whoever waits goes on when it is opened, and not before."""

from __future__ import annotations

import threading

from pytest_sopbench._running.threads import OneShotEvent

SOON = 60.0


def test_a_wait_ends_without_it_being_open() -> None:
    latch = OneShotEvent()

    assert latch.wait(0.001) is False
    assert latch.is_set() is False


def test_an_open_one_lets_everybody_through_at_once() -> None:
    latch = OneShotEvent()
    latch.set()

    assert [True, True] == [latch.wait(0.0), latch.wait(0.0)]
    assert latch.is_set()


def test_opening_it_twice_changes_nothing() -> None:
    latch = OneShotEvent()

    latch.set()
    latch.set()

    assert latch.wait(0.0)


def test_all_who_wait_go_on() -> None:
    latch = OneShotEvent()
    through: list[bool] = []
    threads = [threading.Thread(target=lambda: through.append(latch.wait(SOON))) for _ in range(20)]
    for thread in threads:
        thread.start()

    latch.set()
    for thread in threads:
        thread.join(SOON)

    assert [True] * 20 == through
