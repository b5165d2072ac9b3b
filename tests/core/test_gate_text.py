"""Gates as they are written, and read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.gates.conditions import (
    LOST,
    GateSpec,
    P,
    gate_text,
    names,
    read_fail_under,
    read_gate,
)

RATES = st.floats(0, 1)


@st.composite
def gates(draw: st.DrawFn) -> GateSpec:
    name = draw(st.sampled_from(names()))
    bounds = {LOST: st.integers(0, 10_000).map(float), P: st.floats(0, 1, exclude_min=True)}
    return GateSpec(
        name=name,
        value=draw(bounds.get(name, RATES)),
        domain=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*", fullmatch=True) | st.just("")),
    )


@given(gates())
def test_a_gate_is_read_back(gate: GateSpec) -> None:
    assert gate == read_gate(gate_text(gate))


@given(gates())
def test_a_gate_is_read_as_the_header_of_a_session_has_it(gate: GateSpec) -> None:
    assert gate == read_gate(f"{gate.domain}:{gate.name}={gate.value}".lstrip(":"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("tsr=90%", 0.9, id="per cent"),
        pytest.param("drop=0.05", 0.05, id="rate"),
        pytest.param("lost=3", 3.0, id="tasks"),
        pytest.param("lost=0", 0.0, id="no task"),
        pytest.param("p=0.05", 0.05, id="probability"),
    ],
)
def test_bounds_are_read_by_the_name_of_the_gate(text: str, value: float) -> None:
    assert value == pytest.approx(read_gate(text).value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("tsr", "write", id="no bound"),
        pytest.param("=1", "write", id="no name"),
        pytest.param("foo=1", "NAME being one of", id="unknown"),
        pytest.param("tsr=nan", "a rate from 0 to 1", id="nan"),
        pytest.param("tsr=1_0%", "a rate from 0 to 1", id="underscore"),
        pytest.param("tsr=1.1", "a rate from 0 to 1", id="above 1"),
        pytest.param("lost=-1", "a number of tasks", id="negative"),
        pytest.param("lost=10%", "a number of tasks", id="share of tasks"),
        pytest.param("p=0", "above 0", id="impossible"),
    ],
)
def test_what_is_no_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_gate(text)


def test_a_bound_on_tsr_has_a_short_form() -> None:
    assert GateSpec(name="tsr", value=0.9) == read_fail_under("0.9")
    with pytest.raises(ValueError, match="a rate from 0 to 1"):
        read_fail_under("none at all")
