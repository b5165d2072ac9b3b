"""The limit of runs in flight: laws that hold whatever a provider does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._running.engine.engine import Limit

EVENTS = st.lists(
    st.tuples(st.booleans(), st.integers(1, 300), st.floats(0, 5), st.none() | st.floats(0, 60)),
    max_size=80,
)


def after(limit: Limit, events: list[tuple[bool, int, float, float | None]]) -> Limit:
    for now, (well, in_flight, took, asked) in enumerate(events):
        limit = (
            limit.ended_well(in_flight)
            if well
            else limit.throttled(in_flight, began=now - took, now=now, retry_after=asked)
        )
    return limit


@settings(max_examples=60)
@given(EVENTS, st.integers(1, 50), st.integers(0, 50))
def test_a_limit_stays_within_its_bounds(events: list, lowest: int, span: int) -> None:
    limit = after(Limit.adaptive(lowest=lowest, highest=lowest + span), events)

    assert lowest <= limit.count <= lowest + span


@settings(max_examples=30)
@given(EVENTS, st.integers(1, 300))
def test_a_fixed_limit_learns_nothing(events: list, count: int) -> None:
    limit = Limit.fixed(count)

    assert limit == after(limit, events)
    assert count == limit.room(0, now=1e9)


@settings(max_examples=60)
@given(EVENTS, st.integers(0, 400), st.floats(-10, 200))
def test_there_is_never_room_beyond_the_limit(events: list, in_flight: int, now: float) -> None:
    limit = after(Limit.adaptive(), events)

    room = limit.room(in_flight, now)

    assert 0 <= room <= max(0, limit.count - in_flight)
    assert room == 0 or now >= limit.paused_until


def test_a_round_of_good_ends_doubles_the_limit_until_it_is_throttled() -> None:
    limit = Limit.adaptive(start=10)

    for _ in range(10):
        limit = limit.ended_well(limit.count)

    assert 20 == limit.count


def test_after_throttling_a_round_of_good_ends_adds_one() -> None:
    limit = Limit.adaptive(start=10).throttled(10, began=0, now=1)

    for _ in range(7):
        limit = limit.ended_well(limit.count)

    assert 7 == Limit.adaptive(start=10).throttled(10, began=0, now=1).count
    assert 7.9 < limit.level <= 8


def test_a_limit_that_is_not_used_up_does_not_grow() -> None:
    limit = Limit.adaptive(start=10)

    assert limit == limit.ended_well(9)


def test_a_burst_of_throttled_runs_cuts_the_limit_once() -> None:
    limit = Limit.adaptive(start=100)

    for moment in range(50):
        limit = limit.throttled(100, began=-1.0, now=float(moment))

    assert 70 == limit.count


def test_a_run_that_began_after_the_cut_cuts_again() -> None:
    limit = Limit.adaptive(start=100).throttled(100, began=0, now=1)

    assert 49 == limit.throttled(70, began=1, now=2).count


def test_what_is_cut_is_what_was_in_flight() -> None:
    assert 7 == Limit.adaptive(start=100).throttled(10, began=0, now=1).count


def test_a_provider_that_asks_to_be_left_alone_is() -> None:
    limit = Limit.adaptive(start=10).throttled(10, began=0, now=1, retry_after=30)

    later = limit.throttled(10, began=0, now=2, retry_after=5)

    assert 0 == later.room(0, now=30.9)
    assert 7 == later.room(0, now=31)


@settings(max_examples=40)
@given(st.integers(3, 80), st.integers(1, 200))
def test_the_limit_settles_near_what_the_provider_bears(capacity: int, start: int) -> None:
    """Rounds in which all that goes beyond the capacity is turned away."""
    limit = Limit.adaptive(start=start)

    for now in range(200):
        in_flight = limit.count
        for number in range(in_flight):
            if number < capacity:
                limit = limit.ended_well(in_flight)
            else:
                limit = limit.throttled(in_flight, began=now, now=now + 0.5)

    assert capacity * 0.5 <= limit.count <= capacity + 2


@pytest.mark.parametrize(
    ("lowest", "highest"),
    [pytest.param(0, 5, id="none"), pytest.param(5, 4, id="crossed")],
)
def test_bounds_without_a_run_between_them_are_refused(lowest: int, highest: int) -> None:
    with pytest.raises(ValueError, match="start no lower than 1"):
        Limit.adaptive(lowest=lowest, highest=highest)
