"""The words for what is seen where a value differs, by the role of its path."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.documents.schema import Role
from pytest_sopbench._core.documents.wording import list_symptom, lost_or_extra, symptom

ROUTES = {
    ("4.1", "4.3"): "sibling",
    ("4.1", "4.10"): "sibling",
    ("4.1.2", "4.1"): "stopped early",
    ("4.1", "4.1.2"): "went on too far",
    ("4.1", "5.2"): "skipped ahead",
    ("4.2.1", "4.3"): "skipped ahead",
    ("5", "3"): "lagged behind",
    ("4.10", "3.2"): "lagged behind",
    ("R2", "4.1"): "rule missed",
    ("4.1", "R2"): "rule invented",
    ("R2", "R3"): "skipped ahead",
    ("4.1", None): "rule missed",
    (None, "R2"): "rule invented",
    ("stage 4a", "stage 4b"): "sibling",
    ("greeting", "closing"): "different",
    (4, 6): "skipped ahead",
}


@pytest.mark.parametrize(("pair", "word"), ROUTES.items(), ids=map(str, ROUTES))
def test_a_step_stands_to_another_in_the_outline(pair: tuple[Any, Any], word: str) -> None:
    assert word == symptom(Role.ROUTE, *pair)


VALUES = {
    "number": (Role.NUMBER, 10, 12.5, "number off by 2.5"),
    "number in a text": (Role.NUMBER, "10.00", "12", "number off by 2"),
    "number without a role": (None, 1, 2, "number off by 1"),
    "no number": (Role.NUMBER, 1, "one", "a text instead of a number"),
    "time of day": (Role.TIME, "10:00", "11:30", "time off by 1 h 30 min"),
    "date": (Role.TIME, "2026-05-01", "2026-05-03", "time off by 2 d"),
    "moment": (Role.TIME, "2026-05-01T10:00", "2026-05-01T09:59:30", "time off by 30 s"),
    "duration": (Role.TIME, 30, 45, "time off by 15"),
    "no time": (Role.TIME, "10:00", "noon", "different"),
    "silence": (Role.DIALOGUE, "", "hello", "speaks instead of silence"),
    "words": (Role.DIALOGUE, "hello", None, "silence instead of words"),
    "other words": (Role.DIALOGUE, "hello", "bye", "different"),
    "text": (Role.TEXT, "a", "b", "different"),
    "another kind": (None, True, 1, "a number instead of a boolean"),
}


@pytest.mark.parametrize(("role", "expected", "actual", "word"), VALUES.values(), ids=VALUES)
def test_a_value_differs_as_its_role_says(
    role: Role | None, expected: Any, actual: Any, word: str
) -> None:
    assert word == symptom(role, expected, actual)


def test_lists_tell_what_is_missing_and_what_is_too_many() -> None:
    assert 'missing "a", "b"; unexpected 1' == list_symptom(None, ["a", "b"], [1])
    assert 'rule missed "R1"; rule invented "R2"' == list_symptom(Role.ROUTE, ["R1"], ["R2"])
    assert "missing 1, 2, 3 and 2 more" == list_symptom(None, [1, 2, 3, 4, 5], [])
    assert "in another order" == list_symptom(None, [], [])


def test_a_whole_value_is_missing_or_should_be_absent() -> None:
    assert ("missing", "should be absent") == (
        lost_or_extra(None, missing=True),
        lost_or_extra(None, missing=False),
    )
    assert ("rule missed", "rule invented") == (
        lost_or_extra(Role.ROUTE, missing=True),
        lost_or_extra(Role.ROUTE, missing=False),
    )
