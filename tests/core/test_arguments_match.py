"""Arguments are compared as JSON, and each difference has a path."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.trajectory.calls import (
    ArgumentMode,
    argument_differences,
    arguments_match,
)
from pytest_sopbench._core.values.json import same_json

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
            [("a.b[0].c", "text instead of a number")], id="deep path",
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

    assert differences == [(one.path, one.why) for one in found]
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
