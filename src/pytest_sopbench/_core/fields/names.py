"""The output fields of a task as they may be spelled in an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold

_SPACES: Final = r"[\s_-]+"


class FieldNames:
    """Knows the fields by any spelling of their names: case, and space, `_` and `-`, are alike.

    `each` are the names with their folded spelling, and `pattern` matches any of them.
    """

    __slots__ = ("_by_spelling", "_spelled", "all", "each", "folded", "pattern")

    def __init__(self, names: tuple[str, ...]) -> None:
        self.all = names
        self.each = tuple((name, fold(name)) for name in names)
        self.folded = frozenset(folded for _, folded in self.each)
        self._by_spelling = {folded: name for name, folded in reversed(self.each)}
        self.pattern = "|".join(name_pattern(name) for name in sorted(names, key=len, reverse=True))
        self._spelled = re.compile(self.pattern, re.IGNORECASE)

    def field_of(self, name: str) -> str | None:
        return self._by_spelling.get(fold(name))

    def any_in(self, mapping: Mapping[str, JsonValue]) -> bool:
        return any(self.field_of(key) is not None for key in mapping)

    def may_occur(self, text: str) -> bool:
        """Whether a key of these names can stand in a text; keys may be written as escapes."""
        return "\\u" in text or "\\x" in text or self._spelled.search(text) is not None

    def split(
        self, mapping: Mapping[str, JsonValue]
    ) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
        """Return the values of the fields, and those of other keys. The last spelling wins."""
        values: dict[str, JsonValue] = {}
        extra: dict[str, JsonValue] = {}
        for key, value in mapping.items():
            field = self.field_of(key)
            if field is None:
                extra[key] = value
            elif field not in mapping or key == field:
                values[field] = value
        return values, extra


def name_pattern(name: str) -> str:
    """Return a pattern for the spellings of one name."""
    return _SPACES.join(re.escape(part) for part in fold(name).split())


@lru_cache(maxsize=64)
def field_names(names: tuple[str, ...]) -> FieldNames:
    """Return what is known of these names; the same few tuples come in every run."""
    return FieldNames(names)
