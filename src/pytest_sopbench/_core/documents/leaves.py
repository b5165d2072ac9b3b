"""The paths of a document that are right or wrong each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_sopbench._core.values.json import JsonValue

from .paths import Path, overlaps, path_of, path_text
from .rules import DocumentRules, Role


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
    return tuple(path for path in paths if _has_few_values(rules, path))


def _has_few_values(rules: DocumentRules, text: str) -> bool:
    path, schema = path_of(text), rules.declared
    if rules.roles.get(rules.role_patterns.match(path)) is Role.ROUTE:
        return True
    for part in path:
        schema = schema.inside(part) if isinstance(part, str) else schema.items
    return schema.has_few_values


def wrong_paths(paths: Iterable[str], mismatched: Iterable[str]) -> frozenset[str]:
    """Return the paths that a mismatch concerns: at them, above them, or inside their list.

    A mismatch that concerns none of them, such as a key that should be absent, is a path itself.
    """
    every, wrong = tuple(paths), set[str]()
    for field in mismatched:
        concerned = {path for path in every if overlaps(path, field)}
        wrong |= concerned or {field}
    return frozenset(wrong)
