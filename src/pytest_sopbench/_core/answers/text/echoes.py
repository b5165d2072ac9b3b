"""Find the passages of the SOP that stand in a text, so that its examples are no answers.

Words are compared, in any case, and nothing between them: an agent reflows and cuts what it
quotes. A passage is an echo of the SOP where it is clearly longer than the answer that stands in
it. An answer in just the form of the SOP's example is an answer.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

SHORTEST: Final = 6
"""Words in their order that make a passage; fewer occur in anybody's sentences."""

MORE: Final = 6
"""Words by which a passage exceeds the answer in it, if it is an echo."""

# A letter of a script without spaces counts as a word; an escape is no part of one. That class is
# written by what it leaves out: `re` goes through each character that a class names.
_WORD: Final = re.compile(
    r"\\[nrt\"']|&(?:lt|gt|quot|amp|apos|\#\w{1,6});"
    r"|([^\W_\u2e80-\U0003ffff]+|(?![\U00040000-\U0010ffff])[^\x00-\u2e7f])"
)
_PLACES: Final = 32


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the SOP in a text, up to the words around it, and how many words it has."""

    start: int
    end: int
    words: int


class Echoes:
    """The passages of one text that stand in the SOP too."""

    __slots__ = ("_ends", "_passages", "_sop", "_starts")

    def __init__(self, text: str, sop: str) -> None:
        self._sop = _indexed(sop) if sop else None
        self._passages = _passages(text, self._sop) if self._sop else []
        self._starts = [passage.start for passage in self._passages]
        self._ends = [passage.end for passage in self._passages]

    def around(self, start: int, end: int) -> list[Passage]:
        """Return the passages that hold this stretch of the text whole.

        Passages start and end in the same order, and few of them hold the same word.
        """
        first = bisect_left(self._ends, end)
        return self._passages[first : bisect_right(self._starts, start)]

    def quotes(self, pairs: Mapping[str, JsonValue]) -> bool:
        """Whether all of these pairs stand in the SOP, and one of them nowhere by chance."""
        if self._sop is None or not any(map(_tells, pairs.values())):
            return False
        joined = self._sop.joined
        return all(
            _is_plain(value) and f" {_joined(key, value)} " in joined
            for key, value in pairs.items()
        )


def count_words(value: JsonValue) -> int:
    """How many words a value has, as they are compared with the SOP."""
    count = 0
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            parts += (*part.keys(), *part.values())
        elif isinstance(part, str):
            count += sum(1 for match in _WORD.finditer(part) if match[1])
        elif isinstance(part, Sequence):
            parts += part
        else:
            parts.append(str(part))
    return count


@dataclass(frozen=True, slots=True)
class _Sop:
    """The words of the SOP, also as one text, and where each run of `SHORTEST` begins."""

    words: tuple[str, ...]
    joined: str
    places: Mapping[tuple[str, ...], list[int]]


@lru_cache(maxsize=16)
def _indexed(sop: str) -> _Sop:
    words = tuple(match[1].casefold() for match in _WORD.finditer(sop) if match[1])
    places: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(words) - SHORTEST + 1):
        known = places.setdefault(words[place : place + SHORTEST], [])
        # However often the SOP repeats itself, a word of the text costs the same.
        if len(known) < _PLACES:
            known.append(place)
    return _Sop(words, f" {' '.join(words)} ", places)


def _tells(value: JsonValue) -> bool:
    """Whether a value is one of a kind, as an id or a sentence is, and `true` is not."""
    if not isinstance(value, str):
        return False
    is_id = len(value) >= SHORTEST and any(map(str.isdigit, value))
    return is_id or count_words(value) >= SHORTEST - 2


def _is_plain(value: JsonValue) -> bool:
    return value is None or isinstance(value, str | int | float)


def _joined(key: str, value: JsonValue) -> str:
    text = f"{key} {value if isinstance(value, str) else json.dumps(value)}"
    return " ".join(match[1].casefold() for match in _WORD.finditer(text) if match[1])


def _passages(text: str, indexed: _Sop) -> list[Passage]:
    found = [match for match in _WORD.finditer(text) if match[1]]
    words = tuple(match[1].casefold() for match in found)
    passages: list[Passage] = []
    start = 0
    while start + SHORTEST <= len(words):
        places = indexed.places.get(words[start : start + SHORTEST])
        if places is None:
            start += 1
            continue
        end = _end(words, start, indexed.words, places)
        before = found[start - 1].end(1) if start else 0
        after = found[end].start(1) if end < len(found) else len(text)
        passages.append(Passage(before, after, end - start))
        # The next passage may begin before this one ends, where two of them meet.
        start = end - SHORTEST + 1
    return passages


def _end(words: tuple[str, ...], start: int, sop: tuple[str, ...], places: list[int]) -> int:
    """How far the words go on as the SOP does, from any of its places."""
    end = start + SHORTEST
    going_on = places
    while end < len(words):
        ahead = end - start
        going_on = [
            place
            for place in going_on
            if place + ahead < len(sop) and sop[place + ahead] == words[end]
        ]
        if not going_on:
            break
        end += 1
    return end
