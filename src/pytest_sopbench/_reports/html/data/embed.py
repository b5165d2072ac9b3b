"""Data inside of a page: JSON that no parser of HTML can take for anything else."""

from __future__ import annotations

import json
import re
from typing import Final

# Taken at import: an agent may put another into its place.
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_SIGNS: Final = re.compile(
    "[<>&\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""What ends a script, what turns the order of letters, and what UTF-8 cannot write."""


def json_text(value: object) -> str:
    """Return JSON for a `script` of another type than a script; it is read back unchanged.

    Such signs stand inside of strings alone, so each may be written as an escape.
    """
    return _SIGNS.sub(_escaped, _encode(value))


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
