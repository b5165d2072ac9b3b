"""What a record keeps of one value."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

RESULT_LIMIT = 2_000
"""Characters of one value that a record keeps; a longer one becomes its hash and size.

It bounds tool results, arguments and answers alike: an agent may return megabytes.
"""

# Twelve characters of JSON are the most that one of a text takes: two escapes of six.
_SURELY_SHORT: Final = RESULT_LIMIT // 12 - 2
# Its method is taken at import: an agent may put another into its place.
_sorted: Final = json.JSONEncoder(sort_keys=True).encode


def cut(value: JsonValue) -> JsonValue:
    """Return a value, or its hash and size where it is too long to be kept."""
    if type(value) is str and len(value) <= _SURELY_SHORT:
        return value
    text = _sorted(value)
    if len(text) <= RESULT_LIMIT:
        return value
    return {
        "sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "characters": len(text),
    }


def is_cut(value: JsonValue) -> bool:
    """Tell whether a hash and a length stand for a value that was too long to be kept."""
    if not isinstance(value, dict) or set(value) != {"sha256", "characters"}:
        return False
    size = value["characters"]
    return isinstance(size, int) and size > RESULT_LIMIT
