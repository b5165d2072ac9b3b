"""Which keys a schema declares for an object, place by place.

Where several subschemas may apply, what one of them declares is declared: the schema itself
decides what is allowed, and this only tells a key that it knows from one that it merely lets pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue

_ALL: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE: Final = ("if", "then", "else")

Schema = Mapping[str, JsonValue]


class Declared:
    """The subschemas that may apply at one place of a document."""

    __slots__ = ("_inner", "_items", "_map", "_patterns", "_root", "_schemas", "names")

    def __init__(self, schemas: Iterable[JsonValue], root: Schema) -> None:
        self._root = root
        self._schemas = tuple(_applying(schemas, root))
        self.names = frozenset(_names(self._schemas))
        self._patterns = tuple(name for one in self._schemas for name in _patterns(one))
        self._map = any(_is_map(one.get("additionalProperties")) for one in self._schemas)
        self._inner: dict[str, Declared] = {}
        self._items: Declared | None = None

    @property
    def has_few_values(self) -> bool:
        """Whether some subschema lists the values, or allows true and false alone."""
        return any(
            "enum" in one or "const" in one or one.get("type") == "boolean" for one in self._schemas
        )

    @property
    def may_be_list(self) -> bool:
        """Whether some subschema speaks of a list."""
        return any("items" in one or one.get("type") == "array" for one in self._schemas)

    def declares(self, key: str) -> bool:
        """Whether a key is one that the schema speaks of."""
        return key in self.names or self._map or any(_fits(one, key) for one in self._patterns)

    def inside(self, key: str) -> Declared:
        """Return what applies to the value of a key."""
        found = self._inner.get(key)
        if found is None:
            found = Declared(self._under(key), self._root)
            # A map may have any keys at all, and these need not be kept.
            if key in self.names:
                self._inner[key] = found
        return found

    @property
    def items(self) -> Declared:
        """Return what applies to the items of a list, whatever their position."""
        if self._items is None:
            self._items = Declared(self._of_items(), self._root)
        return self._items

    def _under(self, key: str) -> Iterator[JsonValue]:
        for one in self._schemas:
            named = _mapping(one.get("properties"))
            if key in named:
                yield named[key]
                continue
            patterns = _mapping(one.get("patternProperties"))
            fitting = [inner for text, inner in patterns.items() if _fits(text, key)]
            yield from fitting
            if not fitting:
                yield one.get("additionalProperties")

    def _of_items(self) -> Iterator[JsonValue]:
        for one in self._schemas:
            for name in ("items", "prefixItems", "additionalItems", "contains"):
                found = one.get(name)
                yield from found if isinstance(found, list) else (found,)


def declared(schema: Schema) -> Declared:
    """Return what a schema declares at the root of a document."""
    return Declared((schema,), schema)


def _applying(schemas: Iterable[JsonValue], root: Schema) -> Iterator[Schema]:
    waiting, seen = list(schemas), set[int]()
    # The list grows while it is read; a schema may refer to itself.
    for one in waiting:
        if not isinstance(one, Mapping) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting.extend(inner for name in _ALL for inner in _sequence(one.get(name)))
        waiting.extend(one.get(name) for name in _SAME_PLACE)
        waiting.extend(_mapping(one.get("dependentSchemas")).values())
        waiting.append(_referred(one.get("$ref"), root))


def _referred(reference: JsonValue, root: Schema) -> JsonValue:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    value: JsonValue = root
    for part in reference.removeprefix("#").removeprefix("/").split("/"):
        if part:
            name = part.replace("~1", "/").replace("~0", "~")
            value = _mapping(value).get(name)
    return value


def _names(schemas: Sequence[Schema]) -> Iterator[str]:
    for one in schemas:
        for name, inner in _mapping(one.get("properties")).items():
            if inner is not False:
                yield name


def _patterns(schema: Schema) -> Iterator[str]:
    for pattern, inner in _mapping(schema.get("patternProperties")).items():
        if inner is not False:
            yield pattern


def _fits(pattern: str, key: str) -> bool:
    found: bool = _matcher(pattern).is_valid(key)
    return found


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> Any:
    """Return what matches a pattern as the validator does, which gives up where one explodes."""
    # Heavy, and there is a validator wherever a document is compared by a schema with patterns.
    engine: Any = import_module("jsonschema_rs")
    return engine.validator_for({"pattern": pattern})


def _is_map(more: JsonValue) -> bool:
    """Whether further keys have a schema of their own, so that each is an entry and no extra."""
    return isinstance(more, Mapping) and bool(more)


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()
