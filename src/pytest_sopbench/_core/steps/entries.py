"""Find the numbered entries of an SOP: `## 1. Title`, `Step 3 - Title`, `1) ...`, `4.1 ...`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .lines import Kind, Line

NUMBER: Final = r"\d{1,3}(?:\.\d{1,3})*"
APPROVAL: Final = re.compile(
    r"`?\[[ \t]*(?P<before>pre[- ]?)?approval[ \t]+required\b[^\]\n]*\]`?", re.IGNORECASE
)
TITLE_LIMIT: Final = 80

BARE: Final = 7
"""The level of an entry that is no heading: below all headings."""

_MARKS: Final = r"[*_]{0,3}"
_STEP: Final = re.compile(
    rf"^(?:[-*+][ \t]+)?{_MARKS}(?:step|schritt)[ \t]*#?[ \t]*(?P<number>{NUMBER})"
    rf"{_MARKS}(?P<sign>[ \t]*[:.)]|[ \t]+[-\u2013\u2014](?=[ \t]))?{_MARKS}"
    r"(?:[ \t]+|$)(?P<title>.*)$",
    re.IGNORECASE,
)
_IN_HEADING: Final = re.compile(
    rf"^{_MARKS}(?:(?:section|phase|stage|part|clause)[ \t]+)?\(?(?P<number>{NUMBER})"
    rf"(?:[.):]|[ \t]*[-\u2013\u2014](?=[ \t]))?{_MARKS}(?:[ \t]+|$)(?P<title>.*)$",
    re.IGNORECASE,
)
_LISTED: Final = re.compile(
    rf"^{_MARKS}(?:(?P<one>\d{{1,3}})[.)]|\((?P<braced>\d{{1,3}})\)|(?P<number>{NUMBER})[.)]?)"
    rf"{_MARKS}[ \t]+(?P<title>\S.*)$"
)
_SENTENCE: Final = re.compile(r"(?<=[.!?:])[ \t]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line that begins something with a number.

    `level` is that of its heading, or `BARE`; `says_step` tells that it is called a step.
    """

    place: int
    number: tuple[int, ...]
    label: str
    title: str
    level: int
    says_step: bool = False

    @property
    def is_bare(self) -> bool:
        return self.level == BARE


def entries_of(lines: Sequence[Line]) -> tuple[Entry, ...]:
    """Return every numbered entry; numbers in code, tables and indented lines are none."""
    return tuple(_entries(lines))


def in_order(entries: Sequence[Entry]) -> bool:
    """Whether the numbers of at least two entries only ever rise."""
    rises = all(one.number < other.number for one, other in pairwise(entries))
    return len(entries) > 1 and rises


def _entries(lines: Sequence[Line]) -> Iterator[Entry]:
    listing = False
    for place, line in enumerate(lines):
        found = None
        if line.kind is Kind.HEADING:
            found = _read(_STEP, line, line.level) or _read(_IN_HEADING, line, line.level)
        elif line.kind is Kind.TEXT:
            found = _bare(line, begins=listing or _begins(lines, place))
        if found is not None:
            yield found
        # A list goes on over its own lines; a line of prose that wraps is no entry of it.
        listing = found is not None or (listing and line.kind is Kind.INSIDE)


def _begins(lines: Sequence[Line], place: int) -> bool:
    return place == 0 or lines[place - 1].kind is not Kind.TEXT


def _bare(line: Line, *, begins: bool) -> Entry | None:
    step = _STEP.match(line.text)
    if step is not None:
        return _read(_STEP, line, BARE) if step["sign"] and begins else None
    return _read(_LISTED, line, BARE) if begins else None


def _read(form: re.Pattern[str], line: Line, level: int) -> Entry | None:
    found = form.match(line.title or line.text)
    if found is None:
        return None
    named = found.groupdict()
    label: str = named.get("one") or named.get("braced") or named["number"]
    return Entry(
        place=line.place,
        number=tuple(map(int, label.split("."))),
        label=label,
        title=_title(found["title"], shorten=level == BARE),
        level=level,
        says_step=form is _STEP,
    )


def _title(text: str, *, shorten: bool) -> str:
    bare = " ".join(APPROVAL.sub(" ", text).split()).strip("*_ :")
    if shorten:
        bare = _SENTENCE.split(bare, maxsplit=1)[0].strip("*_ :")
    return bare if len(bare) <= TITLE_LIMIT else f"{bare[: TITLE_LIMIT - 3].rstrip()}..."
