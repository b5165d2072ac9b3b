"""The marked forms in which a text can hold an answer: tags, JSON and dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_sopbench._core.answers.text.echoes import count_words
from pytest_sopbench._core.answers.text.escaped_tags import ANSWERS, DECISIONS, WRAPPERS
from pytest_sopbench._core.answers.text.markup import Element
from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search
from pytest_sopbench._core.answers.text.wrapping import bare_value, decoded
from pytest_sopbench._core.model.answer import AnswerForm
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue

from .objects import AnswerObject, last_ones, object_inside
from .plain_values import Reading, plain_value

_FINAL_OUTPUT, _FINAL_DECISION = DECISIONS
_FORMS: Final = {_FINAL_OUTPUT: AnswerForm.FINAL_OUTPUT}


def in_final_output(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer in a final output, and the last part of one."""
    return last_ones(search, _in_elements(search, (_FINAL_OUTPUT,)))


def in_final_decision(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer in a final decision, and then in what is called an answer."""
    yield from last_ones(search, _in_elements(search, (_FINAL_DECISION,)))
    yield from last_ones(search, _in_elements(search, (*ANSWERS, *WRAPPERS)))


def _in_elements(search: Search, names: Sequence[str]) -> Iterator[AnswerCandidate]:
    for name in names:
        # A field of that name has its own form, but a final decision is one.
        if name in search.names.folded:
            continue
        for element in search.elements(name):
            found = _in_element(search, element)
            if found is not None:
                yield found


def _in_element(search: Search, element: Element) -> AnswerCandidate | None:
    inside = element.inside(search.text)
    explicit = element.name in DECISIONS
    read = object_inside(search, inside) if explicit and "{" in inside else None
    if read is None:
        value = _only_value(search, element, inside)
        if value is None or search.single is None:
            return None
        read = AnswerObject(element.start, element.end, {search.single.name: value}, {})
    return AnswerCandidate(
        form=_FORMS.get(element.name, AnswerForm.FINAL_DECISION),
        values=read.values,
        start=element.start,
        end=element.end,
        tag_words=2 * count_words(element.name),
        beside=read.beside,
        explicit=explicit,
    )


def _only_value(search: Search, element: Element, inside: str) -> str | None:
    """Return the value that an element holds; only a final decision may hold any words."""
    field = search.single
    if field is None or search.holds_tags(element.inner_start, element.inner_end):
        return None
    value = bare_value(decoded(inside))
    read = plain_value(field, value)
    if element.name == _FINAL_DECISION and (element.closed or read.reading is not Reading.NONE):
        return value
    return read.value if read.reading is Reading.EXACT else None


def in_field_tags(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last element of each field together, and then each of them alone."""
    fields = {field.name: field for field in search.required}
    named = {
        name: [
            element
            for element in search.elements(spelled)
            if element.closed or _is_cut_off_value(search, fields.get(name), element)
        ]
        for name, spelled in search.names.each
    }
    while hits := {name: several[-1] for name, several in named.items() if several}:
        found = _together(search, hits)
        echo = search.echo(found)
        if echo is None:
            yield found
            if len(hits) > 1:
                yield from (_together(search, {name: hit}) for name, hit in hits.items())
            return
        for several in named.values():
            while several and several[-1].start >= echo.start:
                several.pop()


def _is_cut_off_value(search: Search, field: OutputField | None, element: Element) -> bool:
    """Whether an element that is never closed holds a value; prose names tags too."""
    inside = element.inside(search.text)
    if field is None or inside.startswith("{"):
        return True
    return plain_value(field, decoded(inside)).reading is not Reading.NONE


def _together(search: Search, hits: dict[str, Element]) -> AnswerCandidate:
    values = {name: _tag_value(search, name, hit) for name, hit in hits.items()}
    start = min(hit.start for hit in hits.values())
    last = max(hits.values(), key=lambda hit: hit.end)
    outer = [element for name in DECISIONS for element in search.elements(name)[-1:]]
    return AnswerCandidate(
        form=AnswerForm.FIELD_TAGS,
        values=values,
        start=start,
        end=last.end,
        tag_words=sum(map(count_words, values)),
        explicit=any(one.start <= start and last.end <= one.end for one in outer),
    )


def _tag_value(search: Search, name: str, element: Element) -> JsonValue:
    inside = element.inside(search.text)
    value = bare_value(decoded(inside))
    if value.startswith("{"):
        read = object_inside(search, value)
        if read is not None and name in read.values:
            return read.values[name]
    return value
