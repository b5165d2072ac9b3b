"""Compare lists whose items have a key: each with its own, and not all with all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.fields.values import Key, item_key, read_items, written
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold, is_empty

_SHOWN: Final = 3


def keyed(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say in which items two lists differ; nothing where they do not.

    An item that is no object is its own key. What the answer says of an item beyond what is
    expected of it does not count.
    """
    wanted, given = _items(expected), _items(actual)
    if given is None or wanted is None:
        return "not a list"
    faults = list(_faults(field, wanted, given))
    if not faults and field.ordered and list(_by_key(field, wanted)) != list(_by_key(field, given)):
        return "near: order"
    more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return f"{'; '.join(faults[:_SHOWN])}{more}"


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
