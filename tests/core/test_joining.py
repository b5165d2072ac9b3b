"""Matches of runs with overlapping calls, against brute force over every order of both sides.

The law: `exact` accepts a list of calls exactly where it is one of the orders in which the calls
of the run may have been made, and `in_order` where it is a part of one; a group of expected calls
stands for each of its own orders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall, Trajectory
from pytest_sopbench._core.trajectory.calls import (
    ArgumentMode,
    arguments_match,
    spans,
    stands_before,
)
from pytest_sopbench._core.trajectory.match import joined, laid_out, match_trajectory

MODES: tuple[ArgumentMode, ...] = ("exact", "contains", "ignore")


@st.composite
def overlaps(draw: st.DrawFn, size: int) -> list[int]:
    return [draw(st.integers(0, min(3, size - at - 1))) for at in range(size)]


ARGUMENTS = st.dictionaries(st.sampled_from("xy"), st.integers(1, 2), max_size=2)


@st.composite
def runs(draw: st.DrawFn, most: int = 5) -> Trajectory:
    size = draw(st.integers(0, most))
    return Trajectory(
        calls=tuple(
            Call(name=draw(st.sampled_from("ab")), arguments=draw(ARGUMENTS), overlaps=one)
            for one in draw(overlaps(size))
        )
    )


@st.composite
def expectations(draw: st.DrawFn, most: int = 4) -> tuple[ExpectedCall, ...]:
    size = draw(st.integers(0, most))
    return tuple(
        ExpectedCall(
            name=draw(st.sampled_from("ab")),
            arguments=draw(st.none() | ARGUMENTS),
            overlaps=one,
        )
        for one in draw(overlaps(size))
    )


def orders(calls: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    """Every order in which the calls may have been made."""
    for order in permutations(range(len(calls))):
        place = {one: at for at, one in enumerate(order)}
        if all(
            place[a] < place[b]
            for b in range(len(calls))
            for a in range(b)
            if stands_before(calls, a, b)
        ):
            yield order


def answers(expected: ExpectedCall, call: Call, mode: ArgumentMode) -> bool:
    return expected.name == call.name and (
        expected.arguments is None or arguments_match(expected.arguments, call.arguments, mode)
    )


def brute_force(
    actual: Sequence[Call], expected: Sequence[ExpectedCall], match: str, mode: ArgumentMode
) -> bool:
    if len(expected) > len(actual) or (match == "exact" and len(expected) != len(actual)):
        return False
    wanted = [[expected[at] for at in order] for order in orders(expected)]
    return any(
        all(answers(one, two, mode) for one, two in zip(want, part, strict=True))
        for order in orders(actual)
        for part in combinations([actual[at] for at in order], len(expected))
        for want in wanted
    )


@settings(max_examples=600, deadline=None)
@given(
    actual=runs(),
    expected=expectations(),
    match=st.sampled_from(["exact", "in_order"]),
    mode=st.sampled_from(MODES),
)
def test_a_match_holds_exactly_where_one_order_of_both_sides_is_the_same(
    actual: Trajectory, expected: tuple[ExpectedCall, ...], match: Any, mode: ArgumentMode
) -> None:
    result = match_trajectory(actual, expected, match=match, arguments=mode)

    assert brute_force(actual.calls, expected, match, mode) is result.held
    assert result.held is (result.departure is None)


@settings(max_examples=300, deadline=None)
@given(actual=runs(), data=st.data())
def test_exact_accepts_every_order_of_a_run_and_no_other(
    actual: Trajectory, data: st.DataObject
) -> None:
    listed = data.draw(st.permutations(range(len(actual))))
    forms = [(f"{at}", {"call": at}) for at in listed]
    named = Trajectory(
        calls=tuple(
            Call(name=f"{at}", arguments={"call": at}, overlaps=call.overlaps)
            for at, call in enumerate(actual)
        )
    )

    assert match_trajectory(named, forms).held is (tuple(listed) in set(orders(actual.calls)))


@settings(max_examples=300, deadline=None)
@given(
    actual=runs(),
    expected=expectations(),
    match=st.sampled_from(["exact", "in_order", "any_order", "subset", "superset"]),
    mode=st.sampled_from(MODES),
)
def test_every_call_is_told_of_exactly_once(
    actual: Trajectory, expected: tuple[ExpectedCall, ...], match: Any, mode: ArgumentMode
) -> None:
    result = match_trajectory(actual, expected, match=match, arguments=mode)

    apart = (*result.pairs, *result.out_of_order, *result.unlike)
    places = [*(pair.place for pair in apart), *result.missing]
    steps = [*(pair.step for pair in apart), *result.extra]
    assert list(range(1, len(expected) + 1)) == sorted(places) == sorted(result.places)
    assert list(range(1, len(actual) + 1)) == sorted(steps) == sorted(result.steps)
    for pair in (*result.pairs, *result.out_of_order):
        assert answers(expected[pair.place - 1], actual[pair.step - 1], mode)


@settings(max_examples=400, deadline=None)
@given(actual=runs(), expected=expectations(5), whole=st.booleans())
def test_an_order_is_kept_exactly_where_brute_force_says_so(
    actual: Trajectory, expected: tuple[ExpectedCall, ...], *, whole: bool
) -> None:
    """What was expected to end before another call began did, for some pairing of the calls."""
    same = [[answers(one, two, "exact") for two in actual] for one in expected]

    found = joined(same, spans(expected), spans(actual.calls), law="kept", whole=whole)

    fits = [
        steps
        for steps in permutations(range(len(actual)), len(expected))
        if all(same[place][step] for place, step in enumerate(steps))
        and all(
            steps[a] < steps[b] and stands_before(actual.calls, steps[a], steps[b])
            for b in range(len(expected))
            for a in range(b)
            if stands_before(expected, a, b)
        )
        and not (whole and len(expected) != len(actual))
    ]
    assert bool(fits) is (found is not None)
    assert found is None or tuple(step for _, step in found) in fits


@settings(max_examples=200, deadline=None)
@given(actual=runs(), expected=expectations())
def test_both_sides_are_laid_out_in_an_order_of_theirs(
    actual: Trajectory, expected: tuple[ExpectedCall, ...]
) -> None:
    same = [[answers(one, two, "exact") for two in actual] for one in expected]

    places, steps = laid_out(same, spans(expected), spans(actual.calls))

    assert tuple(places) in set(orders(expected))
    assert tuple(steps) in set(orders(actual.calls))


# What a user sees


def together(*names: str) -> Trajectory:
    return Trajectory(
        calls=tuple(
            Call(name=name, arguments={}, overlaps=len(names) - at - 1)
            for at, name in enumerate(names)
        )
    )


@pytest.mark.parametrize("match", ["exact", "in_order"])
@pytest.mark.parametrize("listed", [["a", "b"], ["b", "a"], [["a", "b"]]])
def test_calls_that_overlap_match_in_either_order(match: Any, listed: list[Any]) -> None:
    assert match_trajectory(together("a", "b"), listed, match=match).held


def test_a_group_is_answered_by_calls_one_after_the_other_in_any_order() -> None:
    run = Trajectory(calls=tuple(Call(name=name, arguments={}) for name in "xbay"))

    assert match_trajectory(run, ["x", ["a", "b"], "y"]).held
    assert not match_trajectory(run, [["x", "a"], "b", "y"]).held


def test_a_call_that_overlaps_two_leaves_their_order() -> None:
    run = Trajectory(
        calls=tuple(
            Call(name=name, arguments={}, overlaps=count)
            for name, count in (("a", 1), ("b", 1), ("c", 0))
        )
    )

    held = ["".join(names) for names in permutations("abc") if match_trajectory(run, names).held]

    assert ["abc", "acb", "bac"] == held


def test_the_order_of_the_expected_calls_is_read_back_from_the_steps() -> None:
    result = match_trajectory(together("a", "b", "c"), ["c", "x", "a"])

    assert result.departure is not None
    assert "x was expected, b was called" == result.departure.why
    assert ((1, 2, 3),) == result.overlapping


# Cost


def many(name: Any, overlaps: Any, size: int = 100) -> Trajectory:
    return Trajectory(
        calls=tuple(
            Call(name=name(at), arguments={}, overlaps=min(overlaps(at), size - at - 1))
            for at in range(size)
        )
    )


@pytest.mark.parametrize("match", ["exact", "in_order"])
@pytest.mark.parametrize(
    ("name", "overlaps", "any_start"),
    [
        pytest.param(lambda at: f"t{at % 7}", lambda _: 100, True, id="all at once"),
        pytest.param(lambda _: "a", lambda at: at % 5, True, id="one tool in a chain"),
        pytest.param(lambda at: "ab"[at % 2], lambda at: 7 * at % 11, False, id="two tools"),
        pytest.param(lambda at: f"t{at}", lambda _: 3, False, id="a hundred tools"),
    ],
)
def test_a_hundred_overlapping_calls_are_settled(
    match: Any, name: Any, overlaps: Any, *, any_start: bool
) -> None:
    """Whoever tried every order would never come back."""
    run = many(name, overlaps)
    turned = [*reversed(run.names[:10]), *run.names[10:]]

    assert match_trajectory(run, run.names, match=match).held
    assert match_trajectory(run, turned, match=match).held is any_start
    assert not match_trajectory(run, [*run.names, name(0)], match=match).held
    assert match_trajectory(run, run.names[:99], match=match).held is (match == "in_order")
