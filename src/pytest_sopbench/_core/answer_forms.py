"""The forms in which a text can hold an answer, each as a function from a search to a candidate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .field_names import FieldNames
from .grammars import Dialect
from .literals import Found, last_object
from .markup import Element, last_elements, tag_pattern, tags
from .models import FieldType, JsonValue, OutputField
from .spelling import fold
from .values import FALSE_WORDS, TRUE_WORDS
from .verdicts import AnswerForm
from .wrapping import bare_value, decoded

_FINAL_OUTPUT: Final = "final output"
_FINAL_DECISION: Final = "final decision"
_LONG: Final = 50_000
_WRAPPERS: Final = (_FINAL_OUTPUT, _FINAL_DECISION, "final response", "response", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What one form yields: perhaps not every field. `extra` are names that are no field."""

    values: Mapping[str, JsonValue]
    position: int
    extra: tuple[str, ...] = ()


class Search:
    """One text in which the answer to one task is looked for."""

    __slots__ = ("_elements", "names", "required", "text")

    def __init__(self, text: str, names: FieldNames, required: Sequence[OutputField]) -> None:
        self.text = text
        self.names = names
        self.required = required
        self._elements: dict[str, Element] | None = None

    @property
    def elements(self) -> dict[str, Element]:
        """The last element of each tag that matters, by folded name."""
        if self._elements is None:
            self._elements = {}
            if "<" in self.text:
                found = list(tags(self.text, _pattern(self.names.all)))
                self._elements = last_elements(self.text, found)
        return self._elements


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return tag_pattern((*names, *_WRAPPERS))


@lru_cache(maxsize=64)
def _line_pattern(names: str) -> re.Pattern[str]:
    bullets = r"[ \t]*(?:(?:[-*+>#\u2022]+|\d{1,3}[.)])[ \t]+)*"
    name = rf"(?P<mark>[*_`]*)(?P<name>{names})(?P<end>[*_`]*)"
    return re.compile(
        rf"^{bullets}{name}[ \t]*[:\uff1a](?P<rest>[^\n]*)", re.IGNORECASE | re.MULTILINE
    )


def _in_final_output(search: Search) -> Candidate | None:
    element = search.elements.get(_FINAL_OUTPUT)
    if element is None:
        return None
    found = last_object(element.inside, Dialect.JSON, search.names.any_in)
    if found is None and "&" in element.inside:
        found = last_object(decoded(element.inside), Dialect.JSON, search.names.any_in)
    return None if found is None else _of_object(search, found, element.start)


def _in_field_tags(search: Search) -> Candidate | None:
    elements = search.elements
    hits = {name: elements[spelled] for name, spelled in search.names.each if spelled in elements}
    if not hits:
        return None
    values = {name: _tag_value(element) for name, element in hits.items()}
    return Candidate(values=values, position=min(element.start for element in hits.values()))


def _in_final_decision(search: Search) -> Candidate | None:
    element = search.elements.get(_FINAL_DECISION)
    if element is None or len(search.required) != 1:
        return None
    values = {search.required[0].name: _tag_value(element)}
    return Candidate(values=values, position=element.start)


def _in_json(search: Search) -> Candidate | None:
    return _in_object(search, Dialect.JSON)


def _in_python(search: Search) -> Candidate | None:
    return _in_object(search, Dialect.PYTHON)


def _in_object(search: Search, dialect: Dialect) -> Candidate | None:
    # Of a long text it pays to know first whether any key of it can be a field.
    if len(search.text) > _LONG and not search.names.may_occur(search.text):
        return None
    found = last_object(search.text, dialect, search.names.any_in)
    return None if found is None else _of_object(search, found, found.start)


def _in_field_lines(search: Search) -> Candidate | None:
    values: dict[str, JsonValue] = {}
    starts: dict[str, int] = {}
    for match in _line_pattern(search.names.pattern).finditer(search.text):
        name = search.names.field_of(match["name"])
        value = _line_value(match["mark"], match["end"], match["rest"].strip())
        if name is not None and value is not None:
            values[name] = value
            starts[name] = match.start()
    return Candidate(values=values, position=min(starts.values())) if values else None


def _as_whole_text(search: Search) -> Candidate | None:
    if len(search.required) != 1:
        return None
    (field,) = search.required
    value = bare_value(search.text)
    known = {fold(label) for label in (*field.values, *field.aliases)}
    if field.type is FieldType.BOOLEAN:
        known |= TRUE_WORDS | FALSE_WORDS
    if not value or fold(value) not in known:
        return None
    return Candidate(values={field.name: value}, position=search.text.find(value))


def _of_object(search: Search, found: Found, position: int) -> Candidate:
    values, extra = search.names.split(found.value)
    return Candidate(values=values, position=position, extra=extra)


def _tag_value(element: Element) -> str:
    return bare_value(decoded(element.inside))


def _line_value(mark: str, end: str, rest: str) -> str | None:
    """Take off emphasis that began before the name; a line without value is a heading."""
    if mark and not end:
        # `**Field:** value` or `**Field: value**`
        shorter = rest.removeprefix(mark)
        rest = shorter if shorter != rest else rest.removesuffix(mark)
    return bare_value(rest) if rest else None


FORMS: Final[tuple[tuple[AnswerForm, Callable[[Search], Candidate | None]], ...]] = (
    (AnswerForm.FINAL_OUTPUT, _in_final_output),
    (AnswerForm.FIELD_TAGS, _in_field_tags),
    (AnswerForm.FINAL_DECISION, _in_final_decision),
    (AnswerForm.JSON, _in_json),
    (AnswerForm.PYTHON, _in_python),
    (AnswerForm.FIELD_LINES, _in_field_lines),
    (AnswerForm.WHOLE_TEXT, _as_whole_text),
)
"""In the order of search."""
