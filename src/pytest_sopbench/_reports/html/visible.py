"""Text that a browser shows as it is: signs that cannot be seen are written as escapes."""

from __future__ import annotations

import re
from typing import Final

_SIGNS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Controls, what turns the order of letters or has no width, and halves of characters."""


def visible(text: str) -> str:
    """Return a text that neither hides anything nor turns what stands behind it."""
    return text if text.isprintable() else _SIGNS.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    # As the script of the page writes it.
    return f"\\u{ord(found[0]):04x}"
