"""The spellings of one word: what is equal after normalisation.

Unicode NFKC, case folded, white space collapsed, `_` and `-` as space, and characters that
nobody can see left out.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

from .models import JsonValue

EMPTY_WORDS: Final = frozenset({"", "null", "none", "n/a"})
"""What says, after folding, that there is explicitly no value."""

INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Zero-width characters, soft hyphens and marks of direction."""

_DASHES: Final = dict.fromkeys(map(ord, "_-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), " ")
_SHORT: Final = 200


def fold(text: str) -> str:
    """Return the one spelling of all texts that are equal after normalisation."""
    return _fold_short(text) if len(text) <= _SHORT else _fold(text)


def is_empty(value: JsonValue) -> bool:
    """Whether a value says explicitly that there is none: `""`, null, none or n/a."""
    return value is None or (isinstance(value, str) and fold(value) in EMPTY_WORDS)


def _fold(text: str) -> str:
    if text.isascii():
        return " ".join(text.replace("_", " ").replace("-", " ").lower().split())
    folded = INVISIBLE.sub("", text)
    # Folding case can undo the normal form, and the normal form can bring back capitals.
    for _ in range(2):
        folded = unicodedata.normalize("NFKC", folded).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).translate(_DASHES).split())


# The same few labels and field names come again in every run.
_fold_short = lru_cache(maxsize=4096)(_fold)
