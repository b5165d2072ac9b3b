"""Find what a clause of an SOP says, by the number that a rule names."""

from __future__ import annotations

import re
from typing import Final

_START: Final = r"[\s#>*_-]*(?:(?:clause|section|step)\s+)?"
_NUMBER: Final = re.compile(rf"^{_START}[0-9]+(?:\.[0-9]+)*[.):]?(?=[\s*_]|$)", re.IGNORECASE)
_HEADING: Final = re.compile(r"^\s*#{1,6}\s")


def clause_text(sop: str, clause: str) -> str:
    """Return a clause on one line, up to the next number, heading or empty line; else nothing.

    The clause begins with its number, with whatever Markdown puts before it. A number that
    begins several lines names none of them, so that no other clause is shown in its place.
    """
    if not clause.strip():
        return ""
    number = re.escape(clause.strip())
    begins = re.compile(rf"^{_START}{number}[.):]?(?=[\s*_]|$)", re.IGNORECASE)
    lines = sop.splitlines()
    found = [at for at, line in enumerate(lines) if begins.match(line)]
    if len(found) != 1:
        return ""
    first = found[0]
    text = [lines[first].strip()]
    for line in lines[first + 1 :]:
        if not line.strip() or _NUMBER.match(line) or _HEADING.match(line):
            break
        text.append(line.strip())
    return " ".join(text)
