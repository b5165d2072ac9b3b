"""Expected calls as tests write them, and trajectories as traces give them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.model.trace import Ending, ToolCall, Trace
from pytest_sopbench._core.model.trajectory import (
    Call,
    ExpectedCall,
    Trajectory,
    expected_calls,
    trajectory_of,
    unneeded_steps,
)


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


def test_steps_outside_the_expected_set_are_unneeded_however_often() -> None:
    actual = Trajectory(calls=tuple(Call(name=name, arguments={}) for name in "abaxx"))

    assert (4, 5) == unneeded_steps(actual, expected_calls(["a", "b"]))
