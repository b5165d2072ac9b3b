"""Find the answer in what an agent returned.

The forms are tried in the order of `AnswerForm`; in each the last occurrence wins, and one that
does not yield every field is passed over. Forms are never combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from .answer_forms import FORMS, Candidate, Search
from .field_names import FieldNames, field_names
from .models import Compare, JsonValue, OutputField
from .plain import encodable, plain
from .search_text import search_text
from .traces import Returned, ReturnedKind
from .verdicts import Answer, AnswerForm

_Hit = tuple[AnswerForm, Candidate]

_IN_WORDS: Final[Mapping[AnswerForm, str]] = {
    AnswerForm.MAPPING: "the mapping that was returned",
    AnswerForm.FINAL_OUTPUT: "the JSON in <final_output>",
    AnswerForm.FIELD_TAGS: "the tags",
    AnswerForm.JSON: "the last JSON object",
    AnswerForm.PYTHON: "the last Python dict",
    AnswerForm.FIELD_LINES: "the `Field: value` lines",
}


def find_answer(returned: Returned, fields: tuple[OutputField, ...]) -> Answer:
    """Return the answer, or why there is none; a field that is to be ignored is never missing."""
    names = field_names(tuple(field.name for field in fields))
    required = [field for field in fields if field.compare is not Compare.IGNORE]
    best: _Hit | None = None
    for hit in _hits(returned, names, required):
        missing = _missing(hit[1], required)
        if not missing:
            return _answer(hit)
        if best is None or len(missing) < len(_missing(best[1], required)):
            best = hit
    return _no_answer(returned, best, required)


def _hits(returned: Returned, names: FieldNames, required: Sequence[OutputField]) -> Iterator[_Hit]:
    # A mapping is the answer, but where it wraps a text, that text is.
    if returned.kind is ReturnedKind.MAPPING:
        yield from _in_mapping(returned.mapping, names)
    if returned.text:
        yield from _in_text(returned.text, names, required)
    if returned.kind is ReturnedKind.TEXT:
        yield from _in_mapping(returned.mapping, names)


def _in_mapping(mapping: Mapping[str, JsonValue], names: FieldNames) -> Iterator[_Hit]:
    values, extra = names.split(mapping)
    if values:
        yield AnswerForm.MAPPING, Candidate(values=values, position=-1, extra=extra)


def _in_text(text: str, names: FieldNames, required: Sequence[OutputField]) -> Iterator[_Hit]:
    searched = search_text(text, names.folded)
    search = Search(searched.text, names, required)
    for form, find in FORMS:
        candidate = find(search)
        if candidate is not None:
            yield (
                form,
                Candidate(
                    values=cast("Mapping[str, JsonValue]", plain(candidate.values)),
                    position=searched.original(candidate.position),
                    extra=tuple(map(encodable, candidate.extra)),
                ),
            )


def _missing(candidate: Candidate, required: Sequence[OutputField]) -> tuple[str, ...]:
    return tuple(field.name for field in required if field.name not in candidate.values)


def _answer(hit: _Hit) -> Answer:
    form, candidate = hit
    return Answer(
        values=candidate.values,
        form=form,
        position=None if form is AnswerForm.MAPPING else candidate.position,
        extra=candidate.extra,
    )


def _no_answer(returned: Returned, best: _Hit | None, required: Sequence[OutputField]) -> Answer:
    if best is None:
        return Answer(
            values={},
            form=AnswerForm.NOT_FOUND,
            missing=tuple(field.name for field in required),
            why=_nothing_found(returned),
        )
    form, candidate = best
    missing = _missing(candidate, required)
    return Answer(
        values=candidate.values,
        form=AnswerForm.NOT_FOUND,
        missing=missing,
        extra=candidate.extra,
        why=f"{_IN_WORDS[form]} gave no {', '.join(missing)}",
    )


def _nothing_found(returned: Returned) -> str:
    if returned.kind is ReturnedKind.NOTHING:
        return "the agent returned None"
    if returned.kind is ReturnedKind.UNUSABLE:
        return returned.problem
    if returned.text.strip():
        return "no answer was found in the text"
    if returned.kind is ReturnedKind.TEXT:
        return "the text is empty"
    if returned.mapping:
        return "the mapping that was returned has none of the output fields"
    return "the mapping that was returned is empty"
