"""Snapshots: what is written is read again, and what was approved is what holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Call, Trajectory
from pytest_sopbench._core.trajectory.snapshot import (
    DEFAULT_RULES,
    LONGEST,
    Snapshot,
    SnapshotRules,
    compare,
    read_rules,
    read_snapshot,
    snapshot_file,
    snapshot_text,
)
from pytest_sopbench._core.values.json import JsonValue

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(Call, name=TEXT, arguments=st.dictionaries(TEXT, VALUES, max_size=2))
TRAJECTORIES = st.lists(CALLS, max_size=4).map(lambda calls: Trajectory(calls=tuple(calls)))
SNAPSHOTS = st.builds(
    Snapshot,
    task=TEXT,
    approved=st.lists(TRAJECTORIES, min_size=1, max_size=3).map(tuple),
)


def trajectory(*names: str, **arguments: Any) -> Trajectory:
    return Trajectory(calls=tuple(Call(name=name, arguments=arguments) for name in names))


def snapshot(*approved: Trajectory) -> Snapshot:
    return Snapshot(task="T1", approved=approved)


# ---------------------------------------------------------------------- text


@given(SNAPSHOTS)
def test_what_is_written_is_read_again(written: Snapshot) -> None:
    assert written == read_snapshot(snapshot_text(written))


def test_each_step_stands_on_a_line_of_its_own() -> None:
    text = snapshot_text(snapshot(trajectory("a", "b"), trajectory(), trajectory("c")))

    assert text == (
        "{\n"
        ' "task": "T1",\n'
        ' "calls": [\n'
        '  {"name": "a", "arguments": {}},\n'
        '  {"name": "b", "arguments": {}}\n'
        " ],\n"
        ' "or": [\n'
        "  [],\n"
        "  [\n"
        '   {"name": "c", "arguments": {}}\n'
        "  ]\n"
        " ]\n"
        "}\n"
    )


def test_one_trajectory_is_a_line_of_expected_calls() -> None:
    data = json.loads(snapshot_text(snapshot(trajectory("a", key=1))))

    assert {"task": "T1", "calls": [{"name": "a", "arguments": {"key": 1}}]} == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("<<<<<<<", "not JSON", id="a conflict"),
        pytest.param("[]", "not an object with", id="a list"),
        pytest.param(
            '{"task": "T1", "calls": [], "calls": []}', "'calls' stands twice", id="calls twice"
        ),
        pytest.param('{"task": "T1"}', "not an object with", id="no calls"),
        pytest.param('{"task": 1, "calls": []}', "'task' must be", id="a number as task"),
        pytest.param('{"task": "T1", "calls": [], "or": 1}', "'or' a list", id="no list of others"),
        pytest.param('{"task": "T1", "calls": {}}', "must be a list", id="calls in an object"),
        pytest.param('{"task": "T1", "calls": ["a"]}', "call 1 is 'a', not an", id="a bare name"),
        pytest.param(
            '{"task": "T1", "calls": [{"name": "a", "arguments": []}]}',
            "call 1: 'name' must be a text",
            id="a list of arguments",
        ),
    ],
)
def test_what_is_no_snapshot_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_snapshot(text)


# ---------------------------------------------------------------------- names of files


@pytest.mark.parametrize(
    ("task", "name"),
    [
        pytest.param("P_13307", "lab/P_13307.json", id="plain"),
        pytest.param("../../etc", "lab/%2E.%2F..%2Fetc.json", id="a way out"),
        pytest.param(".hidden", "lab/%2Ehidden.json", id="hidden"),
        pytest.param("a b", "lab/a%20b.json", id="a space"),
    ],
)
def test_no_id_leads_out_of_the_folder(task: str, name: str) -> None:
    assert name == snapshot_file("lab", task)


def test_long_ids_stay_apart_and_fit_a_file_system() -> None:
    one, other = (snapshot_file("lab", "x" * 300 + end) for end in "ab")

    assert one != other
    assert len(one) < LONGEST + 40


# ---------------------------------------------------------------------- comparison


@given(TRAJECTORIES)
def test_a_run_keeps_to_its_own_snapshot(made: Trajectory) -> None:
    kept = snapshot(DEFAULT_RULES.normalised(made))

    assert compare(made, kept, DEFAULT_RULES).held


def test_any_approved_trajectory_is_good() -> None:
    found = compare(trajectory("b"), snapshot(trajectory("a"), trajectory("b")), DEFAULT_RULES)

    assert found.held
    assert (2, 2) == (found.place, found.of)


def test_where_none_is_good_the_nearest_is_shown() -> None:
    far, near = trajectory("x", "y", "z"), trajectory("a", "b")

    found = compare(trajectory("a", "c"), snapshot(far, near), DEFAULT_RULES)

    assert not found.held
    assert 2 == found.place
    assert ("a", "b") == tuple(call.name for call in found.approved)


def test_a_tool_whose_arguments_may_be_more_is_compared_so() -> None:
    rules = read_rules(["arguments:a=contains"])
    approved = snapshot(trajectory("a", key=1))

    assert compare(trajectory("a", key=1, more=2), approved, rules).held
    assert not compare(trajectory("a", key=2, more=2), approved, rules).held


def test_a_rule_that_was_added_later_holds_for_old_snapshots() -> None:
    old = snapshot(trajectory("a", case="CASE-1"))

    assert compare(trajectory("a", case="CASE-2"), old, read_rules(["replace:case=CASE-.+"])).held


# ---------------------------------------------------------------------- calls that overlap


@st.composite
def overlapping(draw: st.DrawFn) -> Trajectory:
    size = draw(st.integers(0, 6))
    return Trajectory(
        calls=tuple(
            Call(
                name=draw(st.sampled_from("ab")),
                arguments={"x": draw(st.integers(1, 2))},
                overlaps=draw(st.integers(0, min(3, size - at - 1))),
            )
            for at in range(size)
        )
    )


def with_overlaps(*calls: tuple[str, int]) -> Trajectory:
    return Trajectory(
        calls=tuple(Call(name=name, arguments={}, overlaps=count) for name, count in calls)
    )


@given(overlapping())
def test_what_overlapped_is_written_and_read_again(made: Trajectory) -> None:
    written = snapshot(DEFAULT_RULES.normalised(made))

    assert written == read_snapshot(snapshot_text(written))


@given(overlapping())
def test_to_normalise_twice_is_to_normalise_once(made: Trajectory) -> None:
    once = DEFAULT_RULES.normalised(made)

    assert once == DEFAULT_RULES.normalised(once)


@given(overlapping())
def test_a_run_with_overlapping_calls_keeps_to_its_own_snapshot(made: Trajectory) -> None:
    kept = read_snapshot(snapshot_text(snapshot(DEFAULT_RULES.normalised(made))))

    assert compare(made, kept, DEFAULT_RULES).held


def test_the_text_is_the_same_whatever_began_first() -> None:
    one = DEFAULT_RULES.normalised(with_overlaps(("a", 2), ("b", 1), ("c", 0), ("d", 0)))
    other = DEFAULT_RULES.normalised(with_overlaps(("c", 2), ("a", 1), ("b", 0), ("d", 0)))

    assert snapshot_text(snapshot(one)) == snapshot_text(snapshot(other))


def test_calls_that_overlap_are_written_as_a_group() -> None:
    text = snapshot_text(snapshot(with_overlaps(("a", 0), ("b", 1), ("c", 1), ("d", 0))))

    assert text == (
        "{\n"
        ' "task": "T1",\n'
        ' "calls": [\n'
        '  {"name": "a", "arguments": {}},\n'
        "  [\n"
        '   {"name": "b", "arguments": {}, "ends_before": 3},\n'
        '   {"name": "c", "arguments": {}},\n'
        '   {"name": "d", "arguments": {}}\n'
        "  ]\n"
        " ]\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("approved", "made", "lost"),
    [
        pytest.param([("a", 1), ("b", 0)], [("b", 1), ("a", 0)], (), id="together again"),
        pytest.param([("a", 1), ("b", 0)], [("b", 0), ("a", 0)], (), id="one after the other"),
        pytest.param([("a", 0), ("b", 0)], [("a", 1), ("b", 0)], ((1, 2),), id="not waited for"),
        pytest.param(
            [("a", 0), ("a", 0), ("b", 0)], [("a", 2), ("a", 0), ("b", 0)], ((1, 2), (2, 3)),
            id="the first of two still in flight",
        ),
        pytest.param(
            [("a", 1), ("b", 1), ("c", 0)], [("a", 2), ("b", 1), ("c", 0)], ((1, 3),),
            id="an order inside a group",
        ),
    ],
)  # fmt: skip
def test_what_was_approved_one_after_the_other_may_not_overlap(
    approved: Any, made: Any, lost: Any
) -> None:
    found = compare(with_overlaps(*made), snapshot(with_overlaps(*approved)), DEFAULT_RULES)

    assert found.match.held
    assert lost == found.lost
    assert found.held is (not lost)


# What changes from run to run is taken out; what matters stays.

UUID = "0b5a3f0e-7f1c-4a58-9a51-2f3f0c1d2e3f"


def normalised(value: Any, *rules: str, tool: str = "a") -> JsonValue:
    """Return what becomes of the argument `x` of a call, or of all where there is none."""
    trajectory = Trajectory(calls=(Call(name=tool, arguments={"x": value}),))
    arguments: Any = read_rules(rules).normalised(trajectory)[0].arguments
    found: JsonValue = arguments.get("x", arguments)
    return found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(UUID, "<uuid>", id="uuid"),
        pytest.param(f"case {UUID.upper()}.", "case <uuid>.", id="uuid in a text"),
        pytest.param(f"{UUID}0", f"{UUID}0", id="longer than a uuid"),
        pytest.param("2026-01-31T10:00:00.123Z", "<time>", id="instant"),
        pytest.param("at 2026-01-31 10:00 +0100, said", "at <time>, said", id="minutes and zone"),
        pytest.param("2026-01-31", "2026-01-31", id="a date is no instant"),
        pytest.param(0.1 + 0.2, 0.3, id="noise of floats"),
        pytest.param(1234567.89, 1234567.89, id="an amount"),
        pytest.param(-0.0, 0.0, id="negative zero"),
        pytest.param(12345678901234, 12345678901234, id="a whole number"),
        pytest.param(True, True, id="a boolean"),
        pytest.param({"b": [UUID], "a": None}, {"a": None, "b": ["<uuid>"]}, id="inside"),
    ],
)
def test_without_rules_known_kinds_of_values_are_replaced(value: Any, expected: Any) -> None:
    assert expected == normalised(value)


@pytest.mark.parametrize(
    ("value", "rule", "expected"),
    [
        pytest.param("CASE-12 of 3", "replace:case=CASE-[0-9]+", "<case> of 3", id="replace"),
        pytest.param("a=b", "replace:pair=a=.", "<pair>", id="a sign of equality in the pattern"),
        pytest.param(UUID, "keep:uuid", UUID, id="keep uuids"),
        pytest.param("2026-01-31T10:00", "keep:time", "2026-01-31T10:00", id="keep instants"),
        pytest.param(0.123456, "digits=3", 0.123, id="digits"),
        pytest.param("note", "ignore:a.x", "<any>", id="ignore an argument"),
        pytest.param("note", "ignore:*.x", "<any>", id="ignore it in every tool"),
        pytest.param("note", "ignore:b.x", "note", id="ignore it in another tool"),
        pytest.param("note", "arguments:a=ignore", {}, id="ignore all arguments"),
        pytest.param("note", "arguments:*=ignore", {}, id="ignore all of every tool"),
    ],
)
def test_rules_say_what_else_changes(value: Any, rule: str, expected: Any) -> None:
    assert expected == normalised(value, rule)


def test_a_tool_of_its_own_rule_is_not_every_tool() -> None:
    rules = read_rules(["arguments:*=ignore", "arguments:a=contains"])

    assert ("contains", "ignore") == (rules.mode("a"), rules.mode("b"))


def test_arguments_that_are_no_object_are_kept_under_a_name() -> None:
    calls = (Call(name="a", arguments=[UUID]), Call(name="a", arguments=None))

    made = DEFAULT_RULES.normalised(Trajectory(calls=calls))

    assert [{"<arguments>": ["<uuid>"]}, {"<arguments>": None}] == [one.arguments for one in made]


TEXTS = st.text(st.sampled_from(f"a<>id-T:1 {UUID}"), max_size=30) | st.just(f"x{UUID}2026-01-31T1")
RULES = st.sampled_from(
    [
        DEFAULT_RULES,
        read_rules(["replace:id=[a-z]+"]),
        read_rules(["replace:x=a$", "replace:a=<"]),
        read_rules(["digits=2", "ignore:*.y"]),
    ]
)


@given(RULES, TEXTS | st.floats(-1e9, 1e9))
def test_rules_that_normalise_twice_normalise_once(rules: SnapshotRules, value: Any) -> None:
    trajectory = Trajectory(calls=(Call(name="a", arguments={"x": value, "y": 1}),))

    once = rules.normalised(trajectory)

    assert once == rules.normalised(once)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param("arguments:a=some", id="unknown word"),
        pytest.param("arguments:=exact", id="no tool"),
        pytest.param("ignore:a", id="no argument"),
        pytest.param("ignore:.x", id="no tool before the argument"),
        pytest.param("replace:two words=x", id="no name"),
        pytest.param("replace:x", id="no pattern"),
        pytest.param("keep:all", id="nothing to keep"),
        pytest.param("digits=0", id="no digit"),
        pytest.param("digits=18", id="more digits than a float has"),
        pytest.param("contains", id="a bare word"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_forms(rule: str) -> None:
    with pytest.raises(ValueError, match="is no rule; write arguments:TOOL="):
        read_rules([rule])


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        pytest.param("replace:x=(", "not a regular expression", id="broken"),
        pytest.param("replace:x=a*", "matches nothing at all", id="matches nothing"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(rule: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_rules([rule])
