"""aiohttp, on its own and below some transports of httpx.

The door is `ClientSession._request`, to which every method of a session comes. There we add a
client middleware, public from aiohttp 3.12 on, behind those of the user: it sees each request with
its final address, headers and body. Chunks of live replies are seen in `StreamReader.feed_data`. A
recorded reply is fed to aiohttp's own parser, by a connection that has no socket.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from importlib import import_module
from typing import Any

from pytest_sopbench._replay.exchange import Request, Response, Tape
from pytest_sopbench._replay.seams import wire
from pytest_sopbench._replay.seams.take import Door, Seam, Take, sent_live, tape_for
from pytest_sopbench._replay.seams.urllib3_pools import plain_headers

Handler = Callable[[Any], Awaitable[Any]]

_TAKES: dict[int, tuple[Any, Take]] = {}
"""The readers of replies that are being recorded; a reader has no room for one more attribute."""


def _doors(module: Any) -> tuple[Door, ...]:
    session, reader = module.ClientSession, import_module("aiohttp.streams").StreamReader
    if "middlewares" not in inspect.signature(session._request).parameters:  # noqa: SLF001
        msg = "it has no client middlewares, which came with 3.12"
        raise ValueError(msg)
    return (
        Door(owner=session, name="_request", through=_seen),
        Door(
            owner=reader,
            name="feed_data",
            through=partial(_heard, lambda take, args: take.add(args[0])),
        ),
        Door(
            owner=reader, name="feed_eof", through=partial(_heard, lambda take, _args: take.end())
        ),
        Door(owner=reader, name="set_exception", through=partial(_heard, _set_exception)),
    )


def _seen(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def _request(self: Any, method: str, url: Any, **options: Any) -> Any:
        if tape_for(str(url)) is None:
            return await original(self, method, url, **options)
        chosen = options.pop("middlewares", None)
        decoded = options.get("auto_decompress")
        ours = _Middleware(self.auto_decompress if decoded is None else decoded)
        theirs = self._middlewares if chosen is None else chosen
        return await original(self, method, url, middlewares=(*theirs, ours), **options)

    return _request


class _Middleware:
    """Asks the tape before a request is sent."""

    def __init__(self, decoded: bool) -> None:
        self._decoded = decoded

    async def __call__(self, request: Any, handler: Handler) -> Any:
        tape = tape_for(str(request.url))
        if tape is None:
            return await handler(request)
        body = request.body
        asked = Request(
            method=request.method,
            url=str(request.url),
            headers=plain_headers(request.headers),
            body=await body.as_bytes() if hasattr(body, "as_bytes") else bytes(body),
        )
        answer = tape.answer(asked)
        if answer is not None:
            return await _serve(answer, request)
        return await self._record(tape, asked, request, handler)

    async def _record(self, tape: Tape, asked: Request, request: Any, handler: Handler) -> Any:
        with sent_live(tape, asked):
            live = await handler(request)
        headers = live.headers.items()
        take = Take(tape, asked, status=live.status, headers=headers, decoded=self._decoded)
        reader = live.content
        # What came together with the head of the reply; nobody has read of it.
        for chunk in tuple(getattr(reader, "_buffer", ())):
            take.add(chunk)
        if reader.exception() is not None:
            take.fail(reader.exception())
        elif reader.is_eof():
            take.end()
        else:
            _TAKES[id(reader)] = (reader, take)
            take.when_over(partial(_TAKES.pop, id(reader), None))
        return live


Listen = Callable[[Take, tuple[Any, ...]], None]


def _heard(listen: Listen, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def method(self: Any, *args: Any, **named: Any) -> Any:
        found = _TAKES.get(id(self))
        if found is not None:
            listen(found[1], (*args, *named.values()))
        return original(self, *args, **named)

    return method


def _set_exception(take: Take, args: tuple[Any, ...]) -> None:
    """Closing a response that is not read to its end sets this exception, of no error."""
    error = args[0]
    closed = import_module("aiohttp.client_exceptions").ClientConnectionError
    if type(error) is closed and str(error) == "Connection closed":
        take.leave()
    else:
        take.fail(error)


async def _serve(answer: Response, request: Any) -> Any:
    """Have aiohttp read a recorded reply from memory."""
    loop = asyncio.get_running_loop()
    protocol = import_module("aiohttp.client_proto").ResponseHandler(loop)
    protocol.connection_made(_Nowhere())
    protocol.set_response_params(
        skip_payload=request.method.upper() == "HEAD", read_until_eof=True, auto_decompress=False
    )
    connection = _Connection(protocol)
    response = await request.send(connection)
    protocol.data_received(wire.head(answer))
    _feed(loop, protocol, answer, wire.body(answer))
    await response.start(connection)
    return response


def _feed(loop: Any, protocol: Any, answer: Response, pieces: Iterator[bytes]) -> None:
    """Feed the next piece, and those behind it one by one, as they came from the network."""
    piece = next(pieces, None)
    if piece is not None:
        protocol.data_received(piece)
        loop.call_soon(_feed, loop, protocol, answer, pieces)
    elif not answer.complete:
        protocol.connection_lost(None)


class _Nowhere(asyncio.Transport):
    """A transport for what a client sends and nobody gets."""

    def write(self, data: Any) -> None:
        """Send nothing."""

    def writelines(self, list_of_data: Any) -> None:
        """Send nothing."""

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is open."""

    def abort(self) -> None:
        """Nothing is open."""

    def pause_reading(self) -> None:
        """Nothing is read."""

    def resume_reading(self) -> None:
        """Nothing is read."""


class _Connector:
    force_close = False


class _Connection:
    """What a response of aiohttp needs of its connection."""

    _connector = _Connector()
    closed = False

    def __init__(self, protocol: Any) -> None:
        self.protocol = protocol
        self.transport = protocol.transport

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Nothing will be released."""

    def close(self) -> None:
        """Nothing is open."""

    def release(self) -> None:
        """Nothing is open."""


AIOHTTP = Seam(module="aiohttp.client", library="aiohttp", doors=_doors)
