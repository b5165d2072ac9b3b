"""The kinds of fields that are compared by a rule of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Final

from pytest_sopbench._core.documents.comparing import compare_values
from pytest_sopbench._core.documents.reading import EMPTY, Unreadable, read_document
from pytest_sopbench._core.documents.schema import ROOT, DocumentRules, path_text
from pytest_sopbench._core.hiding import shortened
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue, is_list, kind_of
from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
from pytest_sopbench._core.values.text import (
    INVISIBLE,
    first_of,
    fold,
    is_empty,
    normal_form,
    plain_dashes,
    read_list,
)

from .values import Key, item_key, label_of, number_of, read_boolean, read_items, written

# Compare JSON documents that stand in one field: recursively, each difference with its path.

_SHOWN: Final = 3
_LONGEST: Final = 160

# Every key is declared at every depth, so that none may be added unasked.
_ANY_DOCUMENT: Final[Mapping[str, JsonValue]] = {
    "additionalProperties": {"$ref": "#"},
    "items": {"$ref": "#"},
}


def json_document(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say at which paths two documents differ; nothing if they do not."""
    wanted, no_document = read_cell(expected)
    if no_document:
        return f"the expected cell is {no_document}"
    given, no_document = read_cell(actual)
    if no_document:
        return no_document
    ordered = (*field.ordered_paths, field.name) if field.ordered else field.ordered_paths
    found = compare_values(_rules(field.ignored_paths, ordered), wanted, given, (field.name,))
    at = len(path_text((field.name,)))
    told = (
        shortened(f"{one.field[at:].removeprefix('.') or ROOT}: {one.why}", _LONGEST)
        for one in found.mismatches
    )
    return first_of(told, _SHOWN, ";")


def compares_nothing(field: OutputField, expected: JsonValue) -> bool:
    """Whether a document has values, and the paths that are ignored pass over all of them."""
    document, _ = read_cell(expected)
    other = with_other_values(document)
    return other != document and not json_document(field, document, other)


def with_other_values(value: JsonValue) -> JsonValue:
    """Return a document of the same keys, in which every value is another."""
    if isinstance(value, Mapping):
        return {name: with_other_values(one) for name, one in value.items()}
    if is_list(value):
        return [with_other_values(one) for one in value]
    return f"other than {written(value)}"


def read_cell(value: JsonValue) -> tuple[JsonValue, str]:
    """Return the object or the list that a value is, or is the text of; else what it is instead."""
    if isinstance(value, str):
        read = read_document(value)
        if isinstance(read, Unreadable):
            return None, read.kind if read.kind == EMPTY else read.reason
        value = read.value
    elif value is None:
        return None, EMPTY
    if isinstance(value, Mapping) or is_list(value):
        return value, ""
    return None, f"{kind_of(value)}, and neither an object nor a list"


@lru_cache(maxsize=256)
def _rules(ignored: tuple[str, ...], ordered: tuple[str, ...]) -> DocumentRules:
    return DocumentRules(schema=_ANY_DOCUMENT, ignored=ignored, ordered=ordered)


# Compare lists whose items have a key: each with its own, and not all with all.


def keyed(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say in which items two lists differ; nothing if they do not.

    An item that is no object is its own key. What the answer says of an item beyond what is
    expected of it does not count.
    """
    wanted, given = _items(expected), _items(actual)
    if given is None or wanted is None:
        return "not a list"
    faults = list(_faults(field, wanted, given))
    if not faults and field.ordered and list(_by_key(field, wanted)) != list(_by_key(field, given)):
        return "near: order"
    return first_of(faults, _SHOWN, ";")


def keys_twice(field: OutputField, value: JsonValue) -> str:
    """Return the key of an expected list that two of its items have, or one that lacks it."""
    items = _items(value) or ()
    seen: set[Key] = set()
    for item in items:
        key = _key(field, item)
        if key is None or key in seen:
            return written(item)
        seen.add(key)
    return ""


def _items(value: JsonValue) -> Sequence[JsonValue] | None:
    return () if is_empty(value) else read_items(value)


def _faults(
    field: OutputField, wanted: Sequence[JsonValue], given: Sequence[JsonValue]
) -> Iterator[str]:
    asked, found = _by_key(field, wanted), _by_key(field, given)
    if None in found:
        yield f"an item has no {field.key!r}"
    for key, item in asked.items():
        if key not in found:
            yield f"lacks {_name(field, item)}"
        else:
            yield from _differences(field, item, found[key])
    yield from (
        f"has {_name(field, item)}, which is not expected"
        for key, item in found.items()
        if key is not None and key not in asked
    )
    if len(found) < len(given) and None not in found:
        yield "has an item twice"


def _by_key(field: OutputField, items: Sequence[JsonValue]) -> dict[Key | None, JsonValue]:
    return {_key(field, item): item for item in items}


def _key(field: OutputField, item: JsonValue) -> Key | None:
    if not isinstance(item, Mapping):
        return item_key(item, ordered=field.ordered)
    named = _named(item)
    key = fold(field.key)
    return item_key(named[key], ordered=field.ordered) if key in named else None


def _named(item: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {fold(name): value for name, value in item.items()}


def _name(field: OutputField, item: JsonValue) -> str:
    return written(_named(item)[fold(field.key)] if isinstance(item, Mapping) else item)


def _differences(field: OutputField, wanted: JsonValue, given: JsonValue) -> Iterator[str]:
    if not isinstance(wanted, Mapping):
        return
    said = _named(given) if isinstance(given, Mapping) else {}
    for name, value in wanted.items():
        folded = fold(name)
        if folded == fold(field.key):
            continue
        if folded not in said:
            yield f"{_name(field, wanted)} lacks {name}"
        elif item_key(value, ordered=field.ordered) != item_key(
            said[folded], ordered=field.ordered
        ):
            yield f"{_name(field, wanted)} has another {name}"


# Read an expected cell that names several things: patterns, or phrases.


def several(cell: JsonValue) -> tuple[str, ...]:
    """Return the items of a list, else the lines of a text; a comma separates nothing here."""
    items: Sequence[JsonValue] | None = None
    if isinstance(cell, str):
        items = read_list(cell)
        items = cell.split("\n") if items is None else items
    elif isinstance(cell, Sequence):
        items = cell
    texts = (written(item).strip() for item in (items or ()) if item is not None)
    # What nobody sees asks for nothing, and every answer would have it.
    return tuple(text for text in texts if INVISIBLE.sub("", text).strip())


# Compare with regular expressions, which are matched in linear time, and never with a part.


def matches(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say why a value does not match the pattern that is expected; nothing if it does."""
    del field
    return "" if _fits(written(expected).strip(), actual) else "does not match the pattern"


def one_of(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say why a value matches none of the patterns that are expected."""
    del field
    patterns = several(expected)
    if any(_fits(pattern, actual) for pattern in patterns):
        return ""
    return f"matches none of {len(patterns)} patterns"


def _fits(pattern: str, actual: JsonValue) -> bool:
    if not pattern or actual is None:
        return False
    text = " ".join(normal_form(INVISIBLE.sub("", written(actual))).split())
    try:
        return linear_pattern(pattern).fullmatch(text)
    except PatternError:
        # Loading refuses it; in a row's further acceptable answers it fits nothing.
        return False


# Ask that a text says several things, each as whole words: `valid` does not stand in `invalid`.

_INSIDE: Final = frozenset("-_'\u2019")
_MARKS: Final = frozenset(".,")


def contains_all(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say which phrases a text lacks; nothing if it has them all."""
    del field
    wanted = several(expected)
    text = _plain(written(actual)) if actual is not None else ""
    lacking = [phrase for phrase in wanted if not _says(text, _plain(phrase))]
    if wanted and not lacking:
        return ""
    return f"lacks {first_of(map(repr, lacking), _SHOWN)}" if lacking else "nothing is asked for"


def _plain(text: str) -> str:
    return " ".join(plain_dashes(normal_form(INVISIBLE.sub("", text))).casefold().split())


def _says(text: str, phrase: str) -> bool:
    if not any(map(str.isalnum, phrase)):
        return phrase in text
    return any(
        not _goes_on(text, start - 1, start - 2, phrase[0])
        and not _goes_on(text, start + len(phrase), start + len(phrase) + 1, phrase[-1])
        for start in _places(text, phrase)
    )


def _places(text: str, phrase: str) -> Iterator[int]:
    start = text.find(phrase)
    while start >= 0:
        yield start
        start = text.find(phrase, start + 1)


def _goes_on(text: str, beside: int, beyond: int, edge: str) -> bool:
    """Whether a word or a number goes on at an edge of a phrase."""
    if not 0 <= beside < len(text) or not edge.isalnum():
        return False
    one = text[beside]
    next_one = text[beyond] if 0 <= beyond < len(text) else " "
    if one in _MARKS:
        return edge.isdigit() and next_one.isdigit()
    # A sign stands before a number alone, a hyphen inside a word.
    return one.isalnum() or (one in _INSIDE and (next_one.isalnum() or edge.isdigit()))


# The comparisons that are declared without code, by their words.

Kind = Callable[[OutputField, JsonValue, JsonValue], str]
"""Says why an actual value is not the expected one, and nothing if it is."""

KINDS: Final[Mapping[Compare, Kind]] = {
    Compare.MATCHES: matches,
    Compare.ONE_OF: one_of,
    Compare.CONTAINS_ALL: contains_all,
    Compare.JSON: json_document,
}


# The value of an output field as a test wants it: typed, while the data has text.

_WORDS: Final = frozenset({FieldType.ENUM, FieldType.TEXT})


def typed_value(field: OutputField, cell: JsonValue) -> JsonValue:
    """Return what a cell says, in the type of its field.

    A boolean is `True` or `False`, a number an `int` or a `float`, a list a list, a label what an
    alias stands for, a document what it holds, and an empty cell `None`. A date stays text, since
    JSON has no word for it. What cannot be read as the type, and what is no text, stays as it is
    written.
    """
    if not isinstance(cell, str):
        return cell
    if field.compare is Compare.JSON:
        document, no_document = read_cell(cell)
        return cell if no_document else document
    text = label_of(field.aliases, cell)
    if not text or (field.type not in _WORDS and is_empty(text)):
        return None
    read = _read(field, text)
    return text if read is None else read


def _read(field: OutputField, text: str) -> JsonValue:
    kind = field.type
    if kind is FieldType.BOOLEAN:
        return read_boolean(text)
    if kind in (FieldType.INTEGER, FieldType.NUMBER):
        number = number_of(field, text)
        return None if number is None else _plain_text(number)
    if kind is FieldType.LIST:
        items = read_items(text)
        return None if items is None else list(items)
    return text


def _plain_text(number: Decimal) -> JsonValue:
    number_as_float = float(number)
    if not isfinite(number_as_float):
        # JSON has no word for it, and `1e4000` as digits would be of no use.
        return None
    return int(number) if number == number.to_integral_value() else number_as_float
