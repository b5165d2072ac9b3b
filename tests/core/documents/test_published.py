"""The published scorer, mistake for mistake; each case says what ours rules instead."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench import Task, Trace, Verdict
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.documents.published import (
    published_mismatches,
    refuse_without_libraries,
)
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.model.trace import Ending
from pytest_sopbench.errors import SopbenchError

SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {"step": {"type": "string"}, "day": {"type": "string", "format": "date"}},
    "required": ["step"],
}
EXPECTED = {"step": "4.1", "day": "x"}
TEXT = json.dumps(EXPECTED)


@pytest.fixture
def scored() -> Callable[..., Verdict]:
    def score(text: object, scoring: Scoring = Scoring.PUBLISHED) -> Verdict:
        task = Task(domain="d", id="T", line=1, inputs={}, expected=EXPECTED, results={}, hash="h")
        rules = JudgingRules(
            fields=(), scoring=scoring, document=DocumentRules(schema=SCHEMA, ignored=("reason",))
        )
        return judge(rules, task, Trace(ending=Ending.RETURNED, returned=read_returned(text)))

    return score


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(TEXT[:-2], id="two characters cut off"),
        pytest.param(f"Here it is:\n```json\n{TEXT}\n```", id="prose around a fence"),
        pytest.param(repr(EXPECTED), id="Python repr"),
        pytest.param(f"{TEXT[:-1]},}}", id="trailing comma"),
        pytest.param(f'{TEXT[:-1]}, "mood": "good"}}', id="an extra key"),
    ],
)
def test_what_is_repaired_counts_as_right_and_is_told(
    scored: Callable[..., Verdict], text: str
) -> None:
    verdict = scored(text)

    assert "correct" == verdict.outcome
    assert verdict.only_published is not scored(text, Scoring.EXACT).correct


def test_the_tiers_are_the_outcomes(scored: Callable[..., Verdict]) -> None:
    wrong, nothing = scored('{"step": "5", "day": "x"}'), scored("I do not know.")

    assert ("correct", "wrong", "no_answer") == (
        scored(TEXT).outcome,
        wrong.outcome,
        nothing.outcome,
    )
    assert "step: different (published)" == wrong.reason
    assert "no_answer" == scored("").outcome
    assert "no_answer" == scored(None).outcome


def test_a_mapping_is_scored_as_its_json(scored: Callable[..., Verdict]) -> None:
    assert "correct" == scored(EXPECTED).outcome


CASES: dict[str, tuple[Any, Any, list[str]]] = {
    "case and white space of a text": ({"a": "X  y"}, {"a": " x Y "}, []),
    "full width is another character": ({"a": "1"}, {"a": "\uff11"}, ["a"]),
    "an extra key is not looked at": ({"a": 1}, {"a": 1, "b": 2}, []),
    "a missing key": ({"a": 1, "b": 2}, {"a": 1}, ["b"]),
    "null is not an absent key": ({"a": None}, {}, ["a"]),
    "every list is unordered": ({"a": [1, 2]}, {"a": [2, 1]}, []),
    "lists are sets of their length": ({"a": [1, 1, 2]}, {"a": [1, 2, 2]}, []),
    "another length": ({"a": [1]}, {"a": [1, 1]}, ["a"]),
    "a number in a list by its spelling": ({"a": [6]}, {"a": [6.0]}, ["a"]),
    "a number as a scalar by value": ({"a": 6}, {"a": 6.0}, []),
    "a text in a list by its spelling": ({"a": ["X"]}, {"a": ["x"]}, ["a"]),
    "a boolean as a number": ({"a": 1}, {"a": True}, []),
    "an ignored key": ({"reason": 1}, {"reason": 2}, []),
    "an ignored key that is missing": ({"reason": 1}, {}, []),
    "the tail of a dotted key": ({"x.reason": 1}, {"x.reason": 2}, []),
    "a dotted key that is missing": ({"x.reason": 1}, {}, ["x.reason"]),
    "an ignored key in an item": ({"a": [{"reason": 1}]}, {"a": [{"reason": 2}]}, []),
    "an ignored key deeper in an item": (
        {"a": [{"b": {"reason": 1}}]},
        {"a": [{"b": {"reason": 2}}]},
        ["a"],
    ),
    "an ignored key in a list in a list": (
        {"a": [[{"reason": 1}]]},
        {"a": [[{"reason": 2}]]},
        ["a"],
    ),
    "a nested list is sorted": ({"a": [[1, 2]]}, {"a": [[2, 1]]}, []),
    "a list for an object": ({"a": []}, {"a": {}}, ["a"]),
    "a nested path": ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b"]),
}


@pytest.mark.parametrize(("expected", "actual", "paths"), CASES.values(), ids=CASES)
def test_documents_are_compared_as_published(expected: Any, actual: Any, paths: list[str]) -> None:
    found = published_mismatches(expected, actual, ("reason",))

    assert paths == [one.field for one in found]


def test_without_the_library_nothing_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_sopbench._core.documents.published.LIBRARIES", ("no_such_library",))

    with pytest.raises(SopbenchError, match="domain desk needs no_such_library") as caught:
        refuse_without_libraries("desk")

    assert "pip install no_such_library; the extra 'sop-maze' pins it" == caught.value.hint
