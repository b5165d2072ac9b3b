"""Compare a document with the expected one: one recursive function, whose mismatches carry paths.

Numbers are compared by value, texts after normalisation, lists as multisets unless their order
counts. Ignored paths are passed over at every depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeGuard

from pytest_sopbench._core.documents.declared import Declared
from pytest_sopbench._core.documents.paths import Path, path_text
from pytest_sopbench._core.documents.rules import DocumentRules, Role
from pytest_sopbench._core.documents.text_key import text_key
from pytest_sopbench._core.documents.wording.symptoms import list_symptom, lost_or_extra, symptom
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.values.json import JsonValue

from .canonical import canonical
from .unordered import unpaired

PAIRS_LIMIT: Final = 20_000
"""Pairs of items that one comparison compares, lists within lists and all.

Nobody writes documents that need a tenth of them. What is beyond has no partner.
"""

LOOKS_LIMIT: Final = 1_000_000
"""Pairs of items that it looks at to tell which ones it compares: less than a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a comparison found: the paths that differ, and what is equal and yet worth a note."""

    mismatches: tuple[Mismatch, ...]
    notes: tuple[str, ...] = ()


def compare_documents(
    rules: DocumentRules, expected: Mapping[str, JsonValue], actual: Mapping[str, JsonValue]
) -> Compared:
    """Compare two documents; both satisfy the schema, or are taken as they are."""
    walk = _Walk(rules)
    walk.objects(expected, actual, (), rules.declared)
    return Compared(mismatches=tuple(walk.mismatches), notes=tuple(walk.notes))


def compare_values(
    rules: DocumentRules, expected: JsonValue, actual: JsonValue, path: Path
) -> Compared:
    """Compare two values that stand at a path of their documents."""
    schema = rules.declared
    for part in path:
        schema = schema.inside(part) if isinstance(part, str) else schema.items
    walk = _Walk(rules)
    walk.values(expected, actual, path, schema)
    return Compared(mismatches=tuple(walk.mismatches), notes=tuple(walk.notes))


class _Walk:
    """One comparison of two values, or of two items within it."""

    __slots__ = ("_rules", "_within", "_work", "mismatches", "notes")

    def __init__(self, rules: DocumentRules, work: _Work | None = None) -> None:
        self._rules = rules
        # Of two items only counts whether they are equal.
        self._within = work is not None
        self._work = work or _Work()
        self.mismatches: list[Mismatch] = []
        self.notes: list[str] = []

    def values(self, expected: JsonValue, actual: JsonValue, path: Path, schema: Declared) -> None:
        if isinstance(expected, Mapping) and isinstance(actual, Mapping):
            self.objects(expected, actual, path, schema)
        elif _is_list(expected) and _is_list(actual):
            self._lists(expected, actual, path, schema)
        elif not _same_scalar(expected, actual):
            self._differ(path, expected, actual, symptom(self._role(path), expected, actual))

    def objects(
        self,
        expected: Mapping[str, JsonValue],
        actual: Mapping[str, JsonValue],
        path: Path,
        schema: Declared,
    ) -> None:
        ignored = self._rules.ignored_patterns
        for key, wanted in expected.items():
            place = (*path, key)
            if ignored.match(place):
                continue
            if key in actual:
                self.values(wanted, actual[key], place, schema.inside(key))
            elif wanted is None:
                self.notes.append(f"{path_text(place)} is absent, where null is expected")
            else:
                why = lost_or_extra(self._role(place), missing=True)
                self._differ(place, wanted, None, why)
        for key, given in actual.items():
            if key not in expected and not ignored.match(place := (*path, key)):
                self._extra(given, place, declared=schema.declares(key))

    def _extra(self, given: JsonValue, place: Path, *, declared: bool) -> None:
        if given is None:
            self.notes.append(f"{path_text(place)} is null, where nothing is expected")
        elif declared:
            self._differ(place, None, given, lost_or_extra(self._role(place), missing=False))
        else:
            self.notes.append(f"{path_text(place)} is extra, and the schema does not declare it")

    def _lists(
        self,
        expected: Sequence[JsonValue],
        actual: Sequence[JsonValue],
        path: Path,
        schema: Declared,
    ) -> None:
        if self._rules.ordered_patterns.match(path):
            if len(expected) == len(actual):
                for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
                    self.values(one, other, (*path, place), schema.items)
                return
            missing, unexpected = self._apart(expected, actual, path, schema)
        else:
            missing, unexpected = self._apart(expected, actual, path, schema)
            if not missing and not unexpected:
                return
        self._differ(path, expected, actual, list_symptom(self._role(path), missing, unexpected))

    def _apart(
        self,
        expected: Sequence[JsonValue],
        actual: Sequence[JsonValue],
        path: Path,
        schema: Declared,
    ) -> tuple[list[JsonValue], list[JsonValue]]:
        """Return the items that are missing, and those that are too many."""
        noted: dict[tuple[int, int], list[str]] = {}
        wanted, given = (
            self._work.items(self._rules, items, path, schema.items) for items in (expected, actual)
        )

        def equal(one: int, other: int) -> bool:
            # Lists within lists multiply what is compared, so most is told apart without it.
            if not self._work.may_pair(wanted[one], given[other]):
                return False
            inner = _Walk(self._rules, self._work)
            inner.values(expected[one], actual[other], (*path, other), schema.items)
            noted[one, other] = inner.notes
            return not inner.mismatches

        left, over, pairs = unpaired(wanted.whole, given.whole, equal, all_or_none=self._within)
        for pair in pairs:
            self.notes.extend(noted.get(pair, ()))
        return [expected[one] for one in left], [actual[other] for other in over]

    def _role(self, path: Path) -> Role | None:
        found = self._rules.role_patterns.match(path)
        return self._rules.roles[found] if found else None

    def _differ(self, path: Path, expected: JsonValue, actual: JsonValue, why: str) -> None:
        self.mismatches.append(
            Mismatch(field=path_text(path), expected=expected, actual=actual, why=why)
        )


@dataclass(frozen=True, slots=True)
class _Spelled:
    """An item of a list: what the schema declares of it, and its own keys beyond that."""

    declared: str
    beyond: Mapping[str, str]

    def may_be(self, actual: _Spelled) -> bool:
        """Whether a comparison may find the other one equal; where not, it never does."""
        return self.declared == actual.declared and self.beyond.items() <= actual.beyond.items()


class _Items:
    """The items of a list; what may pair them is spelled when it is first asked for."""

    __slots__ = ("_items", "_path", "_rules", "_schema", "_spelled", "whole")

    def __init__(
        self, rules: DocumentRules, items: Sequence[JsonValue], path: Path, schema: Declared
    ) -> None:
        self._rules, self._items, self._path, self._schema = rules, items, path, schema
        self._spelled: dict[int, _Spelled] = {}
        self.whole = [canonical(rules, item, path) for item in items]

    def __getitem__(self, place: int) -> _Spelled:
        if place not in self._spelled:
            item = self._items[place]
            declared = canonical(self._rules, item, self._path, self._schema)
            self._spelled[place] = _Spelled(declared, dict(self._beyond(item)))
        return self._spelled[place]

    def _beyond(self, item: JsonValue) -> Iterator[tuple[str, str]]:
        if not isinstance(item, Mapping):
            return
        ignored = self._rules.ignored_patterns
        for key, value in item.items():
            path = (*self._path, key)
            if value is None or self._schema.declares(key) or ignored.match(path):
                continue
            yield key, canonical(self._rules, value, path, self._schema.inside(key))


class _Work:
    """What one comparison has done in all its lists, which is bounded."""

    __slots__ = ("_items", "_looks", "_pairs")

    def __init__(self) -> None:
        self._looks, self._pairs = count(), count()
        self._items: dict[tuple[int, Path], _Items] = {}

    def items(
        self, rules: DocumentRules, items: Sequence[JsonValue], path: Path, schema: Declared
    ) -> _Items:
        """Return the items of a list, which meets every list of the other document."""
        # Which position it is means nothing to rules; both documents last longer than this.
        known = id(items), tuple(part if isinstance(part, str) else 0 for part in path)
        found = self._items.get(known)
        if found is None:
            found = self._items[known] = _Items(rules, items, path, schema)
        return found

    def may_pair(self, expected: _Spelled, actual: _Spelled) -> bool:
        """Whether two items are to be compared; what is beyond the limits never is."""
        if next(self._looks) >= LOOKS_LIMIT or not expected.may_be(actual):
            return False
        return next(self._pairs) < PAIRS_LIMIT


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same_scalar(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values that are no containers are equal; a boolean is no number."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other or text_key(one) == text_key(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return one is None and other is None
