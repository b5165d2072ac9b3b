"""Text that fits on a terminal: values on one line, cut or wrapped to a width in columns."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, takewhile
from textwrap import wrap
from typing import cast
from unicodedata import east_asian_width

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue

WIDTH = 80
"""Columns of a line where the terminal's own are not asked for: reports are read in logs, too."""

ELLIPSIS = "..."
LABEL_WIDTH = 9


def heading(text: str, width: int = WIDTH) -> str:
    """Return a title between lines of `=`."""
    text = f" {cut(text, width - 6)} "
    rest = width - columns(text)
    return f"{'=' * ((rest + 1) // 2)}{text}{'=' * (rest // 2)}"


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def cut(text: str, width: int) -> str:
    """Cut a text to a width, saying so with three dots."""
    if columns(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[: max(width, 0)]
    text = ready_to_cut(text)
    # No sign takes less than a column, so that no more of them can matter.
    ends = list(accumulate(map(columns, text[:width])))
    return f"{text[: bisect_right(ends, width - len(ELLIPSIS))]}{ELLIPSIS}"


def told_apart(one: str, other: str, room: int) -> tuple[str, str]:
    """Cut two texts to a width that they share, so that what is left shows where they differ.

    Texts that begin alike lose what they share, but for a few signs; dots say so. Below 20 columns
    there is no room for both.
    """
    if columns(one) + columns(other) <= room:
        return one, other
    half = room // 2
    # A sign takes two columns at most, so the first that differs stands before the cut.
    alike = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    start = alike - max((half - 8) // 4, 0)
    if start > len(ELLIPSIS):
        one, other = (f"{ELLIPSIS}{ready_to_cut(text)[start:]}" for text in (one, other))
    # What one of them leaves, the other takes.
    first = cut(one, max(half, room - columns(other)))
    return first, cut(other, room - columns(first))


def cut_from_start(text: str, width: int) -> str:
    """Shorten a text to a width by what stands at its start."""
    if columns(text) <= width:
        return text
    backwards = cut(ready_to_cut(text)[::-1], width)
    return backwards[::-1]


def padded(text: str, width: int) -> str:
    """Cut or fill a text to exactly a width."""
    text = cut(text, width)
    return text + " " * (width - columns(text))


def one_line(text: str) -> str:
    """Return a text on one line, without what could move a cursor or colour a terminal."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def shown(value: JsonValue) -> str:
    """Return a value on one line as Python would write it, so that '1' and 1 differ."""
    if isinstance(value, str):
        return one_line(repr(value))
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return one_line(json.dumps(value, ensure_ascii=False))


def named(values: JsonValue, limit: int = 60) -> str:
    """Return `name='value', ...`, each value cut; anything but a mapping as it is."""
    if not isinstance(values, Mapping):
        return cut(shown(values), limit)
    return ", ".join(f"{one_line(name)}={cut(shown(one), limit)}" for name, one in values.items())


def packed(
    first: str, parts: Iterable[str], *, gap: str, indent: int, width: int = WIDTH
) -> Iterator[str]:
    """Yield a line and parts behind it; those that find no room follow on lines of their own."""
    line = first
    for part in parts:
        if columns(line) + columns(gap) + columns(part) <= width:
            line = f"{line}{gap}{part}"
            continue
        yield line.rstrip()
        line = cut(f"{'':{indent}}{part}", width)
    yield line.rstrip()


def labelled(label: str, text: str, *, width: int = WIDTH, lines: int = 0) -> Iterator[str]:
    """Yield a label with its text beside it, wrapped; `lines` cuts what is longer."""
    room = width - LABEL_WIDTH
    if lines:
        # Wrapping megabytes takes minutes, and no more than this can be seen.
        text = text if len(text) <= 2 * room * lines else ready_to_cut(text)[: 2 * room * lines]
    wrapped = wrap(text, room, break_on_hyphens=False) or [""]
    if lines and len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], cut(" ".join(wrapped[lines - 1 :]), room)]
    for number, line in enumerate(wrapped):
        yield f"{'' if number else label:<{LABEL_WIDTH}}{line}".rstrip()


def _escaped(sign: str) -> str:
    return " " if sign == "\n" else sign.encode("unicode_escape").decode("ascii")


def added_lines(added: object, source: str) -> Iterator[str]:
    """Yield the lines that a hook added: an error would lose those below it."""
    if isinstance(added, str):
        yield from added.splitlines()
    elif isinstance(added, Iterable):
        yield from map(str, cast("Iterable[object]", added))
    elif added is not None:
        yield f"{source}: a list of lines expected, got {type(added).__name__}"
