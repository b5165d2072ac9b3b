"""A diff names steps, in a few lines of 80 columns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Call, Trajectory
from pytest_sopbench._core.trajectory.snapshot import DEFAULT_RULES, Snapshot, compare
from pytest_sopbench._reports.assertion import SNAPSHOT_WIDTH, STEPS, diff_lines, missing_lines

APPROVE = "to approve it: say so"
CALLS = st.lists(
    st.builds(
        Call,
        name=st.sampled_from(["a", "b", "a_tool_with_a_long_name"]),
        arguments=st.dictionaries(st.sampled_from(["x", "y"]), st.text(max_size=80), max_size=2),
    ),
    max_size=9,
).map(lambda calls: Trajectory(calls=tuple(calls)))


def made_of(*calls: str | tuple[str, Any]) -> Trajectory:
    pairs = [(one, {}) if isinstance(one, str) else one for one in calls]
    return Trajectory(calls=tuple(Call(name=name, arguments=given) for name, given in pairs))


def lines(approved: Trajectory, made: Trajectory, *others: Trajectory) -> list[str]:
    snapshot = Snapshot(task="T1", approved=(approved, *others))
    return diff_lines("lab/T1", compare(made, snapshot, DEFAULT_RULES), approve=APPROVE)


@pytest.mark.parametrize(
    ("approved", "made", "expected"),
    [
        pytest.param(
            made_of("a", "b", "c"),
            made_of("b", "a", "c"),
            ["1 moved: lab/T1 departs from its snapshot", "moved   step 1 (was 2)  b()"],
            id="swapped",
        ),
        pytest.param(
            made_of("a", "b"),
            made_of("a"),
            ["1 removed: lab/T1 departs from its snapshot", "removed step 2  b()"],
            id="removed",
        ),
        pytest.param(
            made_of("a"),
            made_of("a", ("b", {"x": "1"})),
            ["1 added: lab/T1 departs from its snapshot", 'added   step 2  b(x="1")'],
            id="added",
        ),
        pytest.param(
            made_of(("a", {"x": "C"})),
            made_of(("a", {"x": "D"})),
            ["1 changed: lab/T1 departs from its snapshot", 'changed step 1  a: x "C" -> "D"'],
            id="another value",
        ),
        pytest.param(
            made_of(("a", {"x": 1})),
            made_of(("a", {"y": 2})),
            [
                "1 changed: lab/T1 departs from its snapshot",
                "changed step 1  a: x 1 is missing, and 1 more",
            ],
            id="another argument",
        ),
        pytest.param(
            made_of("b", ("a", {})),
            made_of(("a", {"y": 2}), "b"),
            [
                "1 changed: lab/T1 departs from its snapshot",
                "changed step 1 (was 2)  a: y 2 was not there",
            ],
            id="changed and moved",
        ),
        pytest.param(
            made_of("a", "b", "c", "d"),
            made_of("e", "c", "b"),
            [
                "1 moved, 2 removed, 1 added: lab/T1 departs from its snapshot",
                "added   step 1  e()",
                "removed step 1  a()",
                "moved   step 2 (was 3)  c()",
                "removed step 4  d()",
            ],
            id="several, in the order of the run",
        ),
    ],
)
def test_each_kind_of_step_is_named(
    approved: Trajectory, made: Trajectory, expected: list[str]
) -> None:
    assert [*expected, APPROVE] == lines(approved, made)


def test_many_steps_are_cut_and_counted() -> None:
    shown = lines(made_of(), made_of(*"abcdefgh"))

    assert 8 == len(shown)
    assert "and 3 more" == shown[-2]


def test_the_nearest_of_several_is_named() -> None:
    shown = lines(made_of("x", "y"), made_of("a"), made_of("a", "b"))

    assert "beside approved trajectory 2 of 2, the nearest" == shown[-2]


@given(CALLS, CALLS)
def test_it_never_takes_more_than_a_few_lines_of_80_columns(
    approved: Trajectory, made: Trajectory
) -> None:
    snapshot = Snapshot(task="T1", approved=(DEFAULT_RULES.normalised(approved),))
    comparison = compare(made, snapshot, DEFAULT_RULES)

    shown = [] if comparison.held else diff_lines("lab/T1", comparison, approve=APPROVE)

    assert len(shown) <= STEPS + 4
    assert all(len(line) <= SNAPSHOT_WIDTH and "\n" not in line for line in shown)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(made_of(), ["no snapshot of lab/T1; no call"], id="no call"),
        pytest.param(
            made_of("a"), ["no snapshot of lab/T1; 1 call", "step    1  a()"], id="one call"
        ),
        pytest.param(
            made_of(*"abcdefg"),
            [
                "no snapshot of lab/T1; 7 calls",
                *(f"step    {step}  {name}()" for step, name in enumerate("abcde", start=1)),
                "and 2 more",
            ],
            id="many calls",
        ),
    ],
)
def test_without_snapshot_the_calls_are_shown(made: Trajectory, expected: list[str]) -> None:
    assert [*expected, APPROVE] == missing_lines("lab/T1", made, approve=APPROVE)


def test_a_call_that_did_not_wait_for_another_is_early() -> None:
    both = (Call(name="verify", arguments={}, overlaps=1), Call(name="pay", arguments={}))

    said = lines(made_of("verify", "pay"), Trajectory(calls=both))

    assert [
        "1 early: lab/T1 departs from its snapshot",
        "early   step 1  pay: step 2, verify, had not ended",
        APPROVE,
    ] == said
