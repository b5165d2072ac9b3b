"""A comparer's time, less that in which the process stood still."""

from __future__ import annotations

from collections.abc import Callable

from pytest_sopbench._running.comparing import LATE, STEP, Allowance


def clock_of(*readings: float) -> Callable[[], float]:
    left = iter((0.0, *readings))
    return lambda: next(left)


def test_what_was_waited_for_is_spent() -> None:
    allowed = Allowance(0.6, clock_of(0.0, 0.5, 0.5, 0.6))

    assert STEP == allowed.step()
    allowed.waited()
    assert not allowed.is_spent
    assert 0.09 < allowed.step() < 0.11
    allowed.waited()
    assert allowed.is_spent


def test_a_step_that_is_a_little_late_counts_in_full() -> None:
    allowed = Allowance(STEP + LATE / 2, clock_of(0.0, STEP + LATE / 2))

    allowed.step()
    allowed.waited()

    assert allowed.is_spent


def test_time_in_which_the_process_stood_still_does_not_count() -> None:
    allowed = Allowance(2.0, clock_of(0.0, 60.0, 60.0))

    allowed.step()
    allowed.waited()

    assert not allowed.is_spent
    assert STEP == allowed.step()
