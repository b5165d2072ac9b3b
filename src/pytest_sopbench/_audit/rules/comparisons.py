"""Rules about fields that are compared otherwise than by equal values: do they tell anything?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.model import Fault, Place, Rule, Severity
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.kinds import KINDS
from pytest_sopbench._core.judging import Question
from pytest_sopbench._core.model.task import Compare, OutputField, Task
from pytest_sopbench._core.model.trace import Answer
from pytest_sopbench._running.comparing import Comparer, ask, similar
from pytest_sopbench._running.comparing import Place as Whereabouts
from pytest_sopbench.errors import ComparerError

NOTHING_SAID: Final = ("x", "Unknown 7", "I cannot say.")
"""Answers that have nothing in common, and are right nowhere."""

_MOST: Final = 100
"""Different texts of a field that are held against one another."""


def _takes_anything(subject: Subject) -> Iterator[Fault]:
    for field in subject.domain.fields:
        if field.compare not in KINDS:
            continue
        for position, task in enumerate(subject.tasks):
            expected = task.expected_as_written[field.name]
            if not any(compare(field, expected, said) for said in NOTHING_SAID):
                yield Fault(
                    place=Place(
                        file=subject.data_file, line=subject.line(position), column=field.name
                    ),
                    what=f"{field.compare.value!r} takes any answer there: {NOTHING_SAID[-1]!r}",
                    do="ask for something that a wrong answer does not say",
                )


def _takes_another(subject: Subject) -> Iterator[Fault]:
    for field in subject.domain.fields:
        comparer = _similar(subject, field) if field.compare is Compare.SIMILAR else None
        if comparer is None:
            continue
        different: dict[str, tuple[int, Task]] = {}
        for position, task in enumerate(subject.tasks):
            different.setdefault(str(task.expected[field.name]), (position, task))
        for one, other in combinations([*different][:_MOST], 2):
            (first, task), (second, _) = different[one], different[other]
            if ask(comparer, _question(field, task, one, other), None).held:
                yield Fault(
                    place=Place(
                        file=subject.data_file, line=subject.line(second), column=field.name
                    ),
                    what=f"the text is right for row {subject.line(first)} as well, which expects "
                    "another",
                    do="raise 'at_least', or compare by what tells the two apart",
                )
                break


def _similar(subject: Subject, field: OutputField) -> Comparer | None:
    place = Whereabouts(
        domain=subject.domain.name, folder=subject.domain.folder, trusted=False, path=Path()
    )
    try:
        return similar(field, place)
    except ComparerError:
        # Without the library nobody can tell; the session that needs it says so.
        return None


def _question(field: OutputField, task: Task, expected: str, actual: str) -> Question:
    answer = Answer(values={field.name: actual}, form="mapping")
    return Question(
        field=field, place=0, expected=expected, actual=actual, task=task, answer=answer
    )


RULES: Final = (
    Rule(
        name="takes-anything",
        severity=Severity.ERROR,
        looks_for="A pattern or a list of phrases takes answers that say nothing.",
        look=_takes_anything,
    ),
    Rule(
        name="takes-another",
        severity=Severity.WARNING,
        looks_for="By `similar`, the text that one row expects is right for another row as well.",
        look=_takes_another,
    ),
)
