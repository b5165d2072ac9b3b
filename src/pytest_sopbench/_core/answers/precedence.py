"""Choose among all that could be the answer, as a person who reads the text would.

The last whole answer wins, whatever its form. What is not marked, as a line, never beats what is
marked as final, nor does a value that any words would be beat anything marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search
from pytest_sopbench._core.fields.values import Key, value_key
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.plain import to_json_value


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer, or the best of what falls short of one."""

    answer: AnswerCandidate | None
    short: AnswerCandidate | None = None


def choose(
    search: Search, marked: Sequence[AnswerCandidate], weak: Sequence[AnswerCandidate]
) -> Choice:
    """Choose the answer; `marked` and `weak` are in order of trust."""
    whole = [one for one in marked if not search.missing(one.values)]
    best = _last(whole)
    for one in weak:
        if not search.missing(one.values) and _beats(one, best, whole):
            best = one
    taken_back = best and next(
        (one for one in marked if _takes_back(search.required, one, best)), None
    )
    if best is None or taken_back:
        return Choice(None, taken_back or _best_of_short(search, [*marked, *weak]))
    return Choice(best)


def _last(whole: Sequence[AnswerCandidate]) -> AnswerCandidate | None:
    # Of two that end at one place `max` takes the first, which is the more trusted.
    return max(whole, key=lambda one: one.end, default=None)


def _beats(
    weak: AnswerCandidate, best: AnswerCandidate | None, marked: Sequence[AnswerCandidate]
) -> bool:
    if best is None:
        return True
    if weak.free or any(one.explicit for one in marked):
        return False
    return best.end <= weak.start


def _takes_back(
    required: Sequence[OutputField], part: AnswerCandidate, whole: AnswerCandidate
) -> bool:
    """Whether a part of an answer stands after the whole one, and says otherwise."""
    return part.start >= whole.end and any(
        _key(field, part) != _key(field, whole) for field in required if field.name in part.values
    )


def _key(field: OutputField, found: AnswerCandidate) -> Key:
    # What is nested too deep is cut, as it is in the answer.
    return value_key(field, to_json_value(found.values[field.name]))


def _best_of_short(search: Search, found: Sequence[AnswerCandidate]) -> AnswerCandidate | None:
    return min(found, key=lambda one: len(search.missing(one.values)), default=None)
