"""The paths of a document that are right or wrong each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_sopbench._core.values.json import JsonValue

from .paths import Path, overlaps, path_text
from .rules import DocumentRules


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


def wrong_paths(paths: Iterable[str], mismatched: Iterable[str]) -> frozenset[str]:
    """Return the paths that a mismatch concerns: at them, above them, or inside their list.

    A mismatch that concerns none of them, such as a key that should be absent, is a path itself.
    """
    every, wrong = tuple(paths), set[str]()
    for field in mismatched:
        concerned = {path for path in every if overlaps(path, field)}
        wrong |= concerned or {field}
    return frozenset(wrong)
