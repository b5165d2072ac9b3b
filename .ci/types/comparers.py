"""A user's comparer."""

from __future__ import annotations

from pytest_sopbench import Answer, Match, OutputField, Task


def same_words(
    expected: object, actual: object, *, field: OutputField, task: Task, answer: Answer
) -> Match:
    del answer
    is_same = str(expected).split() == str(actual).split()
    return Match(is_same, why="" if is_same else f"{field.name} of {task.id} has other words")
