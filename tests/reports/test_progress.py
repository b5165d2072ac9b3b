"""How far a session has come, in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.metrics.summary import EMPTY, Summary
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.notices import Progress, progress_line

HALF = Progress(
    planned=200,
    done=100,
    recorded=Summary(runs=90, outcomes={Outcome.CORRECT: 81, Outcome.WRONG: 9}),
    in_flight=64,
    slowest=2.35,
    elapsed=50.0,
)
AWAY = Summary(runs=90, outcomes={Outcome.CORRECT: 81, Outcome.UNAVAILABLE: 9})


def test_a_line_says_where_the_session_stands() -> None:
    assert (
        "sop: 100 of 200 done, 64 in flight, TSR 90.0%, slowest 2.3 s, 50 s left"
        == progress_line(HALF)
    )


@pytest.mark.parametrize(
    ("change", "part"),
    [
        pytest.param({"in_flight": 0}, ", 0 in flight,", id="none in flight"),
        pytest.param({"recorded": EMPTY}, "TSR n/a,", id="nothing entered"),
        pytest.param({"recorded": AWAY}, "TSR n/a (9 of 90 unavailable)", id="provider away"),
        pytest.param({"elapsed": 119.0}, "119 s left", id="below two minutes"),
        pytest.param({"elapsed": 120.0}, "2 min left", id="from two minutes on"),
        pytest.param({"elapsed": 3600.0}, "60 min left", id="an hour"),
        pytest.param({"done": 200}, "0 s left", id="all done"),
    ],
)
def test_each_part_says_what_is_known(change: dict[str, object], part: str) -> None:
    assert part in progress_line(replace(HALF, **change))  # type: ignore[arg-type]


def test_what_is_not_known_is_left_out() -> None:
    line = progress_line(replace(HALF, in_flight=None, done=0))

    assert "sop: 0 of 200 done, TSR 90.0%, slowest 2.3 s" == line


def test_nothing_done_has_no_estimate() -> None:
    assert replace(HALF, done=0).left is None


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0, 1e6))
def test_the_estimate_is_what_the_rest_takes_at_the_same_pace(
    done: int, rest: int, elapsed: float
) -> None:
    left = replace(HALF, planned=done + rest, done=done, elapsed=elapsed).left

    assert left == pytest.approx(elapsed * rest / done)


@given(st.integers(10, 80), st.integers(0, 10**9))
def test_no_line_is_wider_than_the_terminal(width: int, count: int) -> None:
    line = progress_line(replace(HALF, planned=count, slowest=float(count)), width)

    assert len(line) <= width
