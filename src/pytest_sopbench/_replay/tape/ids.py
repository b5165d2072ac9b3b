"""Generated ids in requests: each becomes a number, in the order in which they first appear.

An agent's library may make up the id of a tool call, and a provider makes up many. They name one
another, so equal ids stay equal and different ones stay different; what they are called does not
count. Content is left alone: arguments and results of tools, and schemas, hold ids that mean
something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

_IDS: Final = frozenset(
    (
        "tool_call_id",
        "tool_use_id",
        "toolUseId",
        "call_id",
        "item_id",
        "previous_response_id",
        "response_id",
        "request_id",
        "requestId",
        "idempotency_key",
        "client_request_id",
        "clientRequestToken",
        "progressToken",
    )
)
_TELLING: Final = frozenset(("type", "function", "role", "jsonrpc", "args"))
"""Beside one of these, `id` names the object itself: a message, a tool call, a request."""

_CONTENT: Final = frozenset(
    (
        "arguments",
        "args",
        "parameters",
        "json",
        "response",
        "schema",
        "inputSchema",
        "input_schema",
        "tools",
        "toolConfig",
        "functions",
        "response_format",
        "metadata",
    )
)


def numbered_ids(value: JsonValue) -> JsonValue:
    """Return a body whose generated ids are numbered from 1."""
    return _numbered(value, {})


def _numbered(value: JsonValue, names: dict[object, str]) -> JsonValue:
    if isinstance(value, Mapping):
        return _numbered_object(value, names)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_numbered(one, names) if type(one) in _NESTED else one for one in value]
    return value


_NESTED: Final = (dict, list)


def _numbered_object(value: Mapping[str, JsonValue], names: dict[object, str]) -> JsonValue:
    found: dict[str, JsonValue] = {}
    # Sorted: the order of keys does not count, and so cannot give the numbers.
    for key in sorted(value):
        one = value[key]
        if _is_id(key, one, value):
            found[key] = names.setdefault((type(one), one), f"<id {len(names) + 1}>")
        elif type(one) in _NESTED and not _is_content(key, one):
            found[key] = _numbered(one, names)
        else:
            found[key] = one
    return found


def _is_id(key: str, value: JsonValue, beside: Mapping[str, JsonValue]) -> bool:
    if not isinstance(value, str | int) or isinstance(value, bool) or not value:
        return False
    return key in _IDS or (key == "id" and not _TELLING.isdisjoint(beside))


def _is_content(key: str, value: JsonValue) -> bool:
    # The arguments of a tool are an object; the conversation of a response is a list.
    return key in _CONTENT or (key == "input" and isinstance(value, Mapping))
