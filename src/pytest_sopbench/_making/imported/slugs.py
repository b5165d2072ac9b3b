"""Names for fields and parameters, which models and frameworks take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_NEITHER: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 48


def slug(text: str) -> str:
    """Return a text as small letters, digits and `_`; empty where none is in it."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return _NEITHER.sub("_", plain).strip("_")[:_LONGEST].rstrip("_")


def field_names(names: Sequence[str]) -> dict[str, str]:
    """Return a name for each, unlike all others: a slug, else one that counts."""
    found: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        plain = slug(name) or f"column_{place}"
        plain = f"n_{plain}" if plain[0].isdigit() else plain
        unique, number = plain, 2
        while unique in found.values():
            unique, number = f"{plain}_{number}", number + 1
        found[name] = unique
    return found
