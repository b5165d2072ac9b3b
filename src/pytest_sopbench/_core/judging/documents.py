"""Judge a run whose answer is a JSON document."""

from __future__ import annotations

from pytest_sopbench._core.documents.judging import find_document, judge_document
from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.model.answer import Answer, AnswerForm
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Returned
from pytest_sopbench._core.verdict import Outcome, Verdict

from .one_line import one_line


def judged_document(document: DocumentRules, task: Task, returned: Returned) -> Verdict:
    """Return the verdict on what an agent returned: the three tiers are its outcomes.

    A document that matches is correct, one that only satisfies the schema is wrong, and where
    nothing satisfies it there is no answer.
    """
    found = find_document(document, returned)
    if found.document is None:
        answer = Answer(values={}, form=AnswerForm.NOT_FOUND, why=found.reason)
        return Verdict(outcome=Outcome.NO_ANSWER, reason=one_line(found.reason), answer=answer)
    answer = Answer(
        values=found.document,
        form=AnswerForm.MAPPING if found.position is None else AnswerForm.DOCUMENT,
        position=found.position,
    )
    judged = judge_document(document, task.expected, found.document)
    reason = "; ".join(f"{one.field}: {one.why}" for one in judged.mismatches)
    return Verdict(
        outcome=Outcome.WRONG if judged.mismatches else Outcome.CORRECT,
        reason=one_line(reason),
        answer=answer,
        mismatches=judged.mismatches,
        notes=judged.notes,
    )
