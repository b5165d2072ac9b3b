"""Find the tags that matter in what an agent said, in linear time.

Each pattern begins at a `<` and never passes the next one, so no text makes it hang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .field_names import name_pattern
from .spelling import fold

REASONING: Final = ("thinking", "think", "analysis", "scratchpad")
"""Tags inside which nothing is an answer."""

_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>]+))*"""
_REASONING_TAG: Final = re.compile(
    rf"<\s*(/\s*)?({'|'.join(REASONING)}){_ATTRIBUTES}\s*(/\s*)?>", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: its name after folding, and where it starts and ends."""

    name: str
    start: int
    end: int
    closing: bool
    empty: bool


@dataclass(frozen=True, slots=True)
class Element:
    """The last element of a name: where it starts, and the text inside."""

    start: int
    inside: str


def tag_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for the tags of these names, however they are spelled."""
    longest_first = sorted(names, key=len, reverse=True)
    alternatives = "|".join(map(name_pattern, longest_first))
    return re.compile(rf"<\s*(/\s*)?({alternatives}){_ATTRIBUTES}\s*(/\s*)?>", re.IGNORECASE)


def tags(text: str, pattern: re.Pattern[str]) -> Iterator[Tag]:
    """Return the tags of a text in order."""
    for match in pattern.finditer(text):
        closing, empty = bool(match[1]), bool(match[3])
        yield Tag(fold(match[2]), match.start(), match.end(), closing, empty)


def last_elements(text: str, found: list[Tag]) -> dict[str, Element]:
    """Return the last element of each name.

    One that is never closed is read to the end of its line, or to the next tag that matters. One
    that is not closed and holds nothing was cut off before its value, and is none.
    """
    elements: dict[str, Element] = {}
    seen: set[str] = set()
    closings: dict[str, Tag] = {}
    following = len(text)
    for tag in reversed(found):
        if tag.closing:
            closings[tag.name] = tag
        elif tag.name not in seen:
            inside = _inside(text, tag, closings.get(tag.name), following)
            if inside is not None:
                seen.add(tag.name)
                elements[tag.name] = Element(tag.start, inside)
        following = tag.start
    return elements


def without_reasoning(text: str, fields: frozenset[str]) -> str:
    """Return the text with reasoning blanked out, so that every offset stays what it was.

    A closing tag alone ends reasoning that began with the text, as some providers cut off the
    opening one; an opening tag alone is reasoning to the end. `fields` are folded names that are
    no reasoning in this task.
    """
    if "<" not in text:
        return text
    found = [tag for tag in tags(text, _REASONING_TAG) if tag.name not in fields and not tag.empty]
    spans = _reasoning_spans(found, len(text))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], " " * (end - start))
        position = end
    return "".join(parts) + text[position:]


def _inside(text: str, tag: Tag, closing: Tag | None, following: int) -> str | None:
    if tag.empty:
        return ""
    if closing is not None:
        return text[tag.end : closing.start]
    rest = text[tag.end : following].lstrip()
    return rest.partition("\n")[0].strip() or None


def _reasoning_spans(found: list[Tag], length: int) -> list[tuple[int, int]]:
    last_closing = {tag.name: tag.start for tag in found if tag.closing}
    spans: list[tuple[int, int]] = []
    opened: Tag | None = None
    for tag in found:
        if opened is None and not tag.closing:
            opened = tag
        elif opened is None:
            spans = [(0, tag.end)]
        elif tag.closing and _closes(tag, opened, last_closing):
            spans.append((opened.start, tag.end))
            opened = None
    if opened is not None:
        spans.append((opened.start, length))
    return spans


def _closes(tag: Tag, opened: Tag, last_closing: dict[str, int]) -> bool:
    """A tag of another name closes reasoning only where none of its own name ever will."""
    return tag.name == opened.name or last_closing.get(opened.name, -1) < opened.start
