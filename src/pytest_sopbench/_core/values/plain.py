"""Say any Python value in the words that JSON has.

Agents and tools hand over whatever they like; after this door there is only `JsonValue`, every
text can be encoded, and no container is shared with its owner.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Final, TypeVar, cast

from .foreign import ITERABLES, OPAQUE, call_safely, short_repr, type_name, unwrap
from .json import JsonValue

T = TypeVar("T")

DEPTH_LIMIT: Final = 100
"""Containers inside one another; what lies deeper is cut."""

SIZE_LIMIT: Final = 1_000_000
"""Values inside one value; the rest is cut, since a few shared lists can unfold without end."""

TEXT_LIMIT: Final = 4_000_000
"""Characters of one answer, and of what one tool call is given or returns; no more is read."""

_DIGIT_BITS: Final = 13_000  # Python refuses to write longer integers in decimal
_SMALL: Final = 2**64
_NOTES_LIMIT: Final = 20


def to_json_value(value: object, notes: list[str] | None = None) -> JsonValue:
    """Return a copy of `value` in JSON's words; never raises, whatever the value does.

    What could not be said as it was is told in `notes`, each kind once.
    """
    if type(value) is str and value.isascii():
        return value
    flat = _flat_copy(value)
    if flat is not None:
        return flat
    copier = _Copier([] if notes is None else notes)
    try:
        return copier.copy(value, 0)
    except RecursionError:
        # The caller itself stands so deep on the stack that there is no room for a walk.
        copier.note("a value nested too deep was cut")
        return "[nested too deep]"


def is_too_long(value: JsonValue) -> bool:
    """Whether the texts of a value have more characters than anybody reads."""
    if isinstance(value, str):
        return len(value) > TEXT_LIMIT
    left, waiting = TEXT_LIMIT, [value]
    while waiting and left >= 0:
        one = waiting.pop()
        if isinstance(one, str):
            left -= len(one)
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
            left -= sum(map(len, one))
        elif isinstance(one, list):
            waiting.extend(one)
    return left < 0


def escape_surrogates(text: str, notes: list[str] | None = None) -> str:
    """Return `text` with lone surrogates as backslash escapes, so that UTF-8 can hold it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        if notes is not None:
            _note(notes, "a broken character was written as a backslash escape")
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def _note(notes: list[str], words: str) -> None:
    if words not in notes and len(notes) < _NOTES_LIMIT:
        notes.append(words)


def _flat_copy(value: object) -> JsonValue:
    """Copy a mapping with nothing inside it that is more than a plain value; else `None`.

    Rows, arguments and answers mostly are such, and need no walk.
    """
    if type(value) is not dict:
        return None
    # A snapshot at once, as `_Copier._fitting` takes it.
    items = list(cast("dict[object, object]", value).items())
    for key, one in items:
        if type(key) is not str or not key.isascii():
            return None
        if not (type(one) is str and one.isascii()) and not _is_plain(one):
            return None
    return cast("JsonValue", dict(items)) if len(items) <= SIZE_LIMIT else None


def _is_plain(value: object) -> bool:
    # An ASCII text, which most are, is not asked about.
    kind = type(value)
    if kind is int:
        return -_SMALL < cast("int", value) < _SMALL
    if kind is float:
        return math.isfinite(cast("float", value))
    return value is None or kind is bool


class _Copier:
    """One walk through one value."""

    __slots__ = ("_left", "_notes", "_open")

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._open: set[int] = set()
        self._left = SIZE_LIMIT

    def note(self, words: str) -> None:
        _note(self._notes, words)

    def copy(self, value: object, depth: int) -> JsonValue:
        if type(value) is str:
            return value if value.isascii() else escape_surrogates(value, self._notes)
        if value is None or value is True or value is False:
            return value
        if type(value) is int or type(value) is float:
            return self._number(value)
        return self._inside(value, depth)

    def _number(self, value: float) -> JsonValue:
        if isinstance(value, int):
            if value.bit_length() <= _DIGIT_BITS:
                return value
            self.note("an integer of thousands of digits was written as hexadecimal text")
            return hex(value)
        if math.isfinite(value):
            return value
        self.note("a number that is not finite was written as text")
        return str(value)

    def _inside(self, value: object, depth: int) -> JsonValue:
        if depth >= DEPTH_LIMIT:
            self.note(f"a value nested more than {DEPTH_LIMIT} deep was cut")
            return "[nested too deep]"
        here = id(value)
        if here in self._open:
            self.note("a value that contains itself was cut")
            return "[contains itself]"
        self._open.add(here)
        try:
            return self._container(value, depth + 1)
        finally:
            self._open.discard(here)

    def _container(self, value: object, depth: int) -> JsonValue:
        if type(value) is dict:
            return self._mapping(cast("dict[object, object]", value), depth)
        if type(value) not in ITERABLES:
            return self._unusual(value, depth)
        values = self._fitting(cast("Collection[object]", value))
        copied = [self.copy(one, depth) for one in values]
        if type(value) is list or type(value) is tuple:
            return copied
        # A set has no order of its own, and another process would have another one.
        return sorted(copied, key=_as_text)

    def _mapping(self, value: dict[object, object], depth: int) -> JsonValue:
        copied: dict[str, JsonValue] = {}
        for key, one in self._fitting(value.items()):
            name = key if type(key) is str and key.isascii() else self._key(key, depth)
            if name in copied:
                self.note("two keys that are the same as text became one")
            copied[name] = self.copy(one, depth)
        return copied

    def _key(self, key: object, depth: int) -> str:
        if not isinstance(key, str):
            self.note("a key that is not text was written as text")
        copied = self.copy(key, depth)
        return copied if isinstance(copied, str) else _as_text(copied)

    def _fitting(self, values: Collection[T]) -> list[T]:
        """Take a snapshot at once: another thread of the agent may still be writing."""
        kept = list(values)
        self._left -= len(kept)
        if self._left >= 0:
            return kept
        self.note(f"only the first {SIZE_LIMIT:,} values were kept")
        room, self._left = self._left + len(kept), 0
        return kept[:room]

    def _unusual(self, value: object, depth: int) -> JsonValue:
        simpler = call_safely(lambda: unwrap(value, SIZE_LIMIT), OPAQUE)
        if simpler is OPAQUE:
            self.note(f"a value of type {type_name(value)} was written as its repr")
            return escape_surrogates(short_repr(value), self._notes)
        return self.copy(simpler, depth)


def _as_text(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)
