"""Lay the answer that the published scorer finds beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.answer import Answer, AnswerForm
from pytest_sopbench._core.model.task import Compare
from pytest_sopbench._core.model.trace import Returned, ReturnedKind
from pytest_sopbench._core.values.json import JsonValue

from .published_answer import published_answer

NOT_FOUND: Final = "not found"


def published(rules: JudgingRules, returned: Returned, ours: Answer) -> Answer:
    """Return the answer as the published scorer finds it.

    That scorer reads texts alone, so of a mapping the fields are taken as they are. Where both
    find the same, the answer is ours, which tells where it stood.
    """
    if not returned.text or (returned.kind is ReturnedKind.MAPPING and _is_mapping(ours)):
        return ours
    names = [field.name for field in rules.fields]
    found = published_answer(returned.text, names)
    if ours.complete and _same(ours.values, found):
        return ours
    missing = tuple(
        field.name
        for field in rules.fields
        if field.compare is not Compare.IGNORE and field.name not in found
    )
    return Answer(
        values=found,
        form=AnswerForm.NOT_FOUND if missing else AnswerForm.PUBLISHED,
        missing=missing,
        extra=ours.extra,
        beside=ours.beside,
        why=f"the published scorer finds no {', '.join(missing)}" if missing else "",
    )


def _is_mapping(ours: Answer) -> bool:
    return ours.form == AnswerForm.MAPPING or bool(ours.values)


def _same(ours: Mapping[str, JsonValue], found: Mapping[str, str]) -> bool:
    return {name: str(value).lower() for name, value in ours.items()} == found
