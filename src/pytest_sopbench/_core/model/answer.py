"""What the agent finally says, and where it differs from what is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pytest_sopbench._core.values.json import JsonValue

if TYPE_CHECKING:
    pass


class AnswerForm(StrEnum):
    """Where in what an agent returned the answer was found.

    `PUBLISHED` is where the published scorer finds another answer than ours.
    """

    MAPPING = "mapping"
    FINAL_OUTPUT = "final_output"
    FIELD_TAGS = "field_tags"
    FINAL_DECISION = "final_decision"
    JSON = "json"
    PYTHON = "python"
    FIELD_LINES = "field_lines"
    BOXED = "boxed"
    WHOLE_TEXT = "whole_text"
    PUBLISHED = "published"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent finally says, as fields.

    `position` is the offset in characters at which the form starts in a text. When the answer
    is not complete, `form` is `NOT_FOUND`, `missing` are the fields that the best form lacks,
    and `why` says it in words.
    """

    values: Mapping[str, JsonValue]
    form: AnswerForm
    position: int | None = None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    why: str = ""

    @property
    def complete(self) -> bool:
        return self.form is not AnswerForm.NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One field in which the answer is not the expected one, and why."""

    field: str
    expected: JsonValue
    actual: JsonValue
    why: str
