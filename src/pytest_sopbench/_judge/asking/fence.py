"""A fence around texts that are data, out of which nothing that they say can come.

Two things keep a text in. Inside the fence no `<` or `>` stands, however it was written, so no
text can close the fence or open another one. And the name of the fence is a hash of what it
encloses, so a text that knew it would have to hold its own hash.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Final

from .question import digest

_QUOTED: Final = json.JSONEncoder(ensure_ascii=False).encode
_BRACKETS: Final = frozenset("<>")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that nobody sees: a text could say in them what people cannot read."""


def fence_name(texts: Mapping[str, str]) -> str:
    """Return a name that none of the texts holds, the same for the same texts."""
    for attempt in range(len(texts) + 1):
        name = f"data-{digest([attempt, dict(texts)])[:32]}"
        if not any(name in text for text in texts.values()):
            return name
    # To get here each text would have to hold a hash of itself.
    msg = "no name for the fence"
    raise ValueError(msg)


def fenced(name: str, label: str, text: str) -> str:
    """Return a text between the tags of a fence, as one JSON string on one line."""
    return f'<{name} text="{label}">\n{quoted(text)}\n</{name}>'


def quoted(text: str) -> str:
    """Return a text as a JSON string without angle brackets and characters that nobody sees."""
    return "".join(_escaped(sign) if _is_escaped(sign) else sign for sign in _QUOTED(text))


def _is_escaped(sign: str) -> bool:
    if sign < "\x7f":
        return sign in _BRACKETS
    # A model may read full-width brackets as the plain ones, which they are once normalised.
    is_bracket = not _BRACKETS.isdisjoint(unicodedata.normalize("NFKC", sign))
    return is_bracket or unicodedata.category(sign) in _UNSEEN


def _escaped(sign: str) -> str:
    return json.dumps(sign)[1:-1] if sign > "\x7f" else f"\\u{ord(sign):04x}"
