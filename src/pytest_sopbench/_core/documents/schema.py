"""What a domain declares of its documents: a schema, paths into it, rules for comparing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias, cast
from urllib.parse import unquote, urljoin

from pytest_sopbench._core.hiding import shortened
from pytest_sopbench._core.values.json import JsonValue, is_list
from pytest_sopbench._core.values.text import normal_form

# Places in a document: keys and positions from the root, and the patterns that name them.

Path: TypeAlias = tuple[str | int, ...]
"""Keys of objects and positions in lists, from the root on."""

ROOT: Final = "the document"
"""What the root is called, which has no path."""

_PLAIN: Final = re.compile(r"[^.\[\]\"\s]+(?: [^.\[\]\"\s]+)*")
_PART: Final = re.compile(r"\[(\d+)\]|\[(\"(?:[^\"\\]|\\.)*\")\]|\.?([^.\[\]\"]+)")


def path_text(path: Path) -> str:
    """Write a path: `guests[2].age`; a key that holds such marks is quoted in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text


@lru_cache(maxsize=4096)
def path_of(text: str) -> Path:
    """Read what `path_text` wrote.

    Raises:
        ValueError: it is no path.
    """
    parts: list[str | int] = []
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None:
            msg = f"{text!r} is no path"
            raise ValueError(msg)
        index, quoted, plain = found.groups()
        parts.append(int(index) if index else json.loads(quoted) if quoted else plain)
        place = found.end()
    return tuple(parts)


def value_at(document: JsonValue, path: str) -> JsonValue:
    """Return the value at a path.

    Raises:
        KeyError: nothing stands there, or it is no path; the message has the path.
    """
    try:
        value = document
        for part in path_of(path):
            value = _inside(value, part)
    except (ValueError, IndexError, KeyError):
        raise KeyError(path) from None
    return value


def _inside(value: JsonValue, part: str | int) -> JsonValue:
    if isinstance(part, str):
        if isinstance(value, Mapping):
            return value[part]
    elif is_list(value):
        return value[part]
    raise KeyError(part)


def overlaps(one: str, other: str) -> bool:
    """Whether two paths are the same, or one of them leads to the other."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) : len(shorter) + 1] in {"", ".", "["}


class PathPatterns:
    """Names and dotted paths, which fit at any depth and by whole keys alone.

    `reason` fits `a.reason` and never the single key `x.reason`; positions in lists do not count.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = tuple(texts)

    def match(self, path: Path) -> str:
        """Return the longest pattern that a path ends in, or nothing."""
        return _longest(self.texts, path) if self.texts else ""


# The items of a list have the same few paths.
@lru_cache(maxsize=4096)
def _longest(texts: tuple[str, ...], path: Path) -> str:
    keys = [part for part in path if isinstance(part, str)]
    ends = {".".join(keys[start:]) for start in range(len(keys))}
    return max((text for text in texts if text in ends), key=len, default="")


# Which keys a schema declares for an object, place by place.
#
# If several subschemas may apply, what one of them declares is declared: the schema itself
# decides what is allowed, and this only tells a key that it knows from one that it merely lets
# pass.

_ALL: Final = ("allOf", "anyOf", "oneOf")
_SAME_PLACE: Final = ("if", "then", "else")
_FURTHER: Final = ("additionalProperties", "unevaluatedProperties")
_ITEMS: Final = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

Schema = Mapping[str, JsonValue]


class Declared:
    """The subschemas that may apply at one place of a document."""

    __slots__ = ("_inner", "_items", "_map", "_patterns", "_places", "_schemas", "names")

    def __init__(self, schemas: Iterable[JsonValue], places: _Places) -> None:
        self._places = places
        self._schemas = tuple(_applying(schemas, places))
        self.names = frozenset(_names(self._schemas))
        self._patterns = tuple(name for one in self._schemas for name in _patterns(one))
        # If further keys have a schema of their own, each is an entry and no extra.
        more = [one.get(name) for one in self._schemas for name in _FURTHER]
        self._map = any(isinstance(one, Mapping) and bool(one) for one in more)
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
            found = Declared(self._under(key), self._places)
            # A map may have any keys at all, and these need not be kept.
            if key in self.names:
                self._inner[key] = found
        return found

    def at(self, path: Path) -> Declared:
        """Return what applies to the value at a path from here."""
        found = self
        for part in path:
            found = found.inside(part) if isinstance(part, str) else found.items
        return found

    @property
    def items(self) -> Declared:
        """Return what applies to the items of a list, whatever their position."""
        if self._items is None:
            found = [one.get(name) for one in self._schemas for name in _ITEMS]
            inner = [one if isinstance(one, list) else [one] for one in found]
            self._items = Declared(chain.from_iterable(inner), self._places)
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
                yield from (one.get(name) for name in _FURTHER)


def _applying(schemas: Iterable[JsonValue], places: _Places) -> Iterator[Schema]:
    waiting, seen = list(schemas), set[int]()
    # The list grows while it is read; a schema may refer to itself.
    for one in waiting:
        if not isinstance(one, Mapping) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting.extend(inner for name in _ALL for inner in _sequence(one.get(name)))
        waiting.extend(one.get(name) for name in _SAME_PLACE)
        for name in ("dependentSchemas", "dependencies"):
            waiting.extend(_mapping(one.get(name)).values())
        for name in _REFERENCES:
            waiting.extend(places.referred(one, name))


class _Places:
    """Where references of a schema lead to: the schemas by their URI, and those with an anchor.

    A subschema with an `$id` is a document of its own, from which pointers in it start.
    """

    def __init__(self, root: Schema) -> None:
        self._bases: dict[int, str] = {}
        self._documents: dict[str, Schema] = {"": root}
        self._anchored: dict[str, list[tuple[str, Schema]]] = {}
        is_old = "draft-04" in str(root.get("$schema"))
        waiting: list[tuple[JsonValue, str]] = [(root, "")]
        for one, base in waiting:
            within = base
            if isinstance(one, Mapping):
                anchors = [one.get("$anchor"), one.get("$dynamicAnchor")]
                called = one.get("id" if is_old else "$id")
                if isinstance(called, str):
                    # An id that is a fragment is how drafts up to 7 write an anchor.
                    within, _, anchor = _joined(base, called).partition("#")
                    self._documents.setdefault(within, one)
                    anchors.append(anchor)
                for name in anchors:
                    if isinstance(name, str):
                        self._anchored.setdefault(name, []).append((within, one))
                self._bases[id(one)] = within
            inner = one.values() if isinstance(one, Mapping) else _sequence(one)
            waiting.extend((value, within) for value in inner)

    def referred(self, schema: Schema, keyword: str) -> Sequence[JsonValue]:
        """Return what a reference may lead to: a dynamic one to several places."""
        reference = schema.get(keyword)
        if not isinstance(reference, str):
            return ()
        base, _, fragment = _joined(self._bases.get(id(schema), ""), reference).partition("#")
        if keyword == "$recursiveRef":
            return (self._documents[""], self._documents.get(base))
        if fragment and not fragment.startswith("/"):
            is_dynamic = keyword == "$dynamicRef"
            anchored = self._anchored.get(unquote(fragment), ())
            return [one for within, one in anchored if is_dynamic or within == base]
        value: JsonValue = self._documents.get(base)
        for part in fragment.split("/")[1:]:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            items = _sequence(value)
            is_place = name.isdecimal() and int(name) < len(items)
            value = items[int(name)] if is_place else _mapping(value).get(name)
        return (value,)


def _joined(base: str, reference: str) -> str:
    # `urljoin` knows no fragment of a URN, and refuses what is no URI, as the validator does.
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


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
    """Return what matches a pattern as the validator does, which gives up if one explodes."""
    # Heavy, and there is a validator wherever a document is compared by a schema with patterns.
    engine: Any = import_module("jsonschema_rs")
    return engine.validator_for({"pattern": pattern})


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, list) else ()


# Hold a document against a JSON schema, and say where it breaks it.

_SHOWN: Final = 80
_COMBINING: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if"})
_WORDED: Final = frozenset({"required", "additionalProperties", "unevaluatedProperties"})
"""Keywords whose breach is about names, which the message tells and the value does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place at which a document breaks its schema.

    Attributes:
        path: where in the document.
        keyword: the keyword of the schema that is broken.
        demand: what the keyword asks for, as JSON, cut.
        value: what stands there, as JSON, cut; or which name is missing or too many.
        about: the same path, but that of the key which is missing, if one is.
    """

    path: Path
    keyword: str
    demand: str
    value: str
    about: Path = ()

    @property
    def place(self) -> str:
        return path_text(self.path) or ROOT


class BadSchemaError(ValueError):
    """A schema that is not valid itself, or that refers to something outside of it."""


class CompiledSchema:
    """A schema, compiled when it is first asked; safe to use from many threads."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> Any:
        # Heavy, and most sessions have tools instead.
        engine = import_module("jsonschema_rs")
        try:
            # Formats are notes, as the standard has them, whatever the draft.
            return engine.validator_for(
                dict(self._schema), validate_formats=False, retriever=_never_fetched
            )
        except engine.ValidationError as fault:
            place = "/".join(str(part) for part in fault.instance_path)
            where = f" at {place!r}" if place else ""
            msg = f"not a valid JSON schema{where}: {shortened(fault.message, _SHOWN)}"
            raise BadSchemaError(msg) from fault
        except ValueError as fault:
            msg = f"not a usable JSON schema: {shortened(str(fault), _SHOWN)}"
            raise BadSchemaError(msg) from fault

    def check(self) -> None:
        """Compile the schema.

        Raises:
            BadSchemaError: it cannot be used.
        """
        _ = self._validator

    def violations(self, document: JsonValue) -> tuple[Violation, ...]:
        """Return every place at which a document breaks the schema, the most telling first."""
        if not isinstance(document, Mapping):
            wrong = Violation(path=(), keyword="type", demand='"object"', value=_json(document))
            return (wrong,)
        if self._validator.is_valid(document):
            return ()
        found = [_violation(error) for error in self._validator.iter_errors(document)]
        return tuple(sorted(found, key=lambda one: one.keyword in _COMBINING))


def _violation(error: Any) -> Violation:
    path: Path = tuple(error.instance_path)
    keyword = str(error.kind.name)
    if keyword in _WORDED:
        missing = getattr(error.kind, "property", None)
        about = (*path, missing) if isinstance(missing, str) else path
        words = shortened(error.message, _SHOWN)
        return Violation(path=path, keyword=keyword, demand="", value=words, about=about)
    return Violation(
        path=path,
        keyword=keyword,
        demand="" if keyword in _COMBINING else _demand(error.kind.as_dict()),
        value=_json(error.instance),
        about=path,
    )


def _demand(asked: Mapping[str, object]) -> str:
    value = next(iter(asked.values()), None)
    if value is None:
        return ""
    types = asked.get("types")
    if isinstance(types, list):
        # The engine has no order for them.
        return ", ".join(sorted(map(_json, cast("list[str]", types))))
    return _json(value)


def _never_fetched(uri: str) -> NoReturn:
    msg = f"nothing is fetched for a schema: {uri!r} lies outside of it"
    raise ValueError(msg)


def _json(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)


# How the answers of one tool-less domain are judged.


class Role(StrEnum):
    """What a value of a document is, which words the reason if it differs."""

    ROUTE = "route"
    NUMBER = "number"
    TIME = "time"
    DIALOGUE = "dialogue"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRules:
    """How the answers of one tool-less domain are judged.

    Names and dotted paths fit at any depth, by whole keys.

    Attributes:
        schema: the JSON schema that an answer has to satisfy.
        schema_name: the file it stands in.
        ignored: paths that are not compared; the schema still binds them.
        ordered: paths of lists whose order counts; all others are multisets.
        roles: what the value at a path is.
        domain_class: domains of the same class are summed.
    """

    schema: Mapping[str, JsonValue]
    schema_name: str = "the schema"
    ignored: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict[str, Role])
    domain_class: str = ""
    ignored_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    ordered_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    role_patterns: PathPatterns = field(init=False, compare=False, repr=False)
    declared: Declared = field(init=False, compare=False, repr=False)
    validator: CompiledSchema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Made once for all runs of a session.

        put = object.__setattr__
        put(self, "ignored_patterns", PathPatterns(self.ignored))
        put(self, "ordered_patterns", PathPatterns(self.ordered))
        put(self, "role_patterns", PathPatterns(self.roles))
        put(self, "declared", Declared((self.schema,), _Places(self.schema)))
        put(self, "validator", CompiledSchema(self.schema))


# When two free texts are equal: after trimming, collapsing white space, NFKC and case folding.


def text_key(text: str) -> str:
    """Return the one spelling of all texts that are equal.

    A sign or a hyphen stays what it is, so that no id becomes another one.
    """
    if not text.isascii():
        # Folding case can undo the normal form.
        text = normal_form(normal_form(text).casefold())
    return " ".join(text.casefold().split())
