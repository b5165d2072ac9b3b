"""How an answer is found in what an agent returned."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from types import CoroutineType
from typing import Any, Final, cast

from pytest_sopbench._core.fields.values import (
    FieldNames,
    field_names,
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
    to_json_value,
    type_name,
)
from pytest_sopbench._core.values.text import fold

from .after import quoted, told_beside
from .reader import Reader
from .values import failure_in, is_placeholder, settled

# Find the answer in what an agent returned.
#
# A mapping is the answer. In a text the last mark counts, or else the last run of lines.

_KEYS: Final = 50
"""Keys of a mapping among which a misspelled one is looked for."""

_HEAD: Final = 2_000
_PRINTED: Final = re.compile(
    r"""AIMessage\(content=('(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+")[,)]"""
)
_LONGEST: Final = 60
_ALIKE: Final = 0.8


def find_answer(returned: Returned, fields: tuple[OutputField, ...], sop: str = "") -> Answer:
    """Return the answer, or why there is none; a field that is to be ignored is never missing.

    What merely echoes a passage of the SOP is no answer.
    """
    names = field_names(tuple(field.name for field in fields))
    required = [field for field in fields if field.compare is not Compare.IGNORE]
    short: list[Answer] = []
    is_mapping = returned.kind is ReturnedKind.MAPPING
    against, (given, beside) = "", names.split(returned.mapping)
    # Two keys are one field only if some are left over.
    is_split_whole = len(given) + len(beside) == len(returned.mapping)
    if not is_split_whole and (twice := names.contradicted(returned.mapping)):
        against = f"one field has two values: {quoted(twice)}"
    elif is_mapping and given:
        against = _doubt_of(given, beside, required)
    # A mapping is the answer, but if it wraps a text, that text is.
    order = (
        (ReturnedKind.MAPPING, ReturnedKind.TEXT)
        if is_mapping
        else (ReturnedKind.TEXT, ReturnedKind.MAPPING)
    )
    for source in () if against else order:
        if source is ReturnedKind.MAPPING:
            form = returned.found_as or AnswerForm.MAPPING
            found = _answer(form, given, beside, None, required) if given else None
        elif source is ReturnedKind.TEXT and returned.text:
            found, against = _in_text(returned.text, names, required, sop)
        else:
            continue
        if found and found.complete:
            return found
        short += [found] if found else []
    if not short or against:
        why = f"{against or _nothing_found(returned, required)}{_how_to_mark(returned, required)}"
        values: Mapping[str, JsonValue] = short[0].values if short and against else {}
        missing = tuple(field.name for field in required if field.name not in values)
        return Answer(
            values=values,
            form=AnswerForm.NOT_FOUND,
            missing=missing or tuple(field.name for field in required),
            why=why,
        )
    return min(short, key=lambda one: len(one.missing))


def _doubt_of(
    values: Mapping[str, JsonValue],
    beside: Mapping[str, JsonValue],
    required: Sequence[OutputField],
) -> str:
    """Return why a mapping is no answer yet: it says so, or a value is still to be filled in."""
    if beside and (told := told_beside(beside, required)):
        return f"beside the answer stands {quoted(told)}"
    for field in required:
        if field.compare is Compare.PRESENT and is_placeholder(field, values.get(field.name)):
            return f"{field.name} is still to be filled in: {quoted(str(values[field.name]))}"
    return ""


def _in_text(
    text: str, names: FieldNames, required: Sequence[OutputField], sop: str
) -> tuple[Answer | None, str]:
    reader = Reader(_unwrapped(text), names, required, sop)
    found = reader.find()
    one = found.answer or found.short
    if one is None:
        return None, found.against
    values, beside = (
        cast("Mapping[str, JsonValue]", to_json_value(it)) for it in (one.values, one.beside)
    )
    position = reader.seen.original(one.start)
    told = dict[str, JsonValue]() if found.against else values
    return _answer(one.form, told, beside, position, required), found.against


def _unwrapped(text: str) -> str:
    """Return the text in a JSON string or a message, if a text is just that."""
    stripped = text.strip()
    if stripped.startswith("{") and '"assistant"' in stripped[:_HEAD]:
        message = call_safely(lambda: json.loads(stripped), None)
        return last_assistant_text([message]) or text
    printed = _PRINTED.match(stripped)
    if printed:
        return call_safely(lambda: str(literal_eval(printed[1])), text)
    if len(stripped) > 1 and stripped.startswith('"') and stripped.endswith('"'):
        try:
            inside = json.loads(stripped)
        except ValueError:
            return text
        if "{" in inside or "<" in inside:
            return cast("str", inside)
    return text


def _answer(
    form: str,
    values: Mapping[str, JsonValue],
    beside: Mapping[str, JsonValue],
    position: int | None,
    required: Sequence[OutputField],
) -> Answer:
    told: dict[str, JsonValue] = {}
    missing: tuple[str, ...] = ()
    for field in required:
        if field.name in values:
            told[field.name] = settled(field, values[field.name])
        else:
            missing = (*missing, field.name)
    if missing:
        why = f"{_SHORT.get(form, 'the answer')} gave no {', '.join(missing)}"
        return Answer(
            values=values,
            form=AnswerForm.NOT_FOUND,
            missing=missing,
            extra=tuple(beside),
            beside=beside,
            why=why + _misspelled(missing, beside),
        )
    return Answer(
        values={**values, **told}, form=form, position=position, extra=tuple(beside), beside=beside
    )


_SHORT: Final[Mapping[str, str]] = {
    AnswerForm.MAPPING: "the mapping that was returned",
    AnswerForm.FINAL_OUTPUT: "the JSON in <final_output>",
    AnswerForm.FINAL_DECISION: "the JSON in <final_decision>",
    AnswerForm.FIELD_TAGS: "the tags",
    AnswerForm.JSON: "the last JSON object",
    AnswerForm.PYTHON: "the last Python dict",
}


def _how_to_mark(returned: Returned, required: Sequence[OutputField]) -> str:
    if not returned.text.strip() or not required:
        return ""
    name = required[0].name
    return f"; mark it: <{name}>...</{name}>" + (" and so on" if len(required) > 1 else "")


def _nothing_found(returned: Returned, required: Sequence[OutputField]) -> str:
    if returned.kind is ReturnedKind.NOTHING:
        return "the agent returned None"
    if returned.kind is ReturnedKind.UNUSABLE:
        return returned.problem
    if returned.text.strip():
        return "no answer was found in the text"
    if returned.messages or returned.kind is ReturnedKind.TEXT:
        return (
            "the last assistant message has no text" if returned.messages else "the text is empty"
        )
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
_OTHERS: Final = frozenset(
    ("user", "human", "humanmessage", "system", "systemmessage", "developer", "tool",
     "toolmessage", "function", "functionmessage", "function_call_output", "reasoning")
)  # fmt: skip
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "message"})


def last_assistant_text(messages: Sequence[JsonValue]) -> str | None:
    """Return the text of the last message that is not another's, if it is an assistant's.

    It is empty if that message calls a tool, refuses, or has a form that nobody knows.
    """
    for message in reversed(messages):
        if isinstance(message, Mapping) and _is_assistant(message):
            return text_of(message.get("content", message.get("text"))) or ""
        if not isinstance(message, Mapping) or _speaker(message) not in _OTHERS:
            return ""
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
    return _speaker(message) in _ASSISTANT


def _speaker(message: Mapping[str, JsonValue]) -> str:
    return str(message.get("role", message.get("type"))).lower()


# Unwrap what an agent returned: a mapping, a text, nothing, or something unusable.

_ENVELOPE: Final = frozenset({"output", "success", "error", "usage", "messages", "metadata"})
"""What an object may say of a run beside its output."""

_LISTS: Final[tuple[type, ...]] = (list, tuple)
_WRAPPERS_LIMIT: Final = 4
_WORDS_LIMIT: Final = 300


def read_returned(value: object) -> Returned:
    """Unwrap every supported shape; never raises, whatever the value does.

    A mapping, a model, a dataclass or a named tuple is an answer by fields, and if it also
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
        notes += spoiled if not notes else [note for note in spoiled if note not in notes]
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
        text = _spoken(copied["messages"]) if "messages" in copied else ""
    told = failure or failure_in(copied)
    merged = Returned(
        kind=ReturnedKind.TEXT if text and wraps else ReturnedKind.MAPPING,
        mapping=mapping,
        text=text,
        # The judge asks no more of it if an output field is called so.
        declared_error=_first_words(told) if told else None,
        notes=tuple(notes),
    )
    return _told(value, merged) if wraps or "messages" in copied else merged


def _spoken(messages: JsonValue) -> str:
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        return ""
    return last_assistant_text(messages) or ""


def _told(value: object, read: Returned) -> Returned:
    """Add what an object says of its run: failure, consumption, messages."""
    notes = list(read.notes)
    messages = to_json_value(get_member(value, "messages"), notes)
    error = get_member(value, "error")
    if isinstance(error, BaseException):
        failure = f"{type_name(error)}: {call_safely(lambda: str(error), '')}"
    else:
        said = to_json_value({"success": get_member(value, "success"), "error": error})
        failure = failure_in(cast("Mapping[str, JsonValue]", said))
    return Returned(
        kind=read.kind,
        mapping=read.mapping,
        text=read.text,
        problem=read.problem,
        declared_error=_first_words(failure) if failure else read.declared_error,
        usage=read_usage(get_member(value, "usage")),
        messages=tuple(messages) if isinstance(messages, list) else read.messages,
        notes=tuple(notes),
    )


def _first_words(text: str) -> str:
    return text if len(text) <= _WORDS_LIMIT else ready_to_cut(text)[:_WORDS_LIMIT]


def _unusable(value: object, notes: list[str]) -> Returned:
    problem = f"the agent returned a value of type {type_name(value)}"
    if issubclass(type(value), CoroutineType):
        problem = "the agent returned a coroutine: an await is missing in it"
    return Returned(kind=ReturnedKind.UNUSABLE, problem=problem, notes=tuple(notes))
