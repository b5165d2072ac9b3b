"""Documents, compared path by path, and what is said of each difference."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Final

from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.trajectory.match import alike, assigned
from pytest_sopbench._core.values.json import JsonValue, is_list, kind_of
from pytest_sopbench._core.values.text import (
    OFF_BY,
    as_words,
    distance,
    first_of,
    is_empty,
    read_moment,
    read_number,
    short,
)

from .schema import Declared, DocumentRules, Path, Role, path_of, path_text, text_key, value_at

# How one step of a procedure stands to another: the symptoms of a wrong route.

SIBLING: Final = "sibling"
STOPPED_EARLY: Final = "stopped early"
TOO_FAR: Final = "went on too far"
SKIPPED: Final = "skipped ahead"
LAGGED: Final = "lagged behind"
MISSED: Final = "rule missed"
INVENTED: Final = "rule invented"

_PART: Final = re.compile(r"\d{1,18}|[^\W\d_]+")


def route_symptom(expected: JsonValue, actual: JsonValue) -> str:
    """Name how an actual step stands to the expected one; nothing if they do not compare.

    A rule is told from a step by the letters before its number: `R3` is no step of `4.1`.
    """
    if is_empty(expected) or is_empty(actual):
        return INVENTED if is_empty(expected) else MISSED
    if not (isinstance(expected, str | int) and isinstance(actual, str | int)):
        return ""
    wanted, given = _parts(str(expected)), _parts(str(actual))
    kinds = _kind(wanted), _kind(given)
    if kinds[0] != kinds[1]:
        # A rule overrides the steps, so the one that has letters is the rule.
        return MISSED if kinds[0] and not kinds[1] else INVENTED if kinds[1] else ""
    return _related(wanted, given)


def _related(wanted: tuple[str | int, ...], given: tuple[str | int, ...]) -> str:
    pairs = zip(wanted, given, strict=False)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
    if common == len(given) < len(wanted):
        return STOPPED_EARLY
    if common == len(wanted) < len(given):
        return TOO_FAR
    # The letters before a number are no step above it.
    above = common - (1 if _kind(wanted) else 0)
    if above > 0 and len(wanted) == len(given) == common + 1:
        return SIBLING
    if common == len(wanted):
        return ""
    one, other = wanted[common], given[common]
    if isinstance(one, int) and isinstance(other, int):
        return SKIPPED if other > one else LAGGED
    return ""


def _parts(text: str) -> tuple[str | int, ...]:
    found = _PART.findall(text_key(text))
    return tuple(int(part) if part.isdecimal() else part for part in found)


def _kind(parts: tuple[str | int, ...]) -> str:
    """Return the letters before the first number, if there is a number right after them."""
    first, second = (*parts, "", "")[:2]
    return first if isinstance(first, str) and isinstance(second, int) else ""


# How far two moments, times of day or durations are apart.

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def apart(expected: JsonValue, actual: JsonValue) -> str:
    """Say how far two times are apart, such as `1 h 30 min`; nothing if one is no time."""
    one, other = _seconds(expected), _seconds(actual)
    if one is not None and other is not None and one[0] == other[0]:
        return _in_words(abs(one[1] - other[1]))
    numbers = read_number(expected), read_number(actual)
    if numbers[0] is None or numbers[1] is None:
        return ""
    return as_words(distance(numbers[0], numbers[1]))


def _seconds(value: JsonValue) -> tuple[str, float] | None:
    if not isinstance(value, str):
        return None
    clock = _CLOCK.fullmatch(value.strip())
    if clock is not None:
        hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return "clock", hours * 3_600 + minutes * 60 + seconds
    moment = read_moment(value)
    return None if moment is None else ("moment", moment)


def _in_words(seconds: float) -> str:
    left, words = round(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words[:2]) or "less than 1 s"


# Say how a value differs from the expected one: what is seen, and never a cause.

DIFFERENT: Final = "different"
MISSING: Final = "missing"
NOT_ASKED: Final = "should be absent"
ANOTHER_ORDER: Final = "in another order"

_ITEMS: Final = 3


def symptom(role: Role | None, expected: JsonValue, actual: JsonValue) -> str:
    """Return the reason of one mismatch of two values, by the role of their path."""
    wanted, given = kind_of(expected), kind_of(actual)
    if role is None:
        role = Role.NUMBER if wanted == given == "a number" else Role.TEXT
    found = _BY_ROLE[role](expected, actual) if role in _BY_ROLE else ""
    if not found and wanted != given:
        return f"{given} instead of {wanted}"
    return found or DIFFERENT


def lost_or_extra(role: Role | None, *, missing: bool) -> str:
    """Return the reason if a whole value is missing, or should be absent."""
    if role is Role.ROUTE:
        return MISSED if missing else INVENTED
    return MISSING if missing else NOT_ASKED


def list_symptom(
    role: Role | None, missing: Sequence[JsonValue], unexpected: Sequence[JsonValue]
) -> str:
    """Return the reason of a list that lacks items, or has others; in another order if neither."""
    words = _WORDS_OF_RULES if role is Role.ROUTE else _WORDS_OF_ITEMS
    told = [
        f"{word} {first_of(map(short, items), _ITEMS)}"
        for word, items in zip(words, (missing, unexpected), strict=True)
        if items
    ]
    return "; ".join(told) or ANOTHER_ORDER


def _number(expected: JsonValue, actual: JsonValue) -> str:
    one, other = read_number(expected), read_number(actual)
    if one is None or other is None:
        return ""
    return f"{OFF_BY}{as_words(distance(one, other))}"


def _time(expected: JsonValue, actual: JsonValue) -> str:
    far = apart(expected, actual)
    return f"time off by {far}" if far else ""


def _dialogue(expected: JsonValue, actual: JsonValue) -> str:
    said = {(True, False): "speaks instead of silence", (False, True): "silence instead of words"}
    return said.get((is_empty(expected), is_empty(actual)), "")


_BY_ROLE: Final[Mapping[Role, Callable[[JsonValue, JsonValue], str]]] = {
    Role.ROUTE: route_symptom,
    Role.NUMBER: _number,
    Role.TIME: _time,
    Role.DIALOGUE: _dialogue,
}
_WORDS_OF_ITEMS: Final = ("missing", "unexpected")
_WORDS_OF_RULES: Final = (MISSED, INVENTED)


# One spelling for all documents that a comparison holds equal, undeclared extras aside.
#
# With what a schema declares, keys that it does not declare are left out as well. Documents that
# differ then are not equal, and of others it takes a comparison to tell.

_quoted: Final = json.JSONEncoder().encode


def canonical(
    rules: DocumentRules, value: JsonValue, path: Path = (), schema: Declared | None = None
) -> str:
    """Write a value without what is not compared: ignored paths, nulls, order, spelling."""
    if isinstance(value, str):
        return _quoted(text_key(value))
    if isinstance(value, bool) or value is None:
        return _quoted(value)
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        ignored = rules.ignored_patterns
        parts = [
            f"{_quoted(key)}:{canonical(rules, inner, (*path, key), schema and schema.inside(key))}"
            for key, inner in value.items()
            # A null says as much as an absent key.
            if inner is not None
            and (schema is None or schema.declares(key))
            and not ignored.match((*path, key))
        ]
        return f"{{{','.join(sorted(parts))}}}"
    items = [canonical(rules, inner, path, schema and schema.items) for inner in value]
    ordered = rules.ordered_patterns.match(path)
    return f"[{','.join(items if ordered else sorted(items))}]"


# Pair the items of two lists whose order does not count, each item once.

PAIRED_LIMIT: Final = 100
"""Items of either list that are compared with each other, once those of one spelling are paired.

Only items with extra keys are equal in two spellings, and a list may have thousands of others.
"""


def unpaired(
    expected: Sequence[str],
    actual: Sequence[str],
    equal: Callable[[int, int], bool],
    *,
    all_or_none: bool = False,
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return the positions that stay without a partner on both sides, and the pairs.

    Args:
        expected: the one spelling of each item.
        actual: the same of the other list.
        equal: compares two items of different spellings, by their positions.
        all_or_none: whether the pairs count only if every item has a partner; else the search
            ends with the first item that has none.
    """
    pairs = alike(enumerate(expected), enumerate(actual))
    left = sorted(set(range(len(expected))) - {one for one, _ in pairs})
    over = sorted(set(range(len(actual))) - {other for _, other in pairs})
    if left and over and not (all_or_none and len(left) != len(over)):
        candidates = over[:PAIRED_LIMIT]
        partners: dict[int, list[int]] = {}
        for one in left[:PAIRED_LIMIT]:
            partners[one] = [other for other in candidates if equal(one, other)]
            if all_or_none and not partners[one]:
                return left, over, pairs
        found = assigned(partners)
        pairs += found.items()
        left = [one for one in left if one not in found]
        over = sorted(set(over) - set(found.values()))
    return left, over, pairs


# Compare a document with the expected one: one recursive function, whose mismatches carry paths.
#
# Numbers are compared by value, texts after normalisation, lists as multisets unless their order
# counts. Ignored paths are passed over at every depth.

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
    return compare_values(rules, expected, actual, ())


def compare_values(
    rules: DocumentRules, expected: JsonValue, actual: JsonValue, path: Path
) -> Compared:
    """Compare two values that stand at a path of their documents."""
    walk = _Walk(rules)
    walk.values(expected, actual, path, rules.declared.at(path))
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
        elif is_list(expected) and is_list(actual):
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
                self.notes.append(f"{path_text(place)} is absent, but null is expected")
            else:
                why = lost_or_extra(self._role(place), missing=True)
                self._differ(place, wanted, None, why)
        for key, given in actual.items():
            if key not in expected and not ignored.match(place := (*path, key)):
                self._extra(given, place, declared=schema.declares(key))

    def _extra(self, given: JsonValue, place: Path, *, declared: bool) -> None:
        if given is None:
            self.notes.append(f"{path_text(place)} is null, but nothing is expected")
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
        """Whether a comparison may find the other one equal; if not, it never does."""
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


def _same_scalar(one: JsonValue, other: JsonValue) -> bool:
    """Whether two values that are no containers are equal; a boolean is no number."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other or text_key(one) == text_key(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return one is None and other is None


# Compare what stands at one path of a document, and nothing else of it.


def difference_at(
    rules: DocumentRules, document: Mapping[str, JsonValue], path: str, expected: JsonValue
) -> Mismatch | None:
    """Return the first mismatch at a path or inside of it, or `None` if there is none.

    Raises:
        ValueError: it is no path.
    """
    keys = path_of(path)
    if not keys:
        msg = "a path names at least one key, such as step or guests[0].name"
        raise ValueError(msg)
    try:
        actual = value_at(document, path)
    except KeyError:
        if expected is None:
            return None
        return Mismatch(field=path, expected=expected, actual=None, why=MISSING)
    found = compare_values(rules, expected, actual, keys).mismatches
    return found[0] if found else None
