"""Values that are short enough for a page; what was cut says so, and how much is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

VALUE_LIMIT: Final = 4_000
"""Characters of one value that a page shows."""

TALK_LIMIT: Final = 24_000
"""Characters of all messages of a run that a page shows."""

# Taken at import: an agent may put another into its place.
_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def shortened(value: JsonValue, limit: int = VALUE_LIMIT) -> JsonValue:
    """Return a value as it is, or the start of its text where it is long."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else _encode(value)
    if len(text) <= limit:
        return value
    return f"{text[:limit]} [... {len(text) - limit} more characters]"


def shortened_mapping(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: shortened(one) for name, one in values.items()}


def shortened_talk(messages: Sequence[JsonValue]) -> list[JsonValue]:
    """Return messages, first ones first, as far as there is room for them."""
    kept: list[JsonValue] = []
    room = TALK_LIMIT
    for at, one in enumerate(messages):
        short = _message(one)
        room -= len(short if isinstance(short, str) else _encode(short))
        if room < 0:
            kept.append(f"[... {len(messages) - at} more messages]")
            break
        kept.append(short)
    return kept


def _message(value: JsonValue) -> JsonValue:
    if not isinstance(value, Mapping):
        return shortened(value)
    # Its role is what tells a message from the next one, so that each part is cut by itself.
    return shortened_mapping(value)
