"""One HTTP request to an agent, bounded in size and time, and cancelled with its run.

It does not go through a client library: those are watched for the traffic of models, and what we
ask of an agent is none. Only `h11` reads and writes the protocol.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from pytest_sopbench.errors import AgentSpecError

from .request import AgentAwayError

LARGEST_ANSWER: Final = 16 * 1024 * 1024
"""Bytes of an answer: four times the characters that are read of one."""

_CHUNK: Final = 64 * 1024
_CONNECTS_WITHIN: Final = 30.0
_KEEPS_METHOD: Final = frozenset({307, 308})
_REDIRECTS: Final = frozenset({301, 302, 303, *_KEEPS_METHOD})


class TooLargeError(Exception):
    """An answer of more bytes than are read."""


class RedirectError(Exception):
    """An answer that leads elsewhere, and is not followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: a status, headers in lower case, and a whole body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        # Some write a byte order mark before their JSON.
        return self.body.decode("utf-8-sig", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A request. `redirects` may be followed, on the same host and with the method kept."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes = b""
    redirects: int = 0
    tls: ssl.SSLContext | None = None


async def send(request: Outgoing) -> Reply:
    """Send a request, and return the whole reply.

    Raises:
        AgentAwayError: nobody answers, or the connection breaks.
        TooLargeError: the body has more than `LARGEST_ANSWER` bytes.
        RedirectError: it leads elsewhere.
    """
    url, left = request.url, request.redirects
    while True:
        reply = await _sent(request, url)
        if reply.status not in _REDIRECTS:
            return reply
        target = urljoin(url, reply.headers.get("location", ""))
        is_near = urlsplit(target)[:2] == urlsplit(url)[:2]
        if not left or not is_near or reply.status not in _KEEPS_METHOD:
            msg = f"{request.method} {url} was answered with {reply.status} to {target}"
            raise RedirectError(msg)
        url, left = target, left - 1


async def _sent(request: Outgoing, url: str) -> Reply:
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    context = (request.tls or ssl.create_default_context()) if is_tls else None
    try:
        async with asyncio.timeout(_CONNECTS_WITHIN):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
    except (OSError, TimeoutError) as fault:
        why = f"{fault or type(fault).__name__}"
        if isinstance(fault, ConnectionRefusedError):
            why = "nobody listens there: start the service first"
        elif isinstance(fault, TimeoutError) and is_tls:
            why = f"no TLS within {_CONNECTS_WITHIN:g} s; is it http://?"
        elif isinstance(fault, TimeoutError):
            why = f"no connection within {_CONNECTS_WITHIN:g} s"
        msg = f"the agent at {parts.netloc} cannot be reached: {why}"
        raise AgentAwayError(msg) from None
    try:
        return await _exchanged(request, url, reader, writer)
    except (OSError, EOFError) as fault:
        msg = f"the agent at {parts.netloc} broke off: {fault or type(fault).__name__}"
        raise AgentAwayError(msg) from None
    finally:
        # Not waited for: the other side may never close.
        with suppress(OSError, RuntimeError):
            writer.transport.abort()


async def _exchanged(
    request: Outgoing, url: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Reply:
    import h11  # noqa: PLC0415 - optional

    connection = h11.Connection(our_role=h11.CLIENT)
    writer.write(_head(connection, request, url))
    writer.write(connection.send(h11.Data(data=request.body)) or b"")
    writer.write(connection.send(h11.EndOfMessage()) or b"")
    # A service may answer before it has read everything; then it is the answer that counts.
    draining = asyncio.ensure_future(writer.drain())
    try:
        return await _received(connection, reader)
    except h11.RemoteProtocolError as fault:
        msg = f"the agent at {urlsplit(url).netloc} answered with no HTTP: {fault}"
        raise AgentAwayError(msg) from None
    finally:
        draining.cancel()
        with suppress(asyncio.CancelledError, OSError):
            await draining


def _head(connection: Any, request: Outgoing, url: str) -> bytes:
    import h11  # noqa: PLC0415 - optional

    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = [
        ("Host", parts.netloc.rpartition("@")[2]),
        *request.headers,
        ("Content-Length", str(len(request.body))),
        ("Connection", "close"),
    ]
    try:
        head = h11.Request(method=request.method, target=target, headers=headers)
        return connection.send(head) or b""
    except (h11.LocalProtocolError, UnicodeEncodeError, ValueError):
        # The fault shows the value of a header, which may be a secret.
        what = "its URL or a header is not ASCII, or has a line end"
        msg = f"the request to {parts.netloc} cannot be written: {what}"
        hint = f"headers: {', '.join(name for name, _ in request.headers)}"
        raise AgentSpecError(msg, hint=hint) from None


async def _received(connection: Any, reader: asyncio.StreamReader) -> Reply:
    import h11  # noqa: PLC0415 - optional

    status, headers = 0, dict[str, str]()
    chunks: list[bytes] = []
    size = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(_CHUNK)
            if not data and not status:
                msg = "it closed the connection without an answer"
                raise EOFError(msg)
            connection.receive_data(data)
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode("latin-1"): value.decode("latin-1")
                       for name, value in event.headers}  # fmt: skip
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > LARGEST_ANSWER:
                msg = f"the answer has more than {LARGEST_ANSWER:,} bytes"
                raise TooLargeError(msg)
            chunks.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            return Reply(status=status, headers=headers, body=b"".join(chunks))
        elif not isinstance(event, h11.InformationalResponse):
            msg = "the connection ended before the answer did"
            raise EOFError(msg)
