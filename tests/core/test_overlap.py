"""The order of calls in time, against intervals that are compared two by two."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trajectory import Call
from pytest_sopbench._core.trajectory.calls import (
    Span,
    ended_before,
    groups,
    is_sequence,
    overlaps_of,
    spans,
    stands_before,
)

Interval = tuple[int, int]

INTERVALS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends))),
    max_size=6,
).map(sorted)
"""When calls began and ended. Of what happens at one moment, beginnings come first."""


def calls(intervals: list[Interval]) -> list[Call]:
    return [
        Call(
            name=str(at),
            arguments={},
            overlaps=sum(began <= ended for began, _ in intervals[at + 1 :]),
        )
        for at, (_, ended) in enumerate(intervals)
    ]


def made(*overlaps: int) -> list[Call]:
    return [Call(name="a", arguments={}, overlaps=one) for one in overlaps]


@given(INTERVALS)
def test_one_number_for_each_call_tells_the_whole_order(intervals: list[Interval]) -> None:
    listed = calls(intervals)

    for later, (began, _) in enumerate(intervals):
        before = [at for at, (_, ended) in enumerate(intervals) if ended < began]
        assert before == list(ended_before(listed, later))
        assert all(stands_before(listed, one, later) for one in before)


@given(INTERVALS)
def test_spans_tell_the_same_order(intervals: list[Interval]) -> None:
    found = spans(calls(intervals))

    for one, (_, ended) in zip(found, intervals, strict=True):
        for other, (began, _) in zip(found, intervals, strict=True):
            assert (ended < began) is (one.last < other.first)


@given(INTERVALS)
def test_equal_orders_have_equal_spans(intervals: list[Interval]) -> None:
    """Three times as slow, and what began at one moment in another order: nothing changes."""
    slower = [(3 * began, 3 * ended + 1) for began, ended in intervals]
    other = [slower[at] for at in sorted(range(len(slower)), key=lambda at: (slower[at][0], -at))]

    assert sorted(spans(calls(intervals))) == sorted(spans(calls(other)))


@given(INTERVALS)
def test_spans_give_the_overlaps_back(intervals: list[Interval]) -> None:
    listed = calls(intervals)

    assert tuple(call.overlaps for call in listed) == overlaps_of(spans(listed))


@given(INTERVALS)
def test_groups_are_what_hangs_together(intervals: list[Interval]) -> None:
    listed = calls(intervals)

    found = groups(listed)

    assert list(range(len(listed))) == [at for group in found for at in group]
    for one, other in pairwise(found):
        assert all(stands_before(listed, a, b) for a in one for b in other)
    for group in found:
        for cut in range(group.start + 1, group.stop):
            assert not all(
                stands_before(listed, a, b)
                for a in range(group.start, cut)
                for b in range(cut, group.stop)
            )


@pytest.mark.parametrize(
    ("overlaps", "expected"),
    [
        pytest.param((), (), id="none"),
        pytest.param((0, 0), (Span(0, 0), Span(1, 1)), id="one after the other"),
        pytest.param((1, 0), (Span(0, 0), Span(0, 0)), id="together"),
        pytest.param((2, 0, 0), (Span(0, 1), Span(0, 0), Span(1, 1)), id="one over two"),
        pytest.param((1, 1, 0), (Span(0, 0), Span(0, 1), Span(1, 1)), id="a chain"),
    ],
)
def test_spans_are_the_fewest_moments(
    overlaps: tuple[int, ...], expected: tuple[Span, ...]
) -> None:
    assert expected == spans(made(*overlaps))


def test_only_calls_that_overlap_are_no_sequence() -> None:
    assert is_sequence(made(0, 0))
    assert not is_sequence(made(1, 0))
