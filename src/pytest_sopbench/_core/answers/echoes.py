"""Passages of the SOP in a text, so that its examples are no answers."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.model.trace import Returned
from pytest_sopbench._core.values.json import JsonValue

from .text import BLANK

# Find the passages of the SOP that stand in a text, so that its examples are no answers.
#
# Words are compared, in any case, and nothing between them: an agent reflows and cuts what it
# quotes. An answer in just the form of the SOP's example is an answer.

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


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the SOP in a text, up to the words around it, and how many words it has."""

    start: int
    end: int
    words: int


class Echoes:
    """The passages of one text that stand in the SOP too, in their order."""

    def __init__(self, text: str, sop: str) -> None:
        self._sop, known = _known(sop)
        self.passages = _passages(text.replace(BLANK, " "), known) if known else []

    def holds(self, start: int, end: int, said: JsonValue) -> bool:
        """Whether a passage that is clearly longer than what is said holds this stretch whole."""
        at = bisect_right(self.passages, start, key=lambda one: one.start) - 1
        if at < 0 or self.passages[at].end < end:
            return False
        return self.passages[at].words - count_words(said) >= MORE

    def quotes(self, pairs: Mapping[str, JsonValue]) -> bool:
        """Whether all of these pairs stand in the SOP, and one of them nowhere by chance."""
        if not any(isinstance(one, str) and _tells(one) for one in pairs.values()):
            return False
        return all(f" {' '.join(_words(_written(pair)))} " in self._sop for pair in pairs.items())


def _tells(value: str) -> bool:
    """Whether a value is one of a kind, as an id or a sentence is."""
    is_id = len(value) >= SHORTEST and any(map(str.isdigit, value))
    return is_id or count_words(value) >= SHORTEST - 2


def count_words(value: JsonValue) -> int:
    """How many words a value has, as they are compared with the SOP."""
    return len(_words(_written(value)))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _words(text: str) -> tuple[str, ...]:
    found: list[str] = _WORD.findall(text)
    return tuple(word.casefold() for word in found if word)


def _sequences(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[at:] for at in range(SHORTEST)), strict=False)


@lru_cache(maxsize=16)
def _known(sop: str) -> tuple[str, frozenset[tuple[str, ...]]]:
    words = _words(sop)
    return f" {' '.join(words)} ", frozenset(_sequences(words))


def _passages(text: str, known: frozenset[tuple[str, ...]]) -> list[Passage]:
    """Return the runs of words in which each `SHORTEST` that follow each other are in the SOP."""
    words = _words(text)
    # Most texts hold none, which is known without asking where each word stands.
    if known.isdisjoint(_sequences(words)):
        return []
    found = [match for match in _WORD.finditer(text) if match[1]]
    passages: list[Passage] = []
    first = 0
    for start in range(len(words) - SHORTEST + 2):
        if tuple(words[start : start + SHORTEST]) in known:
            continue
        if start > first:
            end = start + SHORTEST - 1
            before = found[first - 1].end(1) if first else 0
            after = found[end].start(1) if end < len(found) else len(text)
            passages.append(Passage(before, after, end - first))
        first = start + 1
    return passages


_MARK: Final = "[the SOP]"


def without_quoted_sop(returned: Returned, sop: str) -> Returned:
    """Blank out every whole copy of the SOP, so that every offset stays what it was.

    Only a whole copy: a line of it may well be what the SOP asks the agent to say.
    """
    text, whole = returned.text, sop.strip().replace("\r\n", "\n")
    in_lines = (whole, whole.replace("\n", "\r\n"))
    for copy in (*in_lines, json.dumps(whole)[1:-1], repr(whole)[1:-1]):
        if len(copy) > len(_MARK):
            text = text.replace(copy, _MARK.ljust(len(copy)))
    return returned if text == returned.text else replace(returned, text=text)
