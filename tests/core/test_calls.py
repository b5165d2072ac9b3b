"""What a test may demand of a call, on small runs: when it is met, and what is said if not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Call, ExpectedCall, ToolCall, Trace, Trajectory, match_trajectory
from pytest_sopbench._core.model.trace import NOT_ENDED, Ending
from pytest_sopbench._core.trajectory.calls import (
    ArgumentMode,
    CallDemand,
    Span,
    argument_differences,
    arguments_match,
    ended_before,
    expected_calls,
    groups,
    is_sequence,
    overlaps_of,
    spans,
    stands_before,
    trajectory_of,
    unmet_call,
    unneeded_calls,
    unwanted_call,
)
from pytest_sopbench._core.trajectory.match import joined, laid_out
from pytest_sopbench._core.values.json import same_json


def calls(text: str) -> list[ToolCall]:
    """`a b!`: a call of `a` that succeeded, then one of `b` that failed; arguments count up.

    `a& b`: a call of `a` that had not ended when that of `b` began. `a?`: one of `a` that had not
    ended when the run did.
    """
    errors = {"!": "no record", "?": NOT_ENDED}
    return [
        ToolCall(
            name=word.rstrip("!&?"),
            arguments={"n": step},
            error=next((errors[sign] for sign in errors if sign in word), None),
            overlaps=word.count("&"),
        )
        for step, word in enumerate(text.split(), start=1)
    ]


@pytest.mark.parametrize(
    ("made", "demand"),
    [
        pytest.param("a", {}, id="called"),
        pytest.param("a!", {}, id="called in vain"),
        pytest.param("a! a", {"succeeded": True}, id="with success"),
        pytest.param("a a!", {"succeeded": False}, id="failed once"),
        pytest.param("a b a", {"times": 2}, id="twice"),
        pytest.param("b", {"times": 0}, id="no times"),
        pytest.param("a b", {"before": ("b",)}, id="before"),
        pytest.param("a! a b b", {"before": ("b",)}, id="before, at the second try"),
        pytest.param("a! b", {"before": ("b",), "succeeded": False}, id="in vain before"),
        pytest.param("a b c", {"before": ("c", "b")}, id="before both"),
        pytest.param("b a", {"after": ("b",)}, id="after"),
        pytest.param("b! b a a", {"after": ("b",)}, id="after, at the second try"),
        pytest.param("a a& b", {"before": ("b",)}, id="before, a second one in flight"),
        pytest.param("a& c b", {"before": ("b",)}, id="before, ended meanwhile"),
        pytest.param("b& c a", {"after": ("b",)}, id="after, ended meanwhile"),
        pytest.param("b a", {"arguments": {"n": 2}}, id="with an argument"),
        pytest.param("a a", {"arguments": {"n": 2}, "times": 1}, id="once with an argument"),
    ],
)
def test_a_demand_that_is_met(made: str, demand: dict[str, Any]) -> None:
    assert None is unmet_call(CallDemand(name="a", **demand), calls(made))


@pytest.mark.parametrize(
    ("made", "demand", "why"),
    [
        pytest.param("", {}, "no tool was called", id="zero calls"),
        pytest.param("", {"times": 1}, "no tool was called", id="zero calls, once"),
        pytest.param("b", {}, "a was never called", id="another tool"),
        pytest.param("b", {"times": 1}, "no call fits", id="not once"),
        pytest.param(
            "a a?",
            {"times": 1, "succeeded": True},
            f"step 2, a: {NOT_ENDED}",
            id="once with success, another not ended",
        ),
        pytest.param(
            "a?",
            {"succeeded": False},
            f"step 1, a: the call failed: {NOT_ENDED}",
            id="in vain, not ended",
        ),
        pytest.param(
            "a& b",
            {"before": ("b",)},
            "step 2, b: called before a had succeeded; step 1 had not ended when it began",
            id="before, in flight",
        ),
        pytest.param(
            "a&& c b",
            {"before": ("b",)},
            "step 3, b: called before a had succeeded; step 1 had not ended when it began",
            id="before, in flight for long",
        ),
        pytest.param(
            "b& a",
            {"before": ("b",)},
            "step 1, b: called before a had succeeded",
            id="before, began after it",
        ),
        pytest.param(
            "b& a",
            {"after": ("b",)},
            "step 2, a: called before b had succeeded; step 1 had not ended when it began",
            id="after, in flight",
        ),
        pytest.param("a", {"times": 0}, "1 call fits, at step 1", id="not at all"),
        pytest.param("a a", {"times": 1}, "2 calls fit, at step 1, 2", id="transfer twice"),
        pytest.param(
            "a!", {"succeeded": True}, "step 1, a: the call failed: no record", id="in vain"
        ),
        pytest.param("a", {"succeeded": False}, "step 1, a: the call succeeded", id="not in vain"),
        pytest.param("a", {"arguments": {"n": 9}}, "step 1, a: n different", id="argument"),
        pytest.param(
            "a!",
            {"arguments": {"n": 1}, "succeeded": True},
            "step 1, a: the call failed: no record",
            id="right argument in vain",
        ),
        pytest.param(
            "b a",
            {"before": ("b",)},
            "step 1, b: called before a had succeeded",
            id="too late",
        ),
        pytest.param(
            "a! b",
            {"before": ("b",)},
            "step 2, b: called before a had succeeded",
            id="transfer after a failed login",
        ),
        pytest.param("a", {"before": ("b",)}, "b was never called", id="nothing to precede"),
        pytest.param(
            "a b", {"after": ("b",)}, "step 1, a: called before b had succeeded", id="too early"
        ),
        pytest.param(
            "b! a",
            {"after": ("b",)},
            "step 2, a: called before b had succeeded",
            id="after a failure",
        ),
        pytest.param(
            "b!",
            {"after": ("b",), "times": 0},
            "a: called before b had succeeded",
            id="neither of them",
        ),
    ],
)
def test_a_demand_that_is_not_met(made: str, demand: dict[str, Any], why: str) -> None:
    unmet = unmet_call(CallDemand(name="a", **demand), calls(made))

    assert unmet is not None
    assert why == unmet.why
    assert unmet.step is None or f"step {unmet.step}" in why or str(unmet.step) in why


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        pytest.param({}, "a must be called", id="called"),
        pytest.param({"times": 1}, "a must be called once", id="once"),
        pytest.param(
            {"times": 2, "succeeded": True, "before": ("b",), "after": ("c",)},
            "a must be called with success 2 times before b after c",
            id="all",
        ),
        pytest.param({"succeeded": False}, "a must be called in vain", id="in vain"),
    ],
)
def test_a_demand_in_words(demand: dict[str, Any], words: str) -> None:
    assert words == CallDemand(name="a", **demand).words()


def test_a_call_that_must_not_be_made_is_found_even_in_vain() -> None:
    unmet = unwanted_call("b", calls("a b!"))

    assert unmet is not None
    assert (2, "step 2, b: it was called") == (unmet.step, unmet.why)
    assert None is unwanted_call("c", calls("a b!"))


# Arguments are compared as JSON, and each difference has a path.

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.sampled_from([0.0, 1.0, 0.5])
    | st.text("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(1, 1.0, True, id="whole number and fraction"),
        pytest.param(True, 1, False, id="true is not one"),
        pytest.param(False, 0, False, id="false is not zero"),
        pytest.param("1", 1, False, id="text is not a number"),
        pytest.param(None, "", False, id="null is not empty text"),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="order of keys"),
        pytest.param([1, 2], [2, 1], False, id="order of elements"),
        pytest.param([1], (1,), True, id="list and tuple"),
        pytest.param([], {}, False, id="empty list and empty object"),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert same is same_json(one, other)


@pytest.mark.parametrize(
    ("expected", "actual", "mode", "differences"),
    [
        pytest.param({"a": 1}, {"a": 2}, "exact", [("a", "different")], id="different"),
        pytest.param({"a": 1}, {}, "contains", [("a", "missing")], id="missing"),
        pytest.param({}, {"a": 1}, "exact", [("a", "unexpected")], id="unexpected"),
        pytest.param({}, {"a": 1}, "contains", [], id="further keys are allowed"),
        pytest.param({"a": 1}, "junk", "ignore", [], id="ignored"),
        pytest.param({"a": 1}, [1], "exact", [("", "a list instead of an object")], id="no object"),
        pytest.param(
            {"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": "1"}]}}, "exact",
            [("a.b[0].c", "a text instead of a number")], id="deep path",
        ),
        pytest.param(
            {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, "contains", [], id="contained at depth"
        ),
        pytest.param(
            {"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, "contains",
            [("a[0].c", "unexpected")], id="a list is compared whole",
        ),
        pytest.param(
            {"a": [1]}, {"a": [1, 2]}, "contains", [("a", "2 elements instead of 1")], id="length"
        ),
        pytest.param(
            {"a b": True}, {"a b": None}, "exact",
            [('["a b"]', "null instead of a boolean")], id="a key that is no name",
        ),
        pytest.param(
            {"a": 1, "b": 2}, {"a": 2, "b": 3}, "exact",
            [("a", "different"), ("b", "different")], id="all of them",
        ),
    ],
)  # fmt: skip
def test_each_difference_has_its_path_and_reason(
    expected: Any, actual: Any, mode: ArgumentMode, differences: list[tuple[str, str]]
) -> None:
    found = argument_differences(expected, actual, mode)

    assert differences == [(one.field, one.why) for one in found]
    assert (not differences) is arguments_match(expected, actual, mode)


@settings(max_examples=150)
@given(one=JSON, other=JSON)
def test_arguments_are_the_same_exactly_when_nothing_differs(one: Any, other: Any) -> None:
    assert same_json(one, other) is (not argument_differences(one, other, "exact"))


@settings(max_examples=150)
@given(one=JSON, other=JSON, third=JSON)
def test_containment_includes_equality_and_is_transitive(one: Any, other: Any, third: Any) -> None:
    assert arguments_match(one, one, "contains")
    if arguments_match(one, other, "contains") and arguments_match(other, third, "contains"):
        assert arguments_match(one, third, "contains")


# Matches of runs with overlapping calls, against brute force over every order of both sides.
#
# The law: `exact` accepts a list of calls exactly where it is one of the orders in which the
# calls of the run may have been made, and `in_order` where it is a part of one; a group of
# expected calls stands for each of its own orders.

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


@settings(max_examples=250, deadline=None)
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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=200, deadline=None)
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


# The order of calls in time, against intervals that are compared two by two.

Interval = tuple[int, int]

INTERVALS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda ends: (min(ends), max(ends))),
    max_size=6,
).map(sorted)
"""When calls began and ended. Of what happens at one moment, beginnings come first."""


def calls_of_overlap(intervals: list[Interval]) -> list[Call]:
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
    listed = calls_of_overlap(intervals)

    for later, (began, _) in enumerate(intervals):
        before = [at for at, (_, ended) in enumerate(intervals) if ended < began]
        assert before == list(ended_before(listed, later))
        assert all(stands_before(listed, one, later) for one in before)


@given(INTERVALS)
def test_spans_tell_the_same_order(intervals: list[Interval]) -> None:
    found = spans(calls_of_overlap(intervals))

    for one, (_, ended) in zip(found, intervals, strict=True):
        for other, (began, _) in zip(found, intervals, strict=True):
            assert (ended < began) is (one.last < other.first)


@given(INTERVALS)
def test_equal_orders_have_equal_spans(intervals: list[Interval]) -> None:
    """Three times as slow, and what began at one moment in another order: nothing changes."""
    slower = [(3 * began, 3 * ended + 1) for began, ended in intervals]
    other = [slower[at] for at in sorted(range(len(slower)), key=lambda at: (slower[at][0], -at))]

    assert sorted(spans(calls_of_overlap(intervals))) == sorted(spans(calls_of_overlap(other)))


@given(INTERVALS)
def test_spans_give_the_overlaps_back(intervals: list[Interval]) -> None:
    listed = calls_of_overlap(intervals)

    assert tuple(call.overlaps for call in listed) == overlaps_of(spans(listed))


@given(INTERVALS)
def test_groups_are_what_hangs_together(intervals: list[Interval]) -> None:
    listed = calls_of_overlap(intervals)

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


# Expected calls as tests write them, and trajectories as traces give them.


def test_a_trajectory_keeps_names_and_arguments_in_order_and_no_more() -> None:
    trace = Trace(
        ending=Ending.RETURNED,
        calls=(
            ToolCall(name="login", arguments={"user": "u"}, error="refused", started=1.0),
            ToolCall(name="close", arguments={}, result={"ok": True}),
        ),
    )

    trajectory = trajectory_of(trace)

    assert ("login", "close") == trajectory.names
    assert [Call(name="login", arguments={"user": "u"}), Call(name="close", arguments={})] == list(
        trajectory
    )
    assert 2 == len(trajectory)
    assert "close" == trajectory[1].name


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        pytest.param("a", ExpectedCall(name="a"), id="bare name"),
        pytest.param(("a", None), ExpectedCall(name="a"), id="null arguments"),
        pytest.param(
            ("a", {"x": 1}), ExpectedCall(name="a", arguments={"x": 1}), id="name and arguments"
        ),
        pytest.param(ExpectedCall(name="a"), ExpectedCall(name="a"), id="already a value"),
    ],
)
def test_an_expected_call_is_read(form: Any, expected: ExpectedCall) -> None:
    assert (expected,) == expected_calls([form])


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(3, id="number"),
        pytest.param(("a",), id="tuple of one"),
        pytest.param(("a", ["x"]), id="list of arguments"),
        pytest.param(({"x": 1}, "a"), id="the wrong way round"),
    ],
)
def test_what_is_no_expected_call_is_refused_with_its_place(form: Any) -> None:
    with pytest.raises(TypeError, match="expected call 2 is"):
        expected_calls(["fine", form])


def test_one_text_instead_of_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match=r"write \['login'\]"):
        expected_calls("login")


def test_tools_outside_the_expected_set_are_unneeded_and_counted() -> None:
    actual = Trajectory(calls=tuple(Call(name=name, arguments={}) for name in "abaxx"))

    assert {"x": 2} == unneeded_calls(actual, expected_calls(["a", "b"]))
