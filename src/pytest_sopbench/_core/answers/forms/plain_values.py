"""Tell whether words are just a value of an output field, and nothing more."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.answers.text.wrapping import bare_value
from pytest_sopbench._core.fields.values import read_boolean, value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.literals import read_list
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._core.values.quantities import read_moment, read_number

_STOPS: Final = ".!\u3002\uff0e\uff01"
_SYMBOLS: Final = "\u2600"
_AS_PICTURE: Final = "\ufe0f"
_LONGEST_LABEL: Final = 1_000


class Reading(Enum):
    """How words read as a value: not at all, as any words would, or as just this value."""

    NONE = 0
    ANY_WORDS = 1
    EXACT = 2


@dataclass(frozen=True, slots=True)
class PlainValue:
    """Words that are a value, without a full stop after it, and how they read."""

    value: str
    reading: Reading


def plain_value(field: OutputField, words: str) -> PlainValue:
    """Read words as a value: a known label, or what the field's type asks for.

    A full stop after it is left out. Where the field takes any words, any words are a value.
    """
    bare = bare_value(words)
    for value in (bare, bare_value(_without_end(bare)) if _has_end(bare) else ""):
        if value and _reads(field, value):
            return PlainValue(value, Reading.EXACT)
    if bare and (field.compare is not Compare.EXACT or _takes_any(field)):
        return PlainValue(bare, Reading.ANY_WORDS)
    return PlainValue(bare, Reading.NONE)


def settled(field: OutputField, value: JsonValue) -> JsonValue:
    """Return a value without the full stop after it, where only so it is one of the field's."""
    if not isinstance(value, str) or not _has_end(value.rstrip()):
        return value
    if len(value) > _LONGEST_LABEL or fold(value) in labels_of(field):
        return value
    read = plain_value(field, value)
    return read.value if read.reading is Reading.EXACT else value


def _has_end(text: str) -> bool:
    """Whether a full stop or a symbol, as a tick, stands at the end."""
    last = text[-1:]
    return last != "" and (
        last in _STOPS
        or last == _AS_PICTURE
        or (last >= _SYMBOLS and unicodedata.category(last) == "So")
    )


def _without_end(text: str) -> str:
    while _has_end(text):
        text = text[:-1].rstrip()
    return text


def is_other_value(field: OutputField, words: str, value: str) -> bool:
    """Whether words that are no plain value speak of another one than this."""
    labels = labels_of(field)
    if labels:
        said, chosen = fold(words), fold(value)
        return any(label in said.replace(chosen, " ") for label in labels - {chosen, ""})
    return field.type in _READERS and any(character.isdigit() for character in words)


def labels_of(field: OutputField) -> frozenset[str]:
    """Return the folded labels of a field, and their aliases."""
    return _folded((*field.values, *field.aliases))


@lru_cache(maxsize=256)
def _folded(labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(fold, labels))


def _reads(field: OutputField, value: str) -> bool:
    if len(value) > _LONGEST_LABEL and field.type is not FieldType.LIST:
        return False
    if fold(value) in labels_of(field):
        return True
    if is_empty(value):
        # A stroke where a value belongs is no word for nothing.
        return any(map(str.isalnum, value))
    read = _READERS.get(field.type)
    if read is None:
        return False
    # How its values may be written a field may say itself.
    is_told = field.spelled or bool(field.formats)
    return read(value) is not None or (is_told and value_key(field, value)[0] in _SPELLED)


def _takes_any(field: OutputField) -> bool:
    return field.type in (FieldType.TEXT, FieldType.LIST) or (
        field.type is FieldType.ENUM and not field.values
    )


_SPELLED: Final = frozenset({"number", "date"})
_READERS: Final[Mapping[FieldType, Callable[[str], object]]] = {
    FieldType.BOOLEAN: read_boolean,
    FieldType.INTEGER: read_number,
    FieldType.NUMBER: read_number,
    FieldType.DATE: read_moment,
    FieldType.LIST: read_list,
}
