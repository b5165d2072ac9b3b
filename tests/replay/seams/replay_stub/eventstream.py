"""Messages of AWS event streams, as `converse_stream` sends them."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any


def message(kind: str, payload: dict[str, Any]) -> bytes:
    headers = b"".join(
        _header(name, value)
        for name, value in (
            (":event-type", kind),
            (":content-type", "application/json"),
            (":message-type", "event"),
        )
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(body), len(headers))
    front = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + body
    return front + struct.pack("!I", zlib.crc32(front))


def _header(name: str, value: str) -> bytes:
    return (
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value))
        + value.encode()
    )  # fmt: skip
