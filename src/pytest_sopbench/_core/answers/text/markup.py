"""Find the tags that matter in what an agent said, in linear time.

Each pattern begins at a `<` and never passes the next one, so no text makes it hang.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.fields.names import name_pattern
from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench._core.values.reasoning_tags import REASONING

_COMMENT: Final = "<!--"
_ATTRIBUTES: Final = r"""(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'|[^\s"'<>]+))*"""
_HIDING: Final = re.compile(
    rf"<\s*(/\s*)?({'|'.join(REASONING)}){_ATTRIBUTES}\s*(/\s*)?>|(<!--)|(-->)", re.IGNORECASE
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
    """One element: where it starts and ends, where the text inside does, and if it is closed."""

    name: str
    start: int
    end: int
    inner_start: int
    inner_end: int
    closed: bool = True

    def inside(self, text: str) -> str:
        return text[self.inner_start : self.inner_end]


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


def elements(text: str, found: list[Tag]) -> dict[str, list[Element]]:
    """Return the elements of each name, the first last.

    An element that is never closed is read to the end of its line, or to the next tag that
    matters. One that is not closed and holds nothing was cut off before its value, and is none.
    No two elements of one name share any text, so that all of them may be read in linear time.
    """
    by_name: dict[str, list[Element]] = {}
    closings: dict[str, Tag] = {}
    following = len(text)
    for tag in reversed(found):
        if tag.closing:
            closings[tag.name] = tag
        else:
            element = _element(text, tag, closings.pop(tag.name, None), following)
            if element is not None:
                by_name.setdefault(tag.name, []).append(element)
        following = tag.start
    for several in by_name.values():
        several.reverse()
    return by_name


def without_hidden(text: str, fields: frozenset[str]) -> str:
    """Return the text with reasoning and comments blanked out; every offset stays what it was.

    A closing tag alone ends reasoning that began with the text, as some providers cut off the
    opening one; an opening tag or comment mark alone hides all that follows. `fields` are folded
    names that are no reasoning in this task.
    """
    if "<" not in text:
        return text
    spans = _hidden_spans([tag for tag in _hiding_tags(text) if tag.name not in fields], len(text))
    if not spans:
        return text
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += (text[position:start], " " * (end - start))
        position = end
    return "".join(parts) + text[position:]


def _element(text: str, tag: Tag, closing: Tag | None, following: int) -> Element | None:
    if tag.empty:
        return Element(tag.name, tag.start, tag.end, tag.end, tag.end)
    if closing is not None:
        return Element(tag.name, tag.start, closing.end, tag.end, closing.start)
    rest = text[tag.end : following]
    start = tag.end + len(rest) - len(rest.lstrip())
    end = start + len(text[start:following].partition("\n")[0])
    return Element(tag.name, tag.start, end, start, end, closed=False) if start < end else None


def _hiding_tags(text: str) -> Iterator[Tag]:
    for match in _HIDING.finditer(text):
        if match[2] is None:
            yield Tag(_COMMENT, match.start(), match.end(), closing=bool(match[5]), empty=False)
        elif not match[3]:
            yield Tag(fold(match[2]), match.start(), match.end(), bool(match[1]), empty=False)


def _hidden_spans(found: list[Tag], length: int) -> list[tuple[int, int]]:
    last_closing = {tag.name: tag.start for tag in found if tag.closing}
    spans: list[tuple[int, int]] = []
    opened: Tag | None = None
    for tag in found:
        if opened is None and not tag.closing:
            opened = tag
        elif opened is None:
            # An arrow in a text looks like the end of a comment, and ends nothing.
            spans = spans if tag.name == _COMMENT else [(0, tag.end)]
        elif tag.closing and _closes(tag, opened, last_closing):
            spans.append((opened.start, tag.end))
            opened = None
    if opened is not None:
        spans.append((opened.start, length))
    return spans


def _closes(tag: Tag, opened: Tag, last_closing: dict[str, int]) -> bool:
    """A tag of another name closes reasoning only where none of its own name ever will."""
    if tag.name == opened.name or _COMMENT in (tag.name, opened.name):
        return tag.name == opened.name
    return last_closing.get(opened.name, -1) < opened.start
