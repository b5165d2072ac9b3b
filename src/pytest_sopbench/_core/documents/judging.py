"""Find a document in what an agent returned, and hold it against schema and expectation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.model.trace import Mismatch, Returned, ReturnedKind
from pytest_sopbench._core.values.json import JsonValue

from .comparing import compare_documents
from .reading import EMPTY, NOT_JSON, Unreadable, read_document
from .schema import DocumentRules, Violation

SCHEMA: Final = "schema"
"""The kind of the reason of a document that does not satisfy the schema."""

_ENVELOPE: Final = ("output", "messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocument:
    """The document that an agent gave, or why there is none.

    Attributes:
        document: what was found; `None` where `reason` says why not.
        position: the offset at which it starts in the text; `None` of a mapping.
        reason: `empty`, `not JSON` or `schema`, and what is wrong where.
    """

    document: Mapping[str, JsonValue] | None = None
    position: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedDocument:
    """What a document came to: mismatches with their paths, and what is equal but noted."""

    mismatches: tuple[Mismatch, ...]
    notes: tuple[str, ...] = ()


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


def judge_document(
    rules: DocumentRules, expected: Mapping[str, JsonValue], document: Mapping[str, JsonValue]
) -> JudgedDocument:
    """Compare a document that satisfies the schema with the expected one."""
    compared = compare_documents(rules, expected, document)
    return JudgedDocument(mismatches=compared.mismatches, notes=compared.notes)


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
