"""Find an answer among the JSON objects and Python dicts of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.answers.text.markup import elements, tags
from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search, pattern_of
from pytest_sopbench._core.answers.text.wrapping import bare_value, decoded
from pytest_sopbench._core.model.answer import AnswerForm
from pytest_sopbench._core.values.grammars import Dialect
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import objects
from pytest_sopbench._core.values.normalise import fold

from .bare_words import BareDict, bare_dicts
from .plain_values import Reading, plain_value

_LONG: Final = 50_000
_FINAL: Final = "final decision"
_GENERIC: Final = frozenset(
    {"final decision", "decision", "final answer", "answer", "final output", "result", "value"}
)
"""Keys under which one value may stand inside a tag that is an answer anyway."""


@dataclass(frozen=True, slots=True)
class AnswerObject:
    """An object in a text: the values of the fields, and what it says beside them."""

    start: int
    end: int
    values: Mapping[str, JsonValue]
    beside: Mapping[str, JsonValue]


def in_json(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the last whole answer among the JSON objects, and the last part of one."""
    return _of_form(search, AnswerForm.JSON)


def in_python(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the same of Python dicts, and then of dicts with bare words."""
    return _of_form(search, AnswerForm.PYTHON)


def _of_form(search: Search, form: AnswerForm) -> Iterator[AnswerCandidate]:
    for own, read in _READERS:
        if own is form:
            found = (_candidate(form, one) for one in read(search, search.text))
            yield from last_ones(search, found)


def object_inside(search: Search, text: str) -> AnswerObject | None:
    """Return the last object in the text of an element."""
    for inside in (text, decoded(text)) if "&" in text else (text,):
        last = (_last(search, read(search, inside)) for _, read in _READERS)
        found = [one for one in last if one is not None]
        if found:
            return min(found, key=lambda one: bool(search.missing(one.values)))
    generic = _generic(search, text)
    return None if generic is None else AnswerObject(0, len(text), generic, {})


def last_ones(search: Search, found: Iterable[AnswerCandidate]) -> Iterator[AnswerCandidate]:
    """Yield the last candidate that is whole, and the last one that is not; no echo is one."""
    whole: AnswerCandidate | None = None
    part: AnswerCandidate | None = None
    for one in found:
        is_part = bool(search.missing(one.values))
        best = part if is_part else whole
        if (best is None or one.end > best.end) and not search.is_echo(one):
            part, whole = (one, whole) if is_part else (part, one)
    yield from (one for one in (whole, part) if one is not None)


def _candidate(form: AnswerForm, found: AnswerObject) -> AnswerCandidate:
    return AnswerCandidate(
        form=form,
        values=found.values,
        start=found.start,
        end=found.end,
        beside=found.beside,
    )


def _last(search: Search, found: Iterator[AnswerObject]) -> AnswerObject | None:
    best: tuple[bool, int, AnswerObject] | None = None
    for one in found:
        rank = (not search.missing(one.values), one.end)
        if best is None or rank > best[:2]:
            best = (*rank, one)
    return None if best is None else best[2]


def _json(search: Search, text: str) -> Iterator[AnswerObject]:
    return _literals(search, text, Dialect.JSON)


def _python(search: Search, text: str) -> Iterator[AnswerObject]:
    return _literals(search, text, Dialect.PYTHON)


def _literals(search: Search, text: str, dialect: Dialect) -> Iterator[AnswerObject]:
    # Of a long text it pays to know first whether any key of it can be a field.
    if len(text) > _LONG and not search.names.may_occur(text):
        return
    for found in objects(text, dialect):
        if search.names.any_in(found.value):
            values, beside = search.names.split(found.value)
            unwrapped = {name: _unwrapped(search, name, value) for name, value in values.items()}
            yield AnswerObject(found.start, found.end, unwrapped, beside)


def _bare_words(search: Search, text: str) -> Iterator[AnswerObject]:
    for found in bare_dicts(text):
        if search.names.any_in(found.value):
            read = _known(search, found)
            if read is not None:
                yield read


def _known(search: Search, found: BareDict) -> AnswerObject | None:
    """Read a dict with bare words, each of which has to be a value of its field."""
    values, beside = search.names.split(found.value)
    bare = {search.names.field_of(key) for key in found.bare}
    for field in search.required:
        value = values.get(field.name)
        if field.name in bare and isinstance(value, str):
            read = plain_value(field, value)
            if read.reading is not Reading.EXACT:
                return None
            values[field.name] = read.value
    return AnswerObject(found.start, found.end, values, beside)


def _generic(search: Search, text: str) -> dict[str, JsonValue] | None:
    """Return the one field's value under a key that only says that it is the answer."""
    field = search.single
    if field is None or "{" not in text:
        return None
    for dialect in (Dialect.JSON, Dialect.PYTHON):
        for found in objects(text, dialect):
            if len(found.value) == 1 and fold(next(iter(found.value))) in _GENERIC:
                return {field.name: next(iter(found.value.values()))}
    for one in bare_dicts(text):
        ((key, value),) = one.value.items() if len(one.value) == 1 else (("", None),)
        read = plain_value(field, value) if isinstance(value, str) else None
        if fold(key) in _GENERIC and read is not None and read.reading is Reading.EXACT:
            return {field.name: read.value}
    return None


def _unwrapped(search: Search, name: str, value: JsonValue) -> JsonValue:
    """Take off a tag of the field's own around its value."""
    if not isinstance(value, str) or not value.lstrip().startswith("<"):
        return value
    found = elements(value, list(tags(value, pattern_of(search.names.all))))
    for spelled in (fold(name), _FINAL):
        for one in found.get(spelled, ()):
            if value[: one.start].strip() == value[one.end :].strip() == "":
                return bare_value(decoded(one.inside(value)))
    return value


_READERS: Final[tuple[tuple[AnswerForm, Callable[[Search, str], Iterator[AnswerObject]]], ...]] = (
    (AnswerForm.JSON, _json),
    (AnswerForm.PYTHON, _python),
    (AnswerForm.PYTHON, _bare_words),
)
