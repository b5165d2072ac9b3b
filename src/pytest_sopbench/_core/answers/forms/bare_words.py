"""Read dicts whose words are not quoted, as `{decision: approve}`, which some SOPs prescribe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

_FLAT: Final = re.compile(r"\{([^{}]*)\}")
_PART: Final = re.compile(r"""("[^"]*"|'[^']*')|([:,])|([^:,"']+)|(["'])""")
_WORDS: Final[dict[str, JsonValue]] = {
    "True": True, "False": False, "None": None, "true": True, "false": False, "null": None,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class BareDict:
    """A flat dict in a text. `bare` are the keys whose values stood without quotes."""

    start: int
    end: int
    value: dict[str, JsonValue]
    bare: frozenset[str]


def bare_dicts(text: str) -> Iterator[BareDict]:
    """Yield the flat dicts of a text in their order; every value is a text or a JSON word."""
    for match in _FLAT.finditer(text):
        read = _read(match[1])
        if read is not None:
            value, bare = read
            yield BareDict(match.start(), match.end(), value, frozenset(bare))


def _read(inside: str) -> tuple[dict[str, JsonValue], set[str]] | None:
    value: dict[str, JsonValue] = {}
    bare: set[str] = set()
    for item in _items(inside):
        pair = _pair(item)
        if pair is None:
            return None
        key, words, quoted = pair
        value[key] = words if quoted or words not in _WORDS else _WORDS[words]
        bare.discard(key)
        if not quoted:
            bare.add(key)
    return (value, bare) if value else None


def _items(inside: str) -> Iterator[list[re.Match[str]]]:
    """Yield what stands between the commas; a comma at the very end is none."""
    item: list[re.Match[str]] = []
    for part in _PART.finditer(inside):
        if part[2] == ",":
            yield item
            item = []
        elif part[0].strip():
            item.append(part)
    if item:
        yield item


def _pair(item: list[re.Match[str]]) -> tuple[str, str, bool] | None:
    # A time of day has colons too.
    if len(item) < 3 or item[0][2] or item[1][2] != ":" or any(part[4] for part in item):  # noqa: PLR2004 - key, colon, value
        return None
    key = item[0][0].strip()
    value, quoted = "".join(part[0] for part in item[2:]).strip(), bool(item[2][1])
    if quoted and len(item) > 3:  # noqa: PLR2004 - key, colon, value
        return None
    return (_unquoted(key), _unquoted(value) if quoted else value, quoted)


def _unquoted(word: str) -> str:
    return word[1:-1] if word[:1] in ("'", '"') else word
