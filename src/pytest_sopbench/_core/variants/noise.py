"""An SOP with paragraphs of other procedures between its own, which concern no task of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Final

PARAGRAPHS: Final = 4
"""Paragraphs that are added."""

_BLANK: Final = re.compile(r"\n[ \t]*\n\s*")
_PROSE: Final = re.compile(r"[A-Z]")
_NUMBERED: Final = re.compile(r"(?:\*\*)?(?:[A-Z]{0,3}-?\d+(?:\.\d+)*[.)]?)(?:\*\*)?\s+")
_SHORTEST, _LONGEST = 80, 900


def with_noise(domain: str, sop: str, others: Sequence[str]) -> str:
    """Return the SOP with paragraphs of others spread over it; the same for the same texts.

    All tasks of a domain are given the same text, so that a provider may keep what it has read.
    """
    blocks = _BLANK.split(sop.strip())
    chosen = _chosen(domain, [one for text in others for one in prose(text)])
    places = _places(blocks)
    held: dict[int, list[str]] = {}
    for number, one in enumerate(chosen, 1):
        held.setdefault(places[number * len(places) // (len(chosen) + 1)], []).append(one)
    mixed: list[str] = []
    for place, block in enumerate(blocks, 1):
        mixed += (block, *held.get(place, ()))
    return "\n\n".join(mixed) + "\n"


def prose(sop: str) -> Iterator[str]:
    """Yield paragraphs that may stand anywhere: no headings, tables, lists, numbers of clauses."""
    for block in _BLANK.split(sop.strip()):
        text = _NUMBERED.sub("", block, count=1)
        if "\n" not in text and _SHORTEST <= len(text) <= _LONGEST and _PROSE.match(text):
            yield text


def _chosen(domain: str, paragraphs: Sequence[str]) -> Sequence[str]:
    def drawn(text: str) -> str:
        return sha256(f"{domain}\0{text}".encode()).hexdigest()

    return sorted(dict.fromkeys(paragraphs), key=drawn)[:PARAGRAPHS]


def _places(blocks: Sequence[str]) -> Sequence[int]:
    """Return after how many blocks something may stand: never inside a fence of code."""
    places: list[int] = []
    fences = 0
    for place, block in enumerate(blocks, 1):
        fences += sum(line.lstrip().startswith("```") for line in block.splitlines())
        if fences % 2 == 0:
            places.append(place)
    return places or [len(blocks)]
