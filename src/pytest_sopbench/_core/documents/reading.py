"""Documents, read strictly out of what an agent returned."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.model.trace import Returned, ReturnedKind
from pytest_sopbench._core.values.json import STRICT, JsonValue, RefusedError, to_json_value
from pytest_sopbench._core.values.text import REASONING

from .schema import DocumentRules, Path, Role, Violation, overlaps, path_of, path_text

# Read the text of an answer as one JSON document, as whoever consumes it would.
#
# Nothing is repaired. Only reasoning tags around it and one code fence are taken off.

EMPTY: Final = "empty"
NOT_JSON: Final = "not JSON"

_TAGS: Final = "|".join(REASONING)
_BEFORE: Final = re.compile(rf"\s*<({_TAGS})(?:\s[^<>]*)?>", re.IGNORECASE)
_AFTER: Final = re.compile(rf"</({_TAGS})\s*>\s*\Z", re.IGNORECASE)
_CLOSING: Final = re.compile(rf"</(?:{_TAGS})\s*>", re.IGNORECASE)
_FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9_+.-]*[ \t]*(?=[\n{\[\"])")
# A string that never ends takes the rest: else each quote in it were tried as the next one's start.
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_DEPTH_LIMIT: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """Why a text is no document: the kind of the fault, what it is, and where.

    Attributes:
        kind: `empty` or `not JSON`.
        problem: what is wrong.
        position: the character of the text, from 1; 0 if the whole of it is meant.
    """

    kind: str
    problem: str
    position: int = 0

    @property
    def reason(self) -> str:
        place = f" at character {self.position}" if self.position else ""
        return f"{self.kind}: {self.problem}{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A value that was read, and where in the text it starts."""

    value: JsonValue
    position: int


def read_document(text: str) -> Read | Unreadable:
    """Read a text that is one JSON document, but for reasoning tags around it and one fence."""
    start, end = _without_reasoning(text)
    start, end = _stripped(text, *_without_fence(text, *_stripped(text, start, end)))
    if start >= end:
        outside = " outside of reasoning tags and code fences" if text.strip() else ""
        return Unreadable(kind=EMPTY, problem=f"there is no text{outside}")
    document = text[start:end]
    try:
        value: JsonValue = STRICT.decode(document)
    except json.JSONDecodeError as fault:
        return Unreadable(
            kind=NOT_JSON, problem=_words(fault, document), position=start + fault.pos + 1
        )
    except RefusedError as fault:
        return _refused(document, start, str(fault))
    except (RecursionError, ValueError):
        # Python refuses to read integers of more than 4,300 digits.
        return Unreadable(kind=NOT_JSON, problem="nested too deep, or a number is too long")
    if document.count("[") + document.count("{") > _DEPTH_LIMIT and _depth(document) > _DEPTH_LIMIT:
        return Unreadable(kind=NOT_JSON, problem=f"nested more than {_DEPTH_LIMIT} deep")
    # A half of a surrogate pair can be written in JSON, and in no file.
    value = to_json_value(value) if "\\ud" in document.lower() else value
    return Read(value=value, position=start)


def _without_reasoning(text: str) -> tuple[int, int]:
    """Return where the text starts and ends that stands outside of reasoning tags."""
    start, end = 0, len(text)
    while (opened := _BEFORE.match(text, start)) is not None:
        closed = re.compile(rf"</{opened[1]}\s*>", re.IGNORECASE).search(text, opened.end())
        # What is never closed was cut off while the agent still thought.
        start = closed.end() if closed else end
    # The answer of a model whose first tag its template had swallowed.
    is_open = text.lstrip()[:1] in {"{", "[", '"', "`"}
    if start == 0 and not is_open and (found := _CLOSING.search(text)) is not None:
        start = found.end()
    closing = _AFTER.search(text, start)
    if closing is not None:
        opening = re.compile(rf"<{closing[1]}(?:\s[^<>]*)?>", re.IGNORECASE)
        # The last one: a document may speak of such tags.
        end = max((found.start() for found in opening.finditer(text, start)), default=end)
    return start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip(_SPACE))
    return start + left, max(start + left, end - (len(inner) - len(inner.rstrip(_SPACE))))


_SPACE: Final = " \t\r\n\f\v\u00a0\ufeff\u200b"


def _without_fence(text: str, start: int, end: int) -> tuple[int, int]:
    opened = _FENCE.match(text, start, end)
    if opened is None:
        return start, end
    mark = opened[1]
    if end - len(mark) < opened.end() or not text.endswith(mark, start, end):
        return start, end
    return opened.end(), end - len(mark)


def _words(fault: json.JSONDecodeError, document: str) -> str:
    if fault.msg == "Extra data":
        return "something follows the document"
    if fault.pos >= len(document.rstrip()) or fault.msg.startswith("Unterminated"):
        return "the text ends before the document does"
    if fault.pos == 0 and document.startswith(("```", "~~~")):
        return "a code fence is not closed, or something follows it"
    if fault.pos == 0 and document[:1] not in {"{", "["}:
        return "something stands before the document"
    return fault.msg[:1].lower() + fault.msg[1:].removesuffix(" at")


def _refused(document: str, start: int, problem: str) -> Unreadable:
    place = next((start + at + 1 for at, _ in _refused_tokens(document)), 0)
    return Unreadable(kind=NOT_JSON, problem=problem, position=place)


def _refused_tokens(document: str) -> Iterator[tuple[int, str]]:
    """Yield where a key stands for the second time, or a word is none of JSON."""
    objects: list[set[str] | None] = []
    before = ""
    for found in _TOKEN.finditer(document):
        part = found[0]
        keys = objects[-1] if objects else None
        if part in {"{", "["}:
            objects.append(set() if part == "{" else None)
        elif part in {"}", "]"} and objects:
            objects.pop()
        elif part[0] == '"' and before in {"{", ","} and keys is not None:
            if part in keys:
                yield found.start(), part
            keys.add(part)
        elif part in _CONSTANTS or (part[0] in "-0123456789" and _is_too_large(part)):
            yield found.start(), part
        before = part


_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})


def _is_too_large(token: str) -> bool:
    # An integer may have many digits; only the others become floats.
    if not any(mark in token for mark in ".eE"):
        return False
    try:
        return math.isinf(float(token))
    except ValueError:
        return False


def _depth(document: str) -> int:
    deepest = depth = 0
    for found in _TOKEN.finditer(document):
        depth += (found[0] in {"{", "["}) - (found[0] in {"}", "]"})
        deepest = max(deepest, depth)
    return deepest


# The paths of a document that are right or wrong each by itself.


def compared_paths(rules: DocumentRules, expected: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the paths that are counted: every value of an object, and each list as one."""
    return tuple(path_text(path) for path in _leaves(rules, expected, ()))


def _leaves(rules: DocumentRules, value: Mapping[str, JsonValue], path: Path) -> Iterator[Path]:
    for key, inner in value.items():
        place = (*path, key)
        if rules.ignored_patterns.match(place):
            continue
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(rules, inner, place)
        else:
            yield place


def labelled_paths(rules: DocumentRules, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths whose values are few, so that one given for another tells something."""
    return tuple(
        text
        for text in paths
        for path in (path_of(text),)
        if rules.roles.get(rules.role_patterns.match(path)) is Role.ROUTE
        or rules.declared.at(path).has_few_values
    )


def wrong_paths(paths: Iterable[str], mismatched: Iterable[str]) -> frozenset[str]:
    """Return the paths that a mismatch concerns: at them, above them, or inside their list.

    A mismatch that concerns none of them, such as a key that should be absent, is a path itself.
    """
    every, wrong = tuple(paths), set[str]()
    for field in mismatched:
        concerned = {path for path in every if overlaps(path, field)}
        wrong |= concerned or {field}
    return frozenset(wrong)


# Find a document in what an agent returned, and hold it against the schema.

SCHEMA: Final = "schema"
"""The kind of the reason of a document that does not satisfy the schema."""

_ENVELOPE: Final = ("output", "messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """The document that an agent gave, or why there is none.

    Attributes:
        document: what was found; `None` if `reason` says why not.
        position: the offset at which it starts in the text; `None` of a mapping.
        reason: `empty`, `not JSON` or `schema`, and what is wrong where.
    """

    document: Mapping[str, JsonValue] | None = None
    position: int | None = None
    reason: str = ""


def find_document(rules: DocumentRules, returned: Returned) -> FoundDocument:
    """Read the document, and hold it against the schema."""
    if _is_mapping(rules, returned):
        return _checked(rules, _unwrapped(rules, returned.mapping), None)
    if returned.kind is ReturnedKind.NOTHING:
        return FoundDocument(reason=f"{EMPTY}: the agent returned None")
    if returned.kind is ReturnedKind.UNUSABLE:
        return FoundDocument(reason=f"{NOT_JSON}: {returned.problem}")
    read = read_document(returned.text)
    if isinstance(read, Unreadable):
        return FoundDocument(reason=read.reason)
    return _checked(rules, read.value, read.position)


def _is_mapping(rules: DocumentRules, returned: Returned) -> bool:
    if returned.kind is ReturnedKind.MAPPING:
        return True
    # A document may have a key that elsewhere wraps a text.
    return any(name in returned.mapping and name in rules.declared.names for name in _ENVELOPE)


def _unwrapped(rules: DocumentRules, mapping: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the document that an object wraps as its output, as other answers are wrapped."""
    while "output" not in rules.declared.names:
        inside = mapping.get("output")
        if not isinstance(inside, Mapping):
            break
        mapping = inside
    return mapping


def _checked(rules: DocumentRules, value: JsonValue, position: int | None) -> FoundDocument:
    broken = rules.validator.violations(value)
    if broken:
        return FoundDocument(reason=_in_words(rules, broken))
    return FoundDocument(document=value if isinstance(value, Mapping) else None, position=position)


def _in_words(rules: DocumentRules, broken: tuple[Violation, ...]) -> str:
    first = broken[0]
    ignored = rules.ignored_patterns.match(first.about)
    place = f"{first.place} (ignored)" if ignored else first.place
    demand = f" {first.demand}" if first.demand else ""
    more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
    return f"{SCHEMA}: {place} breaks {first.keyword}{demand}: {first.value}{more}"
