"""What has to be asked of others before a run can be judged: one question for each comparison.

Judging is pure. What a function of the user finds, it finds before, and the trace carries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pytest_sopbench._core.answers.find import find_answer
from pytest_sopbench._core.answers.text.pasted import without_quoted_sop
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.typed import typed_value
from pytest_sopbench._core.model.answer import Answer
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.task import OutputField, Task
from pytest_sopbench._core.model.trace import Ending, Returned, ReturnedKind, Trace
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold

NOT_ASKED = "nobody was asked"

_SPEAKS_OF_FAILURE = frozenset({"success", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One comparison that somebody else makes.

    Attributes:
        field: the output field.
        place: as that of `Compared`.
        expected: the right value, in the type of the field.
        actual: the value that the agent gave.
        task: the task, with its inputs.
        answer: all that the agent answered.
    """

    field: OutputField
    place: int
    expected: JsonValue
    actual: JsonValue
    task: Task
    answer: Answer


class Asking(Protocol):
    """Asks what has to be asked of runs of one domain; `identities` say by field who answers."""

    @property
    def identities(self) -> Mapping[str, str]: ...

    def compare(self, rules: JudgingRules, task: Task, trace: Trace) -> Trace:
        """Return the trace with what was found of its answer; nothing is raised."""
        ...


def questions(rules: JudgingRules, task: Task, trace: Trace) -> tuple[Question, ...]:
    """Return what has to be asked of a run; nothing where there is no whole answer to compare."""
    if trace.ending is not Ending.RETURNED or not rules.asked_of_others:
        return ()
    returned = trace.returned or Returned(kind=ReturnedKind.NOTHING)
    if declared_failure(rules, returned):
        return ()
    answer = answer_of(rules, returned)
    return tuple(_questions(rules, task, answer)) if answer.complete else ()


def answer_of(rules: JudgingRules, returned: Returned) -> Answer:
    """Find the answer in what an agent returned."""
    return find_answer(without_quoted_sop(returned, rules.sop), rules.fields, rules.sop)


def declared_failure(rules: JudgingRules, returned: Returned) -> bool:
    """Whether an agent said that it failed.

    `success` and `error` speak of the run, unless they are what the task asks for.
    """
    if returned.declared_error is None:
        return False
    names = rules.document.declared.names if rules.document else None
    asked = (field.name for field in rules.fields) if names is None else names
    return _SPEAKS_OF_FAILURE.isdisjoint(map(fold, asked))


def candidates(task: Task) -> Iterator[Mapping[str, JsonValue]]:
    """Yield every right answer as written: the expected one, then those that are acceptable."""
    yield task.expected_as_written
    for other in task.acceptable:
        yield {**task.expected_as_written, **other}


def place_of(task: Task, place: int, field: str) -> int:
    """Return at which place a field was compared; a right answer may be like the expected one."""
    expected = task.expected_as_written[field]
    return place if place and task.acceptable[place - 1].get(field, expected) != expected else 0


def unanswered(
    fields: Sequence[OutputField], task: Task, found: Mapping[tuple[str, int], Compared]
) -> list[tuple[str, str]]:
    """Return each of these fields that could not be compared with some right answer, and why."""
    return [
        (field.name, why)
        for field in fields
        if (why := _why_not(field.name, task, found)) is not None
    ]


def _why_not(field: str, task: Task, found: Mapping[tuple[str, int], Compared]) -> str | None:
    for place in sorted({place_of(task, n, field) for n in range(len(task.acceptable) + 1)}):
        one = found.get((field, place))
        if one is None or one.held is None:
            return one.why if one else NOT_ASKED
    return None


def _questions(rules: JudgingRules, task: Task, answer: Answer) -> Iterator[Question]:
    for field in rules.asked_of_others:
        for place, expected in enumerate(candidates(task)):
            if place_of(task, place, field.name) == place:
                yield Question(
                    field=field,
                    place=place,
                    expected=typed_value(field, expected[field.name]),
                    actual=answer.values[field.name],
                    task=task,
                    answer=answer,
                )
