"""Matching against brute force: every law is checked on all the ways to pair small lists.

The named cases at the top are failures of other tools, which must not be ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Call, ExpectedCall, Trajectory, TrajectoryMatch, match_trajectory
from pytest_sopbench._core.trajectory.calls import ArgumentMode, arguments_match, expected_calls
from pytest_sopbench._core.trajectory.match import MatchedPair, MatchMode, assigned

MATCHES: tuple[MatchMode, ...] = get_args(MatchMode)
CountSteps = Callable[[Callable[[], object]], int]
MODES: tuple[ArgumentMode, ...] = get_args(ArgumentMode)


def made(*forms: Any) -> Trajectory:
    return Trajectory(
        calls=tuple(
            Call(name=form, arguments={})
            if isinstance(form, str)
            else Call(name=form[0], arguments=form[1])
            for form in forms
        )
    )


# Failures of others


@pytest.mark.parametrize("match", ["any_order", "superset"])
def test_a_valid_superset_is_found_where_first_come_first_served_fails(match: MatchMode) -> None:
    full, short = {"id": 1, "full": True}, {"id": 1}
    actual = made(("get", full), ("get", short))

    result = match_trajectory(
        actual, [("get", short), ("get", full)], match=match, arguments="contains"
    )

    assert result.held


def test_a_maximum_matching_is_found_where_no_arguments_are_equal() -> None:
    actual = made(("get", {"a": 1, "b": 1, "x": 1}), ("get", {"a": 1, "x": 1}))

    result = match_trajectory(
        actual, [("get", {"a": 1}), ("get", {"b": 1})], match="any_order", arguments="contains"
    )

    assert (MatchedPair(place=1, step=2), MatchedPair(place=2, step=1)) == result.pairs


@pytest.mark.parametrize("match", ["exact", "any_order", "subset"])
def test_forbidden_extra_calls_count(match: MatchMode) -> None:
    result = match_trajectory(made("a", "delete_all", "wire_money"), ["a"], match=match)

    assert not result.held
    assert (2, 3) == result.extra


@pytest.mark.parametrize("match", MATCHES)
def test_correct_repeated_calls_match(match: MatchMode) -> None:
    assert match_trajectory(made("a", "a"), ["a", "a"], match=match).held


@pytest.mark.parametrize("match", ["exact", "any_order", "subset"])
def test_a_call_made_twice_and_expected_once_is_extra(match: MatchMode) -> None:
    result = match_trajectory(made("transfer", "transfer"), ["transfer"], match=match)

    assert not result.held
    assert (2,) == result.extra


@pytest.mark.parametrize("match", ["exact", "in_order", "any_order", "superset"])
def test_a_call_made_once_and_expected_twice_is_missing(match: MatchMode) -> None:
    result = match_trajectory(made("a"), ["a", "a"], match=match)

    assert not result.held
    assert (2,) == result.missing


@pytest.mark.parametrize("match", ["exact", "in_order", "any_order", "superset"])
def test_zero_calls_are_said_aloud(match: MatchMode) -> None:
    result = match_trajectory(made(), ["a"], match=match)

    assert not result.held
    assert result.departure is not None
    assert "no tool was called; a was expected" == result.departure.why


# The definitions


@pytest.mark.parametrize(
    ("actual", "expected", "holds"),
    [
        pytest.param("ab", "ab", set(MATCHES), id="the same"),
        pytest.param("ba", "ab", {"any_order", "subset", "superset"}, id="other order"),
        pytest.param("axb", "ab", {"in_order", "superset"}, id="one more between"),
        pytest.param("bxa", "ab", {"superset"}, id="one more and another order"),
        pytest.param("a", "ab", {"subset"}, id="one fewer"),
        pytest.param("", "ab", {"subset"}, id="none"),
        pytest.param("ax", "ab", set(), id="one fewer and another"),
        pytest.param("", "", set(MATCHES), id="both empty"),
    ],
)
def test_the_table_of_matches(actual: str, expected: str, holds: set[str]) -> None:
    held = {
        m
        for m in MATCHES
        if match_trajectory(made(*actual), expected_calls(list(expected)), match=m).held
    }

    assert holds == held


def test_the_strictest_words_are_the_defaults() -> None:
    result = match_trajectory(made(("a", {"x": 1})), [("a", {})])

    assert ("exact", "exact", False) == (result.match, result.arguments, result.held)


def test_a_bare_name_asks_nothing_of_the_arguments() -> None:
    assert match_trajectory(made(("a", "junk")), ["a"]).held


def test_a_call_that_asks_for_arguments_is_served_before_one_that_does_not() -> None:
    actual = made(("a", {"x": 1}), ("a", {"x": 2}))

    assert match_trajectory(actual, ["a", ("a", {"x": 1})], match="any_order").held


def test_a_tool_may_have_its_own_argument_mode() -> None:
    actual = made(("a", {"x": 1}), ("b", {"y": 1}))
    expected = [("a", {"x": 1}), ("b", {"y": 2})]

    assert match_trajectory(actual, expected, per_tool={"b": "ignore"}).held
    assert not match_trajectory(actual, expected, per_tool={"a": "ignore"}).held


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            {"match": "strict"}, "match='strict' is unknown; choose one of exact", id="match"
        ),
        pytest.param({"arguments": "some"}, "arguments='some' is unknown", id="arguments"),
        pytest.param({"per_tool": {"a": "some"}}, "a='some' is unknown", id="per tool"),
    ],
)
def test_an_unknown_word_is_refused_with_the_known_ones(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match_trajectory(made(), [], **options)


# The explanation


@pytest.mark.parametrize(
    ("match", "actual", "expected", "step", "why"),
    [
        pytest.param(
            "exact", ["a", "c"], ["a", "b", "c"], 2, "b was expected, c was called", id="left out"
        ),
        pytest.param(
            "exact", ["a", "b"], ["a"], 2, "no further call was expected, b was called",
            id="one more"
        ),
        pytest.param(
            "exact", ["a"], ["a", "b"], 2, "b was expected, the run ended after 1 call",
            id="too few"
        ),
        pytest.param(
            "exact", ["b", "a"], ["a", "b"], 1, "a was expected, b was called", id="swapped"
        ),
        pytest.param(
            "exact", [("a", {"x": 1})], [("a", {"x": 2})], 1,
            "a was called with other arguments than expected", id="arguments",
        ),
        pytest.param(
            "in_order", ["x", "b", "a"], ["a", "b"], 4,
            "b (its call came at step 2) was expected, the run ended after 3 calls",
            id="swapped late",
        ),
        pytest.param(
            "in_order", ["b", "c", "a"], ["a", "b", "c"], 1,
            "a (its call came at step 3) was expected, b was called", id="in order, made too late",
        ),
        pytest.param(
            "in_order", ["c", ("a", {"x": 1})], [("a", {"x": 2})], 1,
            "a (its call, with other arguments, came at step 2) was expected, c was called",
            id="in order, other arguments later",
        ),
        pytest.param(
            "any_order", ["b", "x"], ["a", "b"], 2, "a was expected, x was called", id="any order"
        ),
        pytest.param(
            "any_order", ["b"], ["a", "b"], 2, "a was expected, the run ended after 1 call",
            id="any order, missing",
        ),
        pytest.param(
            "subset", ["x"], ["a"], 1, "no further call was expected, x was called", id="subset"
        ),
        pytest.param(
            "superset", ["x", ("a", {"x": 1})], [("a", {"x": 2})], 2,
            "a was called with other arguments than expected", id="superset, arguments",
        ),
        pytest.param(
            "superset", ["x", "y"], ["a"], 3, "a was expected, the run ended after 2 calls",
            id="superset, missing",
        ),
    ],
)  # fmt: skip
def test_the_first_departure_is_named(
    match: MatchMode, actual: list[Any], expected: list[Any], step: int, why: str
) -> None:
    departure = match_trajectory(made(*actual), expected, match=match).departure

    assert departure is not None
    assert (step, why) == (departure.step, departure.why)


def test_a_departure_tells_the_arguments_that_differ() -> None:
    result = match_trajectory(made(("a", {"x": {"y": 1}})), [("a", {"x": {"y": 2}})])

    assert result.departure is not None
    assert ["x.y"] == [one.field for one in result.departure.differences]
    assert ["x.y"] == [one.field for one in result.unlike[0].differences]


def test_a_call_made_elsewhere_is_out_of_order_and_not_missing() -> None:
    result = match_trajectory(made("b", "c", "a"), ["a", "b", "c"])

    assert (MatchedPair(place=1, step=3),) == result.out_of_order
    assert ((), ()) == (result.missing, result.extra)


# Laws

CALLS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.dictionaries(st.sampled_from("xy"), st.integers(1, 2), max_size=2),
    ),
    max_size=5,
)
EXPECTED = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.none() | st.dictionaries(st.sampled_from("xy"), st.integers(1, 2), max_size=2),
    ),
    max_size=5,
)


def answers(expected: ExpectedCall, call: Call, mode: ArgumentMode) -> bool:
    return expected.name == call.name and (
        expected.arguments is None or arguments_match(expected.arguments, call.arguments, mode)
    )


def most_pairs(expected: Sequence[ExpectedCall], calls: Sequence[Call], mode: ArgumentMode) -> int:
    if len(expected) > len(calls):
        return max(most_pairs(part, calls, mode) for part in combinations(expected, len(calls)))
    return max(
        sum(answers(one, other, mode) for one, other in zip(expected, order, strict=False))
        for order in permutations(calls, len(expected))
    )


def most_in_order(
    expected: Sequence[ExpectedCall], calls: Sequence[Call], mode: ArgumentMode
) -> int:
    return max(
        size
        for size in range(min(len(expected), len(calls)) + 1)
        for part in combinations(expected, size)
        for other in combinations(calls, size)
        if all(answers(one, two, mode) for one, two in zip(part, other, strict=True))
    )


def brute_force(
    expected: Sequence[ExpectedCall], calls: Sequence[Call], match: MatchMode, mode: ArgumentMode
) -> bool:
    n, m = len(expected), len(calls)
    match match:
        case "exact":
            return n == m == most_in_order(expected, calls, mode)
        case "in_order":
            return n == most_in_order(expected, calls, mode)
        case "any_order":
            return n == m == most_pairs(expected, calls, mode)
        case "subset":
            return m == most_pairs(expected, calls, mode)
        case "superset":
            return n == most_pairs(expected, calls, mode)


@settings(max_examples=150, deadline=None)
@given(calls=CALLS, expected=EXPECTED, match=st.sampled_from(MATCHES), mode=st.sampled_from(MODES))
def test_a_match_holds_exactly_when_brute_force_says_so(
    calls: Any, expected: Any, match: MatchMode, mode: ArgumentMode
) -> None:
    actual = made(*calls)

    result = match_trajectory(actual, expected, match=match, arguments=mode)

    wanted = expected_calls(expected)
    size = most_in_order if match in {"exact", "in_order"} else most_pairs
    assert brute_force(wanted, actual.calls, match, mode) is result.held
    assert size(wanted, actual.calls, mode) == len(result.pairs)
    assert result.held is (result.departure is None)


@settings(max_examples=100, deadline=None)
@given(calls=CALLS, expected=EXPECTED, match=st.sampled_from(MATCHES), mode=st.sampled_from(MODES))
def test_every_call_is_told_of_exactly_once(
    calls: Any, expected: Any, match: MatchMode, mode: ArgumentMode
) -> None:
    actual, wanted = made(*calls), expected_calls(expected)

    result = match_trajectory(actual, expected, match=match, arguments=mode)

    places, steps = positions(result)
    assert list(range(1, len(wanted) + 1)) == places
    assert list(range(1, len(actual) + 1)) == steps
    for pair in (*result.pairs, *result.out_of_order):
        assert answers(wanted[pair.place - 1], actual[pair.step - 1], mode)
    assert all(pair.differences for pair in result.unlike)


def positions(result: TrajectoryMatch) -> tuple[list[int], list[int]]:
    together = (*result.pairs, *result.out_of_order, *result.unlike)
    return (
        sorted([*(pair.place for pair in together), *result.missing]),
        sorted([*(pair.step for pair in together), *result.extra]),
    )


@settings(max_examples=60)
@given(calls=CALLS, match=st.sampled_from(MATCHES), mode=st.sampled_from(MODES))
def test_a_trajectory_matches_itself(calls: Any, match: MatchMode, mode: ArgumentMode) -> None:
    assert match_trajectory(made(*calls), calls, match=match, arguments=mode).held


# Cost


@pytest.mark.parametrize("match", MATCHES)
def test_matching_twice_the_calls_takes_at_most_eight_times_the_steps(
    match: MatchMode, count_steps: CountSteps
) -> None:
    """Pairs are compared all with all, and a matching of them is at most a cube."""

    def matching(size: int) -> Callable[[], object]:
        calls = [("get", {"id": step % 7, "page": step}) for step in range(size)]
        expected = [("get", {"id": step % 5}) for step in range(size)]
        actual = made(*calls)
        return lambda: match_trajectory(actual, expected, match=match, arguments="contains")

    steps = [count_steps(matching(size)) for size in (30, 60)]

    assert steps[1] <= 8 * steps[0]


# An assignment gives a step to as many places as any does; held against all there are.

CHOICES = st.dictionaries(
    st.integers(0, 6), st.lists(st.integers(0, 6), unique=True, max_size=7), max_size=6
)
LONG = 20_000


def most(choices: Mapping[int, Sequence[int]], used: frozenset[int] = frozenset()) -> int:
    """Try every assignment; return how many places the best of them serves."""
    if not choices:
        return 0
    place, *others = choices
    rest = {other: choices[other] for other in others}
    served = [1 + most(rest, used | {step}) for step in choices[place] if step not in used]
    return max([most(rest, used), *served])


@given(choices=CHOICES)
def test_no_assignment_serves_more_places(choices: dict[int, list[int]]) -> None:
    assert most(choices) == len(assigned(choices))


@given(choices=CHOICES)
def test_a_place_has_a_step_of_its_choice_and_no_two_have_the_same(
    choices: dict[int, list[int]],
) -> None:
    found = assigned(choices)

    assert all(step in choices[place] for place, step in found.items())
    assert len(found) == len({*found.values()})


@given(choices=CHOICES)
def test_a_place_that_could_be_served_before_others_came_is_served(
    choices: dict[int, list[int]],
) -> None:
    *before, _ = [*choices, 0]
    earlier = assigned({place: choices[place] for place in before if place in choices})

    assert earlier.keys() <= assigned(choices).keys()


def test_places_are_named_in_their_order() -> None:
    assert [2, 1] == list(assigned({2: [5], 0: [5], 1: [6]}))


def test_a_path_through_all_places_is_not_too_deep() -> None:
    """The last place wants what the first one has, and each of the others moves on by one."""
    choices = {place: [place, place + 1] for place in range(LONG)} | {LONG: [0]}

    found = assigned(choices)

    assert {**{place: place + 1 for place in range(LONG)}, LONG: 0} == found


def test_places_in_vain_do_not_search_the_same_steps_again(
    count_steps: Callable[[Callable[[], object]], int],
) -> None:
    """Twice the places with half as many steps: each look costs a row, and no row is read again."""

    def crowded(size: int) -> Callable[[], object]:
        choices = {place: [*range(size // 2)] for place in range(size)}
        return lambda: assigned(choices)

    few, many = count_steps(crowded(40)), count_steps(crowded(80))

    assert many <= 5 * few
