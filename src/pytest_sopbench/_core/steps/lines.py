"""Tell the lines of an SOP apart: headings, text, and what only looks like them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

_ATX: Final = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?[ \t]*$")
_CLOSING: Final = re.compile(r"(?:^|[ \t]+)#+$")
_UNDERLINE: Final = re.compile(r"^ {0,3}(=+|-{2,})[ \t]*$")
_FENCE: Final = re.compile(r"^[ \t]{0,7}(?P<marks>`{3,}|~{3,})(?P<info>.*)$")
_INDENTED: Final = re.compile(r"^(?: {2,}|\t| {0,3}>)")
_FRONT: Final = "---"
_FRONT_ENDS: Final = frozenset({"---", "..."})


class Kind(Enum):
    """What a line is. Code and tables hold what looks like a heading and is none."""

    BLANK = auto()
    HEADING = auto()
    TEXT = auto()
    INSIDE = auto()
    CODE = auto()
    TABLE = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """One line; `title` and `level` are those of a heading, `place` counts from 0.

    `INSIDE` is the kind of an indented line, which belongs to what stands above it, and of a line
    that is quoted. The underline of a heading is a line of code.
    """

    place: int
    text: str
    kind: Kind
    title: str = ""
    level: int = 0


def read_lines(text: str) -> tuple[Line, ...]:
    """Say of each line of a text what it is."""
    raw = text.split("\n")
    start = _front_matter(raw)
    front = [Line(place, raw[place], Kind.CODE) for place in range(start)]
    return (*front, *_body(raw, start))


def _front_matter(raw: Sequence[str]) -> int:
    """Count the lines of the YAML that stands before a text, if any does."""
    if not raw or raw[0].rstrip() != _FRONT:
        return 0
    ends = (place for place in range(1, len(raw)) if raw[place].rstrip() in _FRONT_ENDS)
    return next(ends, -1) + 1


def _body(raw: Sequence[str], start: int) -> Iterator[Line]:
    fence = ""
    skipped = False
    for place in range(start, len(raw)):
        text = raw[place]
        marks = _FENCE.match(text)
        if fence:
            yield Line(place, text, Kind.CODE)
            if marks and marks["marks"].startswith(fence) and not marks["info"].strip():
                fence = ""
        elif skipped:
            yield Line(place, text, Kind.CODE)
            skipped = False
        elif marks and "`" not in marks["info"]:
            fence = marks["marks"]
            yield Line(place, text, Kind.CODE)
        else:
            line = _plain(place, text, raw)
            # The underline must not pass for the end of something.
            skipped = line.kind is Kind.HEADING and not text.lstrip().startswith("#")
            yield line


def _plain(place: int, text: str, raw: Sequence[str]) -> Line:
    if not text.strip():
        return Line(place, text, Kind.BLANK)
    heading = _ATX.match(text)
    if heading:
        title = _CLOSING.sub("", heading["title"] or "")
        return Line(place, text, Kind.HEADING, title.strip(), len(heading["marks"]))
    if text.lstrip().startswith("|"):
        return Line(place, text, Kind.TABLE)
    if _INDENTED.match(text):
        return Line(place, text, Kind.INSIDE)
    level = _underlined(place, raw)
    if level:
        return Line(place, text, Kind.HEADING, text.strip(), level)
    return Line(place, text, Kind.TEXT)


def _underlined(place: int, raw: Sequence[str]) -> int:
    """Return the level of a heading that is marked by the line below it, or 0."""
    alone = place == 0 or not raw[place - 1].strip()
    under = _UNDERLINE.match(raw[place + 1]) if alone and place + 1 < len(raw) else None
    if under is None:
        return 0
    return 1 if under[1].startswith("=") else 2
