"""What the agent finally says, and where it differs from what is expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_sopbench._core.values.json import JsonValue


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
    DOCUMENT = "document"
    PUBLISHED = "published"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the agent finally says, as fields: `answer["refund"]` is the value of one.

    Attributes:
        values: the output fields that were found, by name.
        form: where in what the agent returned the answer was found, such as `json`; `not_found`
            where a field is missing.
        position: the offset in characters at which the form starts in a text; `None` otherwise.
        missing: the output fields that the best form lacks.
        extra: the names that the agent gave beside the output fields, such as `reason`.
        beside: their values. They are never judged, and not saved.
        why: what is missing, in words.
    """

    values: Mapping[str, JsonValue]
    form: str
    position: int | None = None
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    why: str = ""
    beside: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], compare=False)

    def __getitem__(self, name: str) -> JsonValue:
        """Return the value of an output field, or of what the agent gave beside them.

        Raises:
            KeyError: the answer has no such name; the message lists those that it has.
        """
        if name in self:
            return self.values[name] if name in self.values else self.beside[name]
        known = ", ".join(map(repr, self)) or "nothing"
        msg = f"{name}: the answer has {known}"
        raise KeyError(msg)

    def __contains__(self, name: object) -> bool:
        return name in self.values or name in self.beside

    def __iter__(self) -> Iterator[str]:
        yield from self.values
        yield from (name for name in self.beside if name not in self.values)

    @property
    def complete(self) -> bool:
        """Whether a value was found for every output field."""
        return self.form != AnswerForm.NOT_FOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One field in which the answer is not the expected one.

    Attributes:
        field: the output field.
        expected: the right value.
        actual: the value that the agent gave.
        why: the kind of the difference, such as `other known label` or `number off by 0.45`.
    """

    field: str
    expected: JsonValue
    actual: JsonValue
    why: str
