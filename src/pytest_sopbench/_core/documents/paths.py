"""Places in a document: keys and positions from the root, and the patterns that name them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from pytest_sopbench._core.values.json import JsonValue

Path: TypeAlias = tuple[str | int, ...]
"""Keys of objects and positions in lists, from the root on."""

ROOT: Final = "the document"
"""What the root is called, which has no path."""

_PLAIN: Final = re.compile(r"[^.\[\]\"\s]+(?: [^.\[\]\"\s]+)*")
_KNOWN_LIMIT: Final = 4_096
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
    elif isinstance(value, Sequence) and not isinstance(value, str):
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

    __slots__ = ("_known", "texts")

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.texts = tuple(texts)
        # Few kinds of places come again and again; a map with keys of its own may have many.
        self._known: dict[tuple[str, ...], str] = {}

    def match(self, path: Path) -> str:
        """Return the longest pattern that a path ends in, or nothing."""
        if not self.texts:
            return ""
        keys = tuple(part for part in path if isinstance(part, str))
        if not keys:
            return ""
        found = self._known.get(keys)
        if found is None:
            found = self._match(keys)
            if len(self._known) < _KNOWN_LIMIT:
                self._known[keys] = found
        return found

    def _match(self, keys: tuple[str, ...]) -> str:
        ends = {".".join(keys[start:]) for start in range(len(keys))}
        return max((text for text in self.texts if text in ends), key=len, default="")
