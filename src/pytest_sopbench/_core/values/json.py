"""JSON values at the door: plain, strict, foreign ones turned away."""

from __future__ import annotations

import json
import math
import re
from collections import UserString
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from math import isfinite
from pathlib import PurePath
from typing import Any, Final, NoReturn, TypeAlias, TypeGuard, TypeVar, cast
from uuid import UUID

from pytest_sopbench._core.hiding import ready_to_cut

# JSON values: what they are, and when two of them are equal.

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
"""What JSON can say; the only kind of value that leaves an agent or a tool."""


def key_of(value: JsonValue) -> Hashable:
    """Return what is equal for equal JSON values, and can be counted."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        # In Python `True == 1`; in JSON it is not.
        return ("boolean", value)
    if isinstance(value, int | float):
        return ("number", value)
    if isinstance(value, Mapping):
        return ("object", frozenset((name, key_of(one)) for name, one in value.items()))
    return ("list", tuple(key_of(one) for one in value))


def same_json(one: JsonValue, other: JsonValue) -> bool:
    return key_of(one) == key_of(other)


def is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def kind_of(value: JsonValue) -> str:
    """Return what a value is, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list"


# Take a value that JSON has no word for one step nearer to one that it has.
#
# The code of such a value is the user's: whatever it raises is kept away from the run.

ITERABLES: Final[frozenset[type]] = frozenset({list, tuple, set, frozenset})
"""The containers beside `dict` that need no unwrapping."""

OPAQUE: Final = object()
"""Stands for a value of which nothing but its repr can be said."""

REPR_LIMIT: Final = 200
"""Characters kept of a repr."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]{1,32}")
_NAME_LIMIT: Final = 80


def call_safely(action: Callable[[], T], otherwise: T) -> T:
    """Run a value's own code; whatever it raises, but Ctrl-C, means `otherwise`."""
    try:
        return action()
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - this is the user's code, and it may even call sys.exit
        return otherwise


def type_name(value: object) -> str:
    """Name the type of a value; a metaclass may lie about it, but never break us."""
    kind = type(value)
    name = call_safely(lambda: f"{kind.__module__}.{kind.__qualname__}", "object")
    short = name.removeprefix("builtins.")
    short = short if len(short) <= _NAME_LIMIT else ready_to_cut(short)[:_NAME_LIMIT]
    return short.encode("utf-8", "backslashreplace").decode()


def short_repr(value: object) -> str:
    """Return the repr, cut, and without memory addresses, which differ from run to run."""
    words = call_safely(lambda: str.__str__(repr(value)), f"<{type_name(value)}>")
    cut = words if len(words) <= REPR_LIMIT else f"{ready_to_cut(words)[:REPR_LIMIT]}..."
    return _ADDRESS.sub("", cut)


def get_member(value: object, name: str) -> object:
    """Return a key of a mapping or an attribute of an object; `None` if it has none."""
    return call_safely(lambda: _member(value, name), None)


def unwrap(value: object, limit: int) -> object:
    """Return something simpler that says the same, or `OPAQUE`.

    At most `limit` values are taken from a container. Raises whatever the value's code raises.
    """
    # Not by isinstance: a value may lie about its class, and may do so differently each time.
    kind = type(value)
    for kinds, reader in _READERS:
        if issubclass(kind, kinds):
            return reader(value, limit)
    return _by_shape(value, kind)


def _member(value: Any, name: str) -> object:
    if issubclass(type(value), Mapping):
        found: object = value.get(name)
        return found
    return getattr(value, name, None)


def _by_shape(value: Any, kind: type[object]) -> object:
    # Looked up on the type: a mock has every attribute that it is asked for.
    for names in ("__dataclass_fields__", "__struct_fields__"):
        if (fields := getattr(kind, names, None)) is not None:
            return {name: getattr(value, name) for name in fields}
    if (attributes := getattr(kind, "__attrs_attrs__", None)) is not None:
        return {attribute.name: getattr(value, attribute.name) for attribute in attributes}
    for method in ("model_dump", "tolist", "item"):
        if callable(getattr(kind, method, None)):
            simpler: object = getattr(value, method)()
            return OPAQUE if type(simpler) is kind else simpler
    return OPAQUE


def _decoded(value: Any, limit: int) -> object:
    del limit
    # What is not UTF-8 becomes lone surrogates here, which the next step escapes and notes.
    return bytes(value).decode("utf-8", "surrogateescape")


def _decimal(value: Decimal, limit: int) -> object:
    del limit
    words = str(value)
    number = float(words) if value.is_finite() else 0.0
    if not value.is_finite() or not isfinite(number) or Decimal(repr(number)) != value:
        return words
    return int(words) if words.lstrip("-").isdigit() else number


def _opaque(value: Any, limit: int) -> object:
    del value, limit
    return OPAQUE


def _tuple(value: tuple[Any, ...], limit: int) -> object:
    kind: Any = type(value)
    names: tuple[str, ...] | None = getattr(kind, "_fields", None)
    if names is None:
        return _sequence(value, limit)
    return dict(zip(names, value, strict=True))


def _mapping(value: Mapping[Any, Any], limit: int) -> dict[Any, Any]:
    return dict(islice(value.items(), limit))


def _set(value: AbstractSet[Any], limit: int) -> frozenset[Any]:
    return frozenset(islice(value, limit))


def _sequence(value: Sequence[Any], limit: int) -> list[Any]:
    return list(islice(value, limit))


_READERS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any, int], object]], ...]] = (
    (type, _opaque),
    (Enum, lambda value, _: value.value),
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, _: int.__int__(value)),
    (float, lambda value, _: float.__float__(value)),
    (Decimal, _decimal),
    ((bytes, bytearray, memoryview), _decoded),
    ((date, time), lambda value, _: value.isoformat()),
    ((PurePath, UUID, UserString), lambda value, _: str(value)),
    (tuple, _tuple),
    (Mapping, _mapping),
    (AbstractSet, _set),
    (Sequence, _sequence),
)


# Say any Python value in the words that JSON has.
#
# Agents and tools hand over whatever they like; after this door there is only `JsonValue`, every
# text can be encoded, and no container is shared with its owner.

T = TypeVar("T")

DEPTH_LIMIT: Final = 100
"""Containers inside one another; what lies deeper is cut."""

SIZE_LIMIT: Final = 1_000_000
"""Values inside one value; the rest is cut, since a few shared lists can unfold without end."""

TEXT_LIMIT: Final = 4_000_000
"""Characters of one answer, and of what one tool call is given or returns; no more is read."""

_DIGIT_BITS: Final = 13_000  # Python refuses to write longer integers in decimal
_NOTES_LIMIT: Final = 20


def to_json_value(value: object, notes: list[str] | None = None) -> JsonValue:
    """Return a copy of `value` in JSON's words; never raises, whatever the value does.

    What could not be said as it was is told in `notes`, each kind once.
    """
    if type(value) is str and value.isascii():
        return value
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


class _Copier:
    """One walk through one value."""

    __slots__ = ("_left", "_notes", "_open")

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self._open: set[int] = set()
        self._left = SIZE_LIMIT

    def note(self, words: str) -> None:
        _note(self._notes, words)

    def copy(self, value: object, depth: int) -> JsonValue:  # noqa: PLR0911 - one for each kind of value
        if type(value) is str:
            return value if value.isascii() else escape_surrogates(value, self._notes)
        is_word = value is None or value is True or value is False
        if is_word or (type(value) is float and isfinite(value)):
            return cast("JsonValue", value)
        if type(value) is int or type(value) is float:
            return self._number(value)
        if depth >= DEPTH_LIMIT:
            self.note(f"a value nested more than {DEPTH_LIMIT} deep was cut")
            return "[nested too deep]"
        here = id(value)
        if here in self._open:
            self.note("a value that contains itself was cut")
            return "[contains itself]"
        self._open.add(here)
        try:
            if type(value) is not dict:
                return self._other(value, depth + 1)
            copied: dict[str, JsonValue] = {}
            # A snapshot at once: another thread of the agent may still be writing.
            pairs = list(cast("dict[object, object]", value).items())
            self._left -= len(pairs)
            if self._left < 0:
                pairs = self._first(pairs)
            for key, one in pairs:
                name = key if type(key) is str and key.isascii() else self._key(key, depth + 1)
                if name in copied:
                    self.note("two keys that are the same as text became one")
                # Nearly every value is such a text.
                is_plain = type(one) is str and one.isascii()
                copied[name] = cast("str", one) if is_plain else self.copy(one, depth + 1)
            return copied
        finally:
            self._open.discard(here)

    def _number(self, value: float) -> JsonValue:
        if isinstance(value, int):
            if value.bit_length() <= _DIGIT_BITS:
                return value
            self.note("an integer of thousands of digits was written as hexadecimal text")
            return hex(value)
        self.note("a number that is not finite was written as text")
        return str(value)

    def _other(self, value: object, depth: int) -> JsonValue:
        if type(value) not in ITERABLES:
            return self._unusual(value, depth)
        values = list(cast("Collection[object]", value))
        self._left -= len(values)
        if self._left < 0:
            values = self._first(values)
        copied = [self.copy(one, depth) for one in values]
        if type(value) is list or type(value) is tuple:
            return copied
        # A set has no order of its own, and another process would have another one.
        return sorted(copied, key=_as_text)

    def _key(self, key: object, depth: int) -> str:
        if not isinstance(key, str):
            self.note("a key that is not text was written as text")
        copied = self.copy(key, depth)
        return copied if isinstance(copied, str) else _as_text(copied)

    def _first(self, values: list[T]) -> list[T]:
        """Return those for which there was room left before they were taken off it."""
        self.note(f"only the first {SIZE_LIMIT:,} values were kept")
        room, self._left = self._left + len(values), 0
        return values[:room]

    def _unusual(self, value: object, depth: int) -> JsonValue:
        simpler = call_safely(lambda: unwrap(value, SIZE_LIMIT), OPAQUE)
        if simpler is OPAQUE:
            self.note(f"a value of type {type_name(value)} was written as its repr")
            return escape_surrogates(short_repr(value), self._notes)
        return self.copy(simpler, depth)


def _as_text(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


# Read JSON as its standard has it: no key twice in an object, no NaN, no number without end.

_SHOWN: Final = 60
"""Characters of a key or a number that a message shows."""


class RefusedError(ValueError):
    """Something that Python's reader takes, and JSON does not have; the message says what."""


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = f"key {_cut(_first_twice(pairs))!r} stands twice in one object"
        raise RefusedError(msg)
    return found


def _first_twice(pairs: list[tuple[str, JsonValue]]) -> str:
    """Return the key that is the first to come back; a text may have hundreds of thousands."""
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


def _constant(text: str) -> NoReturn:
    msg = f"{text} is not a JSON value"
    raise RefusedError(msg)


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        msg = f"the number {_cut(text)} is too large"
        raise RefusedError(msg)
    return number


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_float=_float
)
"""Made once, since `json.loads` makes another at each call. It raises `RefusedError`, and what any
decoder raises: `JSONDecodeError`, `RecursionError`, and `ValueError` for an integer of more digits
than Python reads."""
