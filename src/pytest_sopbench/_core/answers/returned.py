"""Unwrap what an agent returned: a mapping, a text, nothing, or something unusable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CoroutineType
from typing import Any, Final, cast

from pytest_sopbench._core.fields.values import read_boolean
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.trace import Returned, ReturnedKind
from pytest_sopbench._core.model.usage import read_usage
from pytest_sopbench._core.values.foreign import call_safely, get_member, short_repr, type_name
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import is_empty
from pytest_sopbench._core.values.plain import TEXT_LIMIT, is_too_long, to_json_value

from .messages import are_messages, last_assistant_text, text_of

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
