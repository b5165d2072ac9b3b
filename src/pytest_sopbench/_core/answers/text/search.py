"""One text in which the answer to one task is looked for, and what is found in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.names import FieldNames
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue

from .echoes import MORE, Echoes, Passage, count_words
from .escaped_tags import ANSWERS, DECISIONS, WRAPPERS
from .markup import Element, elements, tag_pattern, tags

_BLANK: Final = re.compile(r"\.{3}|\u2026")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerCandidate:
    """What one form yields, perhaps not for every field, and where it stands.

    `beside` is what an object says of other names. `tag_words` are the words that tags take up
    in it. `explicit` is what is marked as the final answer, `free` a value that any words would
    be.
    """

    form: str
    values: Mapping[str, JsonValue]
    start: int
    end: int
    beside: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    tag_words: int = 0
    explicit: bool = False
    free: bool = False


@dataclass(slots=True)
class _Tags:
    by_name: dict[str, list[Element]] = field(default_factory=dict[str, list[Element]])
    starts: list[int] = field(default_factory=list[int])


class Search:
    """The text, the fields that are asked for, and the passages of the SOP in the text."""

    __slots__ = ("_echoes", "_tags", "names", "required", "text")

    def __init__(
        self, text: str, names: FieldNames, required: Sequence[OutputField], sop: str = ""
    ) -> None:
        self.text = text
        self.names = names
        self.required = required
        self._echoes = Echoes(text, sop)
        self._tags: _Tags | None = None

    @property
    def single(self) -> OutputField | None:
        """The one field that is asked for, or `None` where there are several."""
        return self.required[0] if len(self.required) == 1 else None

    def elements(self, name: str) -> list[Element]:
        """Return the elements of a folded name that matters, the last one last."""
        return self._found().by_name.get(name, [])

    def holds_tags(self, start: int, end: int) -> bool:
        """Whether a tag that matters begins in this stretch of the text."""
        starts = self._found().starts
        place = bisect_left(starts, start)
        return place < len(starts) and starts[place] < end

    def echo(self, found: AnswerCandidate) -> Passage | None:
        """Return the passage of the SOP that a candidate merely stands in, if any."""
        around = self._echoes.around(found.start, found.end)
        if not around:
            return None
        # Only here are words counted: objects inside one another share theirs.
        own = found.tag_words + count_words(found.values)
        return next((passage for passage in around if passage.words - own >= MORE), None)

    def is_echo(self, found: AnswerCandidate) -> bool:
        """Whether a candidate says nothing: a passage, an example, or a form to be filled in."""
        return (
            self.echo(found) is not None
            or self._echoes.quotes(found.beside)
            or _is_a_form(found.values)
        )

    def missing(self, values: Mapping[str, JsonValue]) -> tuple[str, ...]:
        return tuple(one.name for one in self.required if one.name not in values)

    def _found(self) -> _Tags:
        if self._tags is None:
            self._tags = _Tags()
            if "<" in self.text:
                found = list(tags(self.text, pattern_of(self.names.all)))
                self._tags = _Tags(elements(self.text, found), [tag.start for tag in found])
        return self._tags


def _is_a_form(values: Mapping[str, JsonValue]) -> bool:
    return bool(values) and all(
        isinstance(value, str) and _BLANK.fullmatch(value.strip()) for value in values.values()
    )


@lru_cache(maxsize=64)
def pattern_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the tags that matter where these are the output fields."""
    return tag_pattern((*names, *DECISIONS, *WRAPPERS, *ANSWERS))
