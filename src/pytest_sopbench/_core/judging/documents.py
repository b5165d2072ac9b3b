"""Judge a run whose answer is a JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from pytest_sopbench._core.documents.judging import find_document, judge_document
from pytest_sopbench._core.documents.published import (
    NoDocumentError,
    published_document,
    published_mismatches,
)
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.fields.values import without_noise
from pytest_sopbench._core.model.answer import Answer, AnswerForm, Mismatch
from pytest_sopbench._core.model.task import Scoring, Task
from pytest_sopbench._core.model.trace import Returned
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome, Verdict

from .one_line import one_line

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def judged_document(
    document: DocumentRules, task: Task, returned: Returned, scoring: Scoring = Scoring.EXACT
) -> Verdict:
    """Return the verdict on what an agent returned: the three tiers are its outcomes.

    A document that matches is correct, one that only satisfies the schema is wrong, and where
    nothing satisfies it there is no answer.
    """
    exact = _exact(document, task, returned)
    if scoring is Scoring.EXACT:
        return exact
    return _published(document, task, returned, exact)


def _exact(document: DocumentRules, task: Task, returned: Returned) -> Verdict:
    found = find_document(document, returned)
    if found.document is None:
        return _no_answer(found.reason)
    answer = Answer(
        values=found.document,
        form=AnswerForm.MAPPING if found.position is None else AnswerForm.DOCUMENT,
        position=found.position,
    )
    told = found.document
    if answer.form == AnswerForm.MAPPING:
        told = cast("Mapping[str, JsonValue]", without_noise(task.expected, told))
    judged = judge_document(document, task.expected, told)
    return _compared(answer, judged.mismatches, notes=judged.notes)


def _published(document: DocumentRules, task: Task, returned: Returned, exact: Verdict) -> Verdict:
    text = returned.text or (_encode(returned.mapping) if returned.mapping else "")
    try:
        value = published_document(text, document.schema)
    except NoDocumentError as fault:
        return _no_answer(str(fault))
    mismatches = published_mismatches(task.expected, value, document.ignored)
    # A schema may allow more than objects, which only this scorer would look at.
    values: Mapping[str, JsonValue] = value if isinstance(value, Mapping) else {}
    answer = exact.answer if exact.completed and exact.answer else None
    return _compared(
        answer or Answer(values=values, form=AnswerForm.PUBLISHED),
        mismatches,
        only_published=not mismatches and not exact.correct,
    )


def _no_answer(reason: str) -> Verdict:
    answer = Answer(values={}, form=AnswerForm.NOT_FOUND, why=reason)
    return Verdict(outcome=Outcome.NO_ANSWER, reason=one_line(reason), answer=answer)


def _compared(
    answer: Answer,
    mismatches: tuple[Mismatch, ...],
    *,
    only_published: bool = False,
    notes: tuple[str, ...] = (),
) -> Verdict:
    words = "; ".join(f"{one.field}: {one.why}" for one in mismatches)
    return Verdict(
        outcome=Outcome.WRONG if mismatches else Outcome.CORRECT,
        reason=one_line("only by the published scorer's rules" if only_published else words),
        answer=answer,
        mismatches=mismatches,
        only_published=only_published,
        notes=notes,
    )
