"""Which tools a reply asks for, whichever provider it is of.

All of them write a call as an object with a `name` and its arguments, in one JSON body or in the
events of a stream. Streams that tell of a call more than once give it one id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from pytest_sopbench._core.values.json import JsonValue

from .exchange import Response

_ARGUMENTS: Final = frozenset(("arguments", "args", "input"))
_CALLS: Final = frozenset(("functionCall", "toolUse", "function"))
"""Keys under which a call stands that may have no arguments, or have them later."""

_NO_CALLS: Final = frozenset(("parameters", "item_id"))
"""Keys of a tool that may be called, and of an event on the arguments of a call told before."""

_IDS: Final = ("call_id", "toolUseId", "id")
_PRELUDE, _CHECKSUM = 12, 4
"""Bytes around the headers and the payload of a message in the event stream of AWS."""


def asked_tools(response: Response) -> tuple[str, ...]:
    """Return the names of the tools that a reply asks for, in its order."""
    names: list[str] = []
    seen: set[str] = set()
    for value in _values(response.body):
        for known, name in _calls(value, "", ""):
            if not known or known not in seen:
                names.append(name)
            seen.add(known)
    return tuple(names)


def _calls(value: JsonValue, key: str, known: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the name of each call; `known` is the id of what it stands in."""
    if isinstance(value, list):
        for one in value:
            yield from _calls(one, key, "")
    elif isinstance(value, Mapping):
        found = (value[one] for one in _IDS if isinstance(value.get(one), str))
        known = str(next(found, known))
        name = value.get("name")
        is_call = key in _CALLS or not _ARGUMENTS.isdisjoint(value)
        if isinstance(name, str) and name and is_call and _NO_CALLS.isdisjoint(value):
            yield known, name
            return
        for inner, one in value.items():
            if isinstance(one, list | dict):
                yield from _calls(one, inner, known)


def _values(body: bytes) -> Iterator[JsonValue]:
    whole = _read(body)
    if whole is not None:
        yield whole
        return
    parts = [*_messages(body)] or [one.removeprefix(b"data:") for one in body.splitlines()]
    yield from (one for one in map(_read, parts) if one is not None)


def _messages(body: bytes) -> Iterator[bytes]:
    """Yield the payloads of the event stream of AWS."""
    at = 0
    while at + _PRELUDE <= len(body):
        length = int.from_bytes(body[at : at + 4])
        headers = int.from_bytes(body[at + 4 : at + 8])
        if not _PRELUDE + headers + _CHECKSUM <= length <= len(body) - at:
            return
        yield body[at + _PRELUDE + headers : at + length - _CHECKSUM]
        at += length


def _read(text: bytes) -> JsonValue:
    if text.strip()[:1] not in {b"{", b"["}:
        return None
    try:
        return cast("JsonValue", json.loads(text))
    except (ValueError, RecursionError):
        return None
