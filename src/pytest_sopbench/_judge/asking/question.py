"""What the judge is asked: whether one answer satisfies a rubric, beside the expected one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Final

# Made at import: an agent may put others into the places that JSON calls.
_KEY: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question; equal questions have one judgement.

    Attributes:
        rubric: what people were told to judge by.
        field: the output field.
        expected: the expected value, as text.
        actual: the value that the agent gave, as text.
    """

    rubric: str
    field: str
    expected: str
    actual: str

    def key(self, settings: Mapping[str, str]) -> str:
        """Return what names the judgement of this question under these settings of a judge."""
        return digest({"question": asdict(self), "settings": dict(settings)})

    @property
    def expected_first(self) -> bool:
        """Whether the expected text stands before the answer.

        A model may prefer what it reads first, so the content draws the order: the same for the
        same question, and either one in half of all questions.
        """
        return int(digest(asdict(self)), 16) % 2 == 0


def digest(value: object) -> str:
    """Hash a JSON value by its content."""
    return sha256(_KEY(value).encode()).hexdigest()
