"""Blocks of text: a label with all of a value beside it, wrapped, and folded where it is long."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.text.layout import LABEL_WIDTH, columns, one_line, shown

FOLD: Final = 40
"""Lines of one block from which on the rest is folded away."""

NARROWEST: Final = 60
"""Columns that a page has at least, however narrow the terminal is."""

_CUT: Final = {"sha256", "characters"}
"""The keys of what a record keeps of a value that was too long for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Where blocks are written: columns, and whether long ones are folded."""

    width: int
    is_folded: bool = True

    @property
    def room(self) -> int:
        """The columns beside a label."""
        return max(self.width, NARROWEST) - LABEL_WIDTH

    def block(self, label: str, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines with a label before the first; nothing without a line."""
        every = list(lines)
        left = len(every) - FOLD
        if self.is_folded and left > 0:
            # The line that says so is one of those that are shown.
            every = [*every[: FOLD - 1], f"... {left + 1} more lines; --full shows them"]
        for number, line in enumerate(every):
            yield f"{'' if number else label:<{LABEL_WIDTH}}{line}".rstrip()

    def text(self, label: str, text: str) -> Iterator[str]:
        """Yield a text as it was written, line by line."""
        return self.block(label, text_lines(text, self.room))

    def values(self, label: str, values: JsonValue) -> Iterator[str]:
        """Yield named values below one another, each in full; anything else as it is."""
        if not isinstance(values, Mapping) or cut_value(values) or not values:
            return self.value(label, values)
        return self.block(label, _named_lines(values, self.room))

    def value(self, label: str, value: JsonValue) -> Iterator[str]:
        """Yield one value in full."""
        return self.block(label, value_lines(value, self.room))


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield parts of a line that fit, broken at blanks where there are any."""
    begin = 0
    # Of each part only so much is looked at as may fit: a line may have millions of signs.
    while columns(part := line[begin : begin + width + 1]) > width:
        ends = list(accumulate(map(columns, part)))
        end = max(bisect_right(ends, width), 1)
        blank = part.rfind(" ", 0, end + 1)
        # A blank before any word is an indent, and no place to break at.
        end = blank if blank > 0 and part[:blank].strip() else end
        yield part[:end].rstrip(" ")
        begin += end
        while line.startswith(" ", begin):
            begin += 1
    yield part


def text_lines(text: str, width: int) -> Iterator[str]:
    """Yield a text of any lines, without what could move a cursor."""
    for line in text.splitlines() or [""]:
        yield from wrapped(one_line(line.expandtabs(4)), width)


def value_lines(value: JsonValue, width: int) -> Iterator[str]:
    """Yield a value on one line where it fits, else as text or as indented JSON."""
    said = cut_value(value)
    line = said or shown(value)
    if said or columns(line) <= width:
        yield from wrapped(line, width)
    elif isinstance(value, str):
        yield from text_lines(value, width)
    else:
        yield from text_lines(json.dumps(value, indent=2, ensure_ascii=False), width)


def cut_value(value: JsonValue) -> str:
    """Say what a record holds in place of a value that was too long; nothing where it has it."""
    if not isinstance(value, Mapping) or set(value) != _CUT:
        return ""
    return f"too long for the session: {value['characters']} characters, sha256 {value['sha256']}"


def _named_lines(values: Mapping[str, JsonValue], width: int) -> Iterator[str]:
    for name, value in values.items():
        start = f"{one_line(name)}: "
        lines: Sequence[str] = list(value_lines(value, max(width - columns(start), 1)))
        if len(lines) == 1:
            yield from wrapped(f"{start}{lines[0]}", width)
            continue
        yield start.rstrip()
        yield from (f"  {line}" for line in value_lines(value, width - 2))
