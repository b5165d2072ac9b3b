"""A gate in a line, or in as many as 80 columns need."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._reports.terminal.gate import gate_lines, not_evaluated_lines


def verdict(**more: str) -> GateVerdict:
    given = {"asked": "TSR >= 90%", "got": "94.2%", **more}
    return GateVerdict(state=GateState.HOLDS, **given)


def test_a_gate_that_holds_needs_no_reason() -> None:
    assert ["gate   TSR >= 90% holds (got 94.2%)"] == list(gate_lines(verdict()))


def test_it_says_where_it_was_asked_and_why_it_came_out_so() -> None:
    lines = list(gate_lines(verdict(where="lab", why="258 of 274")))

    assert ["gate   lab: TSR >= 90% holds (got 94.2%): 258 of 274"] == lines


def test_a_long_reason_goes_on_below_the_gate() -> None:
    why = "16.67% of the runs were unavailable, more than 5%"

    lines = list(gate_lines(verdict(why=why)))

    assert [
        "gate   TSR >= 90% holds (got 94.2%): 16.67% of the runs were unavailable, more",
        "       than 5%",
    ] == lines


def test_what_was_not_evaluated_is_wrapped_as_well() -> None:
    why = "-k took 5 of 6 selected tasks away; 1 missed, which fails it"

    lines = list(not_evaluated_lines(why))

    assert [
        "gate   not evaluated: -k took 5 of 6 selected tasks away; 1 missed, which fails",
        "       it",
    ] == lines


@given(why=st.text(st.characters(categories=["L", "N", "P", "Z", "Cc"]), max_size=300))
def test_no_word_is_lost_and_no_line_too_wide(why: str) -> None:
    """Words that are wider than a line are cut, as everywhere."""
    lines = list(gate_lines(verdict(why=why)))

    assert all(len(line) <= 80 for line in lines)
    assert all(line.startswith(("gate   ", "       ")) for line in lines)
