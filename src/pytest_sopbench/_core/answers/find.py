"""Find the answer in what an agent returned.

A mapping is the answer. In a text the last whole answer wins, whatever its form; forms are never
combined.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Final, cast

from pytest_sopbench._core.answers.forms.plain_values import settled
from pytest_sopbench._core.answers.forms.table import FORMS, candidates
from pytest_sopbench._core.answers.text.search import AnswerCandidate, Search
from pytest_sopbench._core.answers.text.search_text import search_text
from pytest_sopbench._core.fields.names import FieldNames, field_names
from pytest_sopbench._core.model.answer import Answer, AnswerForm
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.model.trace import Returned, ReturnedKind
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench._core.values.plain import to_json_value

from .precedence import choose

_KEYS: Final = 50
"""Keys of a mapping among which a misspelled one is looked for."""

_LONGEST: Final = 60
_ALIKE: Final = 0.8


def find_answer(returned: Returned, fields: tuple[OutputField, ...], sop: str = "") -> Answer:
    """Return the answer, or why there is none; a field that is to be ignored is never missing.

    What merely echoes a passage of the SOP is no answer.
    """
    names = field_names(tuple(field.name for field in fields))
    required = [field for field in fields if field.compare is not Compare.IGNORE]
    best: AnswerCandidate | None = None
    for hit in _hits(returned, names, required, sop):
        missing = _missing(hit, required)
        if not missing:
            return _answer(hit, required)
        if best is None or len(missing) < len(_missing(best, required)):
            best = hit
    return _no_answer(returned, best, required)


def _hits(
    returned: Returned, names: FieldNames, required: Sequence[OutputField], sop: str
) -> Iterator[AnswerCandidate]:
    # A mapping is the answer, but where it wraps a text, that text is.
    if returned.kind is ReturnedKind.MAPPING:
        yield from _in_mapping(returned, names)
    if returned.text:
        yield from _in_text(_unwrapped(returned.text), names, required, sop)
    if returned.kind is ReturnedKind.TEXT:
        yield from _in_mapping(returned, names)


def _in_mapping(returned: Returned, names: FieldNames) -> Iterator[AnswerCandidate]:
    values, extra = names.split(returned.mapping)
    if values:
        form = returned.found_as or AnswerForm.MAPPING
        yield AnswerCandidate(form=form, values=values, start=-1, end=-1, beside=extra)


def _in_text(
    text: str, names: FieldNames, required: Sequence[OutputField], sop: str
) -> Iterator[AnswerCandidate]:
    searched = search_text(text, names.folded)
    search = Search(searched.text, names, required, sop)
    choice = choose(search, candidates(search, marked=True), candidates(search, marked=False))
    found = choice.answer
    if found is None and (found := choice.short) is None:
        return
    yield AnswerCandidate(
        form=found.form,
        values=cast("Mapping[str, JsonValue]", to_json_value(found.values)),
        start=searched.original(found.start),
        end=found.end,
        beside=cast("Mapping[str, JsonValue]", to_json_value(found.beside)),
    )


def _unwrapped(text: str) -> str:
    """Return the text that stands in a text which is one JSON string, as frameworks hand it on."""
    stripped = text.strip()
    if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
        try:
            inside = json.loads(stripped)
        except ValueError:
            return text
        if "{" in inside or "<" in inside:
            return cast("str", inside)
    return text


def _missing(candidate: AnswerCandidate, required: Sequence[OutputField]) -> tuple[str, ...]:
    return tuple(field.name for field in required if field.name not in candidate.values)


def _answer(hit: AnswerCandidate, required: Sequence[OutputField]) -> Answer:
    told = {field.name: settled(field, hit.values[field.name]) for field in required}
    return Answer(
        values={**hit.values, **told},
        form=hit.form,
        position=None if hit.start < 0 else hit.start,
        extra=tuple(hit.beside),
        beside=hit.beside,
    )


def _no_answer(
    returned: Returned, best: AnswerCandidate | None, required: Sequence[OutputField]
) -> Answer:
    if best is None:
        return Answer(
            values={},
            form=AnswerForm.NOT_FOUND,
            missing=tuple(field.name for field in required),
            why=_nothing_found(returned, required),
        )
    missing = _missing(best, required)
    return Answer(
        values=best.values,
        form=AnswerForm.NOT_FOUND,
        missing=missing,
        extra=tuple(best.beside),
        beside=best.beside,
        why=f"{FORMS[best.form].words} gave no {', '.join(missing)}"
        f"{_misspelled(missing, best.beside)}",
    )


def _nothing_found(returned: Returned, required: Sequence[OutputField]) -> str:
    if returned.kind is ReturnedKind.NOTHING:
        return "the agent returned None"
    if returned.kind is ReturnedKind.UNUSABLE:
        return returned.problem
    if returned.text.strip():
        return "no answer was found in the text"
    if returned.kind is ReturnedKind.TEXT:
        return "the text is empty"
    if returned.mapping:
        return f"the mapping that was returned has {_given(returned.mapping, required)}"
    return "the mapping that was returned is empty"


def _given(mapping: Mapping[str, JsonValue], required: Sequence[OutputField]) -> str:
    """Say that a mapping has none of the fields, and which key of it may be one misspelled."""
    return f"none of the output fields{_misspelled([one.name for one in required], mapping)}"


def _misspelled(missing: Sequence[str], given: Iterable[str]) -> str:
    """Say which name that was given may be meant as one that is missing, or nothing."""
    names = {fold(str(one)): str(one) for one in islice(given, _KEYS) if len(one) <= _LONGEST}
    for name in missing:
        near = get_close_matches(fold(name), names, n=1, cutoff=_ALIKE)
        if near:
            return f"; is {names[near[0]]!r} meant as {name!r}?"
    return ""
