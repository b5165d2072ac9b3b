"""Text that only shows: it gives no command to a terminal, nor to a CI server that reads a log.

GitHub takes a line that begins with `::`, after any blanks, for a command; Azure, TeamCity and
the older form of GitHub's take `##` before a word in brackets, wherever it stands.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Colours: TypeAlias = Literal["escaped", "kept"]
"""What becomes of the sequences that colour a terminal."""

_LINE_COMMAND: Final = re.compile(r"(?:\A|(?<=[\r\n]))([^\S\r\n]*):(?=:\S)")
_COMMAND: Final = re.compile(r"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)
_SIGNS: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_CONTROL: Final = re.compile(f"\r(?=\n)|({_SIGNS})")
_BUT_COLOURS: Final = re.compile(f"\x1b\\[[0-9;:]*m|\r(?=\n)|({_SIGNS})")


def without_commands(text: str) -> str:
    """Return the text with a blank inside of what a CI server would take for a command."""
    if "::" in text:
        text = _LINE_COMMAND.sub(r"\1: ", text)
    return _COMMAND.sub("# ", text) if "##" in text else text


def as_xml_without_commands(document: str) -> str:
    """Return an XML document in which a reference stands for a sign of each command.

    What a parser reads stays as it is, so that the name of a task is still its name.
    """
    return _COMMAND.sub("&#35;", document) if "##" in document else document


def without_controls(text: str, *, colours: Colours = "escaped") -> str:
    """Return the text with escapes for what moves a cursor, or turns the order of letters.

    What only colours may be kept: pytest itself colours what a failed assertion shows.
    """
    if text.isprintable():
        return text
    return (_CONTROL if colours == "escaped" else _BUT_COLOURS).sub(_escaped, text)


def harmless(text: str, *, colours: Colours = "escaped") -> str:
    """Return lines that may be printed, whoever wrote them."""
    if text.isprintable() and "::" not in text and "##" not in text:
        # As nearly every text is.
        return text
    return without_commands(without_controls(text, colours=colours))


class LineStart:
    """Follows what is written to a stream, where a line may come in parts."""

    def __init__(self) -> None:
        self._is_blank = True

    def without_commands(self, text: str) -> str:
        """Return the next part without commands."""
        # What is behind other words on its line begins no command.
        safe = without_commands(text) if self._is_blank else without_commands(f".{text}")[1:]
        last = max(text.rfind("\n"), text.rfind("\r")) + 1
        self._is_blank = (last > 0 or self._is_blank) and not text[last:].strip()
        return safe


def _escaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign is None:
        return "" if found[0] == "\r" else found[0]
    return sign.encode("unicode_escape").decode("ascii")
