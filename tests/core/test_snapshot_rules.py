"""What changes from run to run is taken out; what matters stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trajectory import Call, Trajectory
from pytest_sopbench._core.trajectory.snapshot import DEFAULT_RULES, SnapshotRules, read_rules
from pytest_sopbench._core.values.json import JsonValue

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
def test_to_normalise_twice_is_to_normalise_once(rules: SnapshotRules, value: Any) -> None:
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
