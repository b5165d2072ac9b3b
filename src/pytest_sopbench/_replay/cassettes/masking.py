"""Replies without what must not be written."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._replay.tape.exchange import Response
from pytest_sopbench.errors import CassetteError

from .credentials import joined_pieces

Mask = Callable[[JsonValue], JsonValue]


def masked_reply(response: Response, mask: Mask) -> Response:
    """Return a response that is masked chunk by chunk.

    Raises:
        CassetteError: a secret stands where it cannot be masked: across chunks, or in bytes.
    """
    headers = tuple((name, str(mask(value))) for name, value in response.headers)
    if len(response.chunks) == 1 and (value := _json(response.body)) is not None:
        masked = mask(value)
        chunks: tuple[bytes, ...] = response.chunks
        if masked != value:
            chunks = (json.dumps(masked, ensure_ascii=False).encode(),)
    else:
        chunks = tuple(_masked(one, mask) for one in response.chunks)
    text = b"".join(chunks).decode("utf-8", "replace")
    # A stream has a text in pieces, and each of them in an event of its own.
    if any(mask(one) != one for one in (text, *joined_pieces(text).values())):
        msg = "not recorded: what is masked stands across the pieces of a stream"
        raise CassetteError(msg, hint="have the agent not stream, or mask it before it is sent")
    return replace(response, headers=headers, chunks=chunks)


def _masked(chunk: bytes, mask: Mask) -> bytes:
    try:
        return str(mask(chunk.decode())).encode()
    except UnicodeDecodeError:
        return chunk


def _json(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value
