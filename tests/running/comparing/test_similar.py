"""Texts compared by how similar they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_sopbench import Answer, OutputField, Task
from pytest_sopbench._core.judging import Question
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.model.trace import Compared
from pytest_sopbench._running.comparing import LONGEST, Place, ask, similar
from pytest_sopbench.errors import ComparerError

LETTER = OutputField(name="letter", type=FieldType.TEXT, compare=Compare.SIMILAR, at_least=0.9)
PLACE = Place(domain="claims", folder=Path("claims"), trusted=False, path=Path())
TASK = Task(domain="claims", id="C", line=2, inputs={}, expected={}, results={}, hash="h")


def found(expected: str, actual: str | None) -> Compared:
    question = Question(
        field=LETTER,
        place=0,
        expected=expected,
        actual=actual,
        task=TASK,
        answer=Answer(values={"letter": actual}, form="mapping"),
    )
    return ask(similar(LETTER, PLACE), question, None)


@pytest.mark.parametrize(
    ("actual", "held"),
    [
        ("Dear client, we are sorry.", True),
        ("DEAR CLIENT,  we are sorry!", True),
        ("We refuse.", False),
        ("", False),
        (None, False),
    ],
)
def test_a_text_has_to_be_as_similar_as_declared(actual: str | None, held: bool) -> None:
    one = found("Dear client, we are sorry.", actual)

    assert held is one.held
    assert one.score is not None
    assert held is (one.score >= 0.9)
    assert held or one.why.endswith("similar, 0.9 is asked")


def test_two_texts_are_as_similar_as_the_other_way_round() -> None:
    assert found("late parcel", "parcel late").score == found("parcel late", "late parcel").score


def test_a_text_without_end_is_not_compared_and_no_pass() -> None:
    long = "x" * (LONGEST + 1)

    assert found("short", long).why.startswith("at best")
    assert found("short", long).held is False
    assert found(long, long).held is None


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidfuzz.fuzz", None)

    with pytest.raises(ComparerError, match=r"needs rapidfuzz\npip install rapidfuzz"):
        similar(LETTER, PLACE)
