"""Find the passages of the SOP that stand in a text, so that its examples are no answers.

Words are compared, in any case, and nothing between them: an agent reflows and cuts what it
quotes. A passage is an echo of the SOP where it is clearly longer than the answer that stands in
it. An answer in just the form of the SOP's example is an answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .models import JsonValue

SHORTEST: Final = 6
"""Words in their order that make a passage; fewer occur in anybody's sentences."""

MORE: Final = 6
"""Words by which a passage exceeds the answer in it, if it is an echo."""

# A letter of a script without spaces counts as a word; an escape is no part of one.
_WORD: Final = re.compile(
    r"\\[nrt\"']|&(?:lt|gt|quot|amp|apos|\#\w{1,6});"
    r"|([^\W_\u2e80-\U0003ffff]+|[\u2e80-\U0003ffff])"
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

    __slots__ = ("_ends", "_starts", "passages")

    def __init__(self, text: str, sop: str) -> None:
        self.passages = _passages(text, sop) if sop else []
        self._starts = [passage.start for passage in self.passages]
        self._ends = [passage.end for passage in self.passages]

    def around(self, start: int, end: int, own: int) -> Passage | None:
        """Return the passage that holds this answer of `own` words and is an echo, if any.

        Passages start and end in the same order, and few of them hold the same word.
        """
        first = bisect_left(self._ends, end)
        last = bisect_right(self._starts, start)
        around = (passage for passage in self.passages[first:last] if passage.words - own >= MORE)
        return next(around, None)


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
    """The words of the SOP, and where each run of `SHORTEST` of them begins."""

    words: tuple[str, ...]
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
    return _Sop(words, places)


def _passages(text: str, sop: str) -> list[Passage]:
    indexed = _indexed(sop)
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
