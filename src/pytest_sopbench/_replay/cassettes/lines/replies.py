"""Responses as they are written: JSON as JSON, streams by chunks, what is no text in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from pytest_sopbench._core.hiding.known_forms import masked_forms
from pytest_sopbench._core.model.keys import MASK
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._replay.tape.exchange import Headers, Response
from pytest_sopbench._replay.tape.sent import is_secret

KEPT_HEADERS: Final = frozenset(
    (
        "content-type",
        "location",
        "retry-after",
        "request-id",
        "x-request-id",
        "x-amzn-requestid",
        "x-amzn-errortype",
        "mcp-session-id",
    )
)
"""Headers that clients read; no other one is ever written."""

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def write_reply(response: Response) -> dict[str, Any]:
    """Return what is written of a response."""
    line: dict[str, Any] = {"status": response.status}
    if kept := dict(kept_headers(response.headers)):
        line["headers"] = kept
    if not response.complete:
        line["complete"] = False
    body = response.body
    if not body:
        return line
    value = _json(body) if len(response.chunks) == 1 else None
    if value is not None:
        line["json"] = value
    else:
        line["chunks"] = [_chunk(one) for one in response.chunks if one]
    return line


def read_reply(line: Mapping[str, Any]) -> Response:
    """Return the response that a line stands for.

    Raises:
        ValueError: the line is not what `write_reply` writes.
    """
    headers: Mapping[str, str] = line.get("headers", {})
    if "json" in line:
        chunks: tuple[bytes, ...] = (_compact(line["json"]).encode(),)
    else:
        chunks = tuple(_bytes(one) for one in line.get("chunks", ()))
    return Response(
        status=int(line["status"]),
        headers=tuple(headers.items()),
        chunks=chunks,
        complete=line.get("complete", True),
    )


def kept_headers(headers: Headers) -> Headers:
    """Return the headers that are written, sorted, with names in lower case."""
    found = ((name.lower(), value) for name, value in headers)
    return tuple(
        sorted(
            (name, _place(value) if name == "location" else value)
            for name, value in found
            if name in KEPT_HEADERS
        )
    )


def _place(location: str) -> str:
    """Return where a redirect leads, without what does not count of a request: host and keys."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    query = (one for one in parts.query.split("&") if not is_secret(unquote(one.partition("=")[0])))
    path = masked_forms(parts.path or ("/" if parts.netloc else ""), MASK)
    return urlunsplit(("", "", path, "&".join(query), ""))


def _json(body: bytes) -> JsonValue:
    """Return the object that a body is; `None` where it would not be written back as the same."""
    try:
        value: JsonValue = json.loads(body)
        written = _compact(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and json.loads(written) == value else None


def _chunk(chunk: bytes) -> str | dict[str, str]:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


def _bytes(chunk: str | Mapping[str, str]) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"])
