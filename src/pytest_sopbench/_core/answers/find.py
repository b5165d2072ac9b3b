"""How an answer is found in what an agent returned."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from types import CoroutineType
from typing import Any, Final, cast

from pytest_sopbench._core.fields.values import (
    FieldNames,
    Key,
    field_names,
    read_boolean,
    value_key,
)
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import Compare, OutputField
from pytest_sopbench._core.model.trace import Answer, AnswerForm, Returned, ReturnedKind
from pytest_sopbench._core.model.usage import read_usage
from pytest_sopbench._core.values.json import (
    TEXT_LIMIT,
    JsonValue,
    call_safely,
    get_member,
    is_too_long,
    short_repr,
    to_json_value,
    type_name,
)
from pytest_sopbench._core.values.text import fold, is_empty

from .forms import FORMS, candidates, settled
from .text import AnswerCandidate, Search, search_text

# Choose among all that could be the answer, as a person who reads the text would.
#
# The last whole answer wins, whatever its form. What is not marked, as a line, never beats what is
# marked as final, nor does a value that any words would be beat anything marked.


@dataclass(frozen=True, slots=True)
class Choice:
    """The answer, or the best of what falls short of one."""

    answer: AnswerCandidate | None
    short: AnswerCandidate | None = None


def choose(
    search: Search, marked: Sequence[AnswerCandidate], weak: Sequence[AnswerCandidate]
) -> Choice:
    """Choose the answer; `marked` and `weak` are in order of trust."""
    whole = [one for one in marked if not search.missing(one.values)]
    best = _last(whole)
    for one in weak:
        if not search.missing(one.values) and _beats(one, best, whole):
            best = one
    taken_back = best and next(
        (one for one in marked if _takes_back(search.required, one, best)), None
    )
    if best is None or taken_back:
        return Choice(None, taken_back or _best_of_short(search, [*marked, *weak]))
    return Choice(best)


def _last(whole: Sequence[AnswerCandidate]) -> AnswerCandidate | None:
    # Of two that end at one place `max` takes the first, which is the more trusted.
    return max(whole, key=lambda one: one.end, default=None)


def _beats(
    weak: AnswerCandidate, best: AnswerCandidate | None, marked: Sequence[AnswerCandidate]
) -> bool:
    if best is None:
        return True
    if weak.free or any(one.explicit for one in marked):
        return False
    return best.end <= weak.start


def _takes_back(
    required: Sequence[OutputField], part: AnswerCandidate, whole: AnswerCandidate
) -> bool:
    """Whether a part of an answer stands after the whole one, and says otherwise."""
    return part.start >= whole.end and any(
        _key(field, part) != _key(field, whole) for field in required if field.name in part.values
    )


def _key(field: OutputField, found: AnswerCandidate) -> Key:
    # What is nested too deep is cut, as it is in the answer.
    return value_key(field, to_json_value(found.values[field.name]))


def _best_of_short(search: Search, found: Sequence[AnswerCandidate]) -> AnswerCandidate | None:
    return min(found, key=lambda one: len(search.missing(one.values)), default=None)


# Find the answer in what an agent returned.
#
# A mapping is the answer. In a text the last whole answer wins, whatever its form; forms are never
# combined.

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


# Find what an assistant said last, in the shapes that providers give to messages.

_ASSISTANT: Final = frozenset({"assistant", "ai", "aimessage", "aimessagechunk", "model"})
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "message"})


def last_assistant_text(messages: Sequence[JsonValue]) -> str | None:
    """Return the text of the last assistant message that has any."""
    for message in reversed(messages):
        if isinstance(message, Mapping) and _is_assistant(message):
            text = text_of(message.get("content", message.get("text")))
            if text:
                return text
    return None


def are_messages(values: Sequence[JsonValue]) -> bool:
    """Whether a list holds messages, which have a role, and not the blocks of one."""
    return any(isinstance(one, Mapping) and ("role" in one or _is_assistant(one)) for one in values)


def text_of(content: JsonValue) -> str | None:
    """Return the text of a text, a text block or a list of them, a line for each.

    What a model thought, and the calls it asked for, are no text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        text = content.get("text")
        kind = content.get("type", "text")
        return text if isinstance(text, str) and kind in _TEXT_BLOCKS else None
    if not isinstance(content, Sequence):
        return None
    texts = [text for text in map(text_of, content) if text is not None]
    return "\n".join(texts) if texts else None


def _is_assistant(message: Mapping[str, JsonValue]) -> bool:
    speaker = message.get("role", message.get("type"))
    return isinstance(speaker, str) and speaker.lower() in _ASSISTANT


# Unwrap what an agent returned: a mapping, a text, nothing, or something unusable.

_ENVELOPE: Final = frozenset({"output", "success", "error", "usage", "messages", "metadata"})
"""What an object may say of a run beside its output."""

_LISTS: Final[tuple[type, ...]] = (list, tuple)
_WRAPPERS_LIMIT: Final = 4
_WORDS_LIMIT: Final = 300


def read_returned(value: object) -> Returned:
    """Unwrap every supported shape; never raises, whatever the value does.

    A mapping, a model, a dataclass or a named tuple is an answer by fields, and where it also
    holds messages, `text` is what the assistant said last. Of a text, text blocks, or an object
    that wraps its output, the text is searched; `mapping` then holds the wrapper, since an
    output field may be called like a part of it.
    """
    notes: list[str] = []
    read = call_safely(lambda: _read(value, notes, 0), None)
    if read is None:
        return _unusable(value, notes)
    return _too_long(read) if is_too_long([read.text, dict(read.mapping)]) else read


def _too_long(read: Returned) -> Returned:
    """Leave out an answer as a whole: what stands at its end may be what counts."""
    return Returned(
        kind=ReturnedKind.UNUSABLE,
        problem=f"the agent returned more than {TEXT_LIMIT:,} characters, which nobody reads",
        declared_error=read.declared_error,
        usage=read.usage,
        notes=read.notes,
    )


def _read(value: Any, notes: list[str], depth: int) -> Returned:
    kind = cast("type[object]", type(value))
    if value is None:
        return Returned(kind=ReturnedKind.NOTHING, problem="the agent returned None")
    if issubclass(kind, str):
        return _text(cast("str", to_json_value(value, notes)), notes)
    if issubclass(kind, (bytes, bytearray, memoryview)):
        return _bytes(value, notes)
    if not hasattr(kind, "_fields") and issubclass(kind, _LISTS):
        return _blocks(to_json_value(value, notes), value, notes)
    return _object(value, notes, depth)


def _text(text: str, notes: list[str]) -> Returned:
    return Returned(kind=ReturnedKind.TEXT, text=text, notes=tuple(notes))


def _bytes(value: bytes, notes: list[str]) -> Returned:
    try:
        return _text(bytes(value).decode(), notes)
    except UnicodeDecodeError:
        problem = "the agent returned bytes that are not UTF-8"
        return Returned(kind=ReturnedKind.UNUSABLE, problem=problem, notes=tuple(notes))


def _blocks(values: JsonValue, value: object, notes: list[str]) -> Returned:
    blocks = values if isinstance(values, Sequence) else ()
    spoken = are_messages(blocks)
    text = last_assistant_text(blocks) if spoken else text_of(blocks)
    if text is None:
        problem = f"the agent returned a {type_name(value)} without any text"
        return Returned(kind=ReturnedKind.UNUSABLE, problem=problem, notes=tuple(notes))
    if not spoken and any(isinstance(one, bool | int | float) for one in blocks):
        notes.append(
            f"a {type_name(value)} was returned, of which only texts are read; "
            "return a mapping with the output fields"
        )
    messages = tuple(blocks) if spoken else ()
    return Returned(kind=ReturnedKind.TEXT, text=text, messages=messages, notes=tuple(notes))


def _object(value: Any, notes: list[str], depth: int) -> Returned:
    spoiled: list[str] = []
    copied = to_json_value(value, spoiled)
    # A plain dictionary runs no code of its own.
    is_plain = cast("type[object]", type(value)) is dict
    output: object = value.get("output") if is_plain else get_member(value, "output")
    if isinstance(copied, Mapping):
        notes.extend(note for note in spoiled if note not in notes)
        return _mapping(value, copied, output, notes, depth)
    if output is None or depth >= _WRAPPERS_LIMIT:
        # An object that only says why it has no output may still say that it failed.
        return _told(value, _unusable(value, notes))
    return _told(value, _read(output, notes, depth + 1))


def _mapping(
    value: object, copied: Mapping[str, JsonValue], output: object, notes: list[str], depth: int
) -> Returned:
    wraps = copied.keys() <= _ENVELOPE or "output" in copied
    mapping, failure = copied, None
    if output is not None and depth < _WRAPPERS_LIMIT:
        inside = _read(output, notes, depth + 1)
        text, mapping, failure = inside.text, {**copied, **inside.mapping}, inside.declared_error
    else:
        text = _spoken(copied.get("messages"))
    tells = wraps or "messages" in copied
    if not tells:
        # The judge asks no more of it where an output field is called so.
        failure = failure or _failure(copied.get("success"), copied.get("error"))
    merged = Returned(
        kind=ReturnedKind.TEXT if text and wraps else ReturnedKind.MAPPING,
        mapping=mapping,
        text=text,
        declared_error=failure,
        notes=tuple(notes),
    )
    return _told(value, merged) if tells else merged


def _spoken(messages: JsonValue) -> str:
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return ""
    return last_assistant_text(messages) or ""


def _told(value: object, read: Returned) -> Returned:
    """Add what an object says of its run: failure, consumption, messages."""
    notes = list(read.notes)
    messages = to_json_value(get_member(value, "messages"), notes)
    failure = _failure(get_member(value, "success"), get_member(value, "error"))
    return Returned(
        kind=read.kind,
        mapping=read.mapping,
        text=read.text,
        problem=read.problem,
        declared_error=failure or read.declared_error,
        usage=read_usage(get_member(value, "usage")),
        messages=tuple(messages) if isinstance(messages, list) else read.messages,
        notes=tuple(notes),
    )


def _failure(success: object, error: object) -> str | None:
    if success is None and error is None:
        return None
    if isinstance(error, BaseException):
        return _first_words(f"{type_name(error)}: {call_safely(lambda: str(error), '')}")
    words = to_json_value(error)
    if not _says_nothing(words):
        return _first_words(words if isinstance(words, str) else short_repr(words))
    return "success is False" if to_json_value(success) is False else None


def _says_nothing(words: JsonValue) -> bool:
    """Whether what is said of an error is that there is none: `none`, `false`, `{"code": 0}`."""
    if isinstance(words, str):
        return is_empty(words) or read_boolean(words) is False
    if isinstance(words, Mapping):
        return all(map(_says_nothing, words.values()))
    if isinstance(words, Sequence):
        return all(map(_says_nothing, words))
    return not words


def _first_words(text: str) -> str:
    return text if len(text) <= _WORDS_LIMIT else ready_to_cut(text)[:_WORDS_LIMIT]


def _unusable(value: object, notes: list[str]) -> Returned:
    problem = f"the agent returned a value of type {type_name(value)}"
    if issubclass(type(value), CoroutineType):
        problem = "the agent returned a coroutine: an await is missing in it"
    return Returned(kind=ReturnedKind.UNUSABLE, problem=problem, notes=tuple(notes))
