"""What a test may demand of a call, on small runs: when it is met, and what is said if not."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.model.trace import ToolCall
from pytest_sopbench._core.trajectory.calls import CallDemand, unmet_call, unwanted_call


def calls(text: str) -> list[ToolCall]:
    """`a b!`: a call of `a` that succeeded, then one of `b` that failed; arguments count up.

    `a& b`: a call of `a` that had not ended when that of `b` began.
    """
    return [
        ToolCall(
            name=word.rstrip("!&"),
            arguments={"n": step},
            error="no record" if "!" in word else None,
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
