"""httpx and httpx2, below openai, anthropic, google-genai, mistral and mcp.

The door is `Client._transport_for_url`, and that of `AsyncClient`: whatever transport a client has
for an address, its own, one of the user's or that of an HTTP proxy, the requests go by way of ours.
It is private, and the same from httpx 0.24 to 0.28 and in httpx2 2.x. Transports that call a
function or an application of this process send nothing, and are left alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any

from pytest_sopbench._replay.exchange import Request, Response, Tape
from pytest_sopbench._replay.run_tape import active
from pytest_sopbench._replay.seams.take import Door, Seam, Take, sent_live, tape_for

LEFT_EARLY = (
    "the recording ends here: the agent stopped reading this stream early when it was recorded"
)


def _doors(module: Any) -> tuple[Door, ...]:
    library = _Library(module)
    return (
        Door(
            owner=module.Client,
            name="_transport_for_url",
            through=partial(_wrapped, library, _SeenTransport),
        ),
        Door(
            owner=module.AsyncClient,
            name="_transport_for_url",
            through=partial(_wrapped, library, _SeenAsyncTransport),
        ),
    )


def _wrapped(library: _Library, seen: type[_Seen], original: Callable[..., Any]) -> Any:
    @wraps(original)
    def transport_for_url(self: Any, url: Any) -> Any:
        transport = original(self, url)
        if not active() or isinstance(transport, library.in_process):
            return transport
        return seen(transport, library)

    return transport_for_url


class _Library:
    """The types of httpx or of httpx2."""

    def __init__(self, module: Any) -> None:
        self._module = module
        names = ("MockTransport", "ASGITransport", "WSGITransport")
        self.in_process = tuple(getattr(module, name) for name in names if hasattr(module, name))
        sync, asynchronous = module.SyncByteStream, module.AsyncByteStream
        self.passing = type("Passing", (_Passing, sync), {})
        self.passing_async = type("PassingAsync", (_PassingAsync, asynchronous), {})
        self._served = type("Served", (_Served, sync, asynchronous), {})

    def serve(self, answer: Response) -> Any:
        left_early = partial(self._module.RemoteProtocolError, LEFT_EARLY)
        stream = self._served(answer, left_early)
        return self._module.Response(answer.status, headers=list(answer.headers), stream=stream)


class _Seen:
    """Stands for a transport, for one request."""

    def __init__(self, transport: Any, library: _Library) -> None:
        self._transport = transport
        self._library = library

    def _asked(self, request: Any, body: bytes) -> Request:
        return Request(
            method=request.method,
            url=str(request.url),
            headers=tuple(request.headers.multi_items()),
            body=body,
        )

    def _recorded(self, tape: Tape, asked: Request, response: Any, passing: Any) -> Any:
        headers = response.headers.multi_items()
        # A transport of the user's may have read the reply, and then it is decoded.
        read = response.is_stream_consumed
        take = Take(tape, asked, status=response.status_code, headers=headers, decoded=read)
        if read:
            take.add(response.content)
            take.end()
        else:
            response.stream = passing(response.stream, take)
        return response


class _SeenTransport(_Seen):
    def handle_request(self, request: Any) -> Any:
        tape = tape_for(str(request.url))
        if tape is None:
            return self._transport.handle_request(request)
        asked = self._asked(request, request.read())
        answer = tape.answer(asked)
        if answer is not None:
            return self._library.serve(answer)
        with sent_live(tape, asked):
            response = self._transport.handle_request(request)
        return self._recorded(tape, asked, response, self._library.passing)


class _SeenAsyncTransport(_Seen):
    async def handle_async_request(self, request: Any) -> Any:
        tape = tape_for(str(request.url))
        if tape is None:
            return await self._transport.handle_async_request(request)
        asked = self._asked(request, await request.aread())
        answer = tape.answer(asked)
        if answer is not None:
            return self._library.serve(answer)
        with sent_live(tape, asked):
            response = await self._transport.handle_async_request(request)
        return self._recorded(tape, asked, response, self._library.passing_async)


@contextmanager
def _ended(take: Take) -> Generator[None]:
    """Tell a take how its stream has ended."""
    try:
        yield
    except GeneratorExit:
        take.leave()
        raise
    except BaseException as error:
        take.fail(error)
        raise
    take.end()


class _Passing:
    """The stream of a live reply; the take hears of each chunk before the agent does."""

    def __init__(self, stream: Any, take: Take) -> None:
        self._stream = stream
        self._take = take

    def __iter__(self) -> Iterator[bytes]:
        with _ended(self._take):
            for chunk in self._stream:
                self._take.add(chunk)
                yield chunk

    def close(self) -> None:
        self._take.leave()
        self._stream.close()


class _PassingAsync:
    """The same on an event loop."""

    def __init__(self, stream: Any, take: Take) -> None:
        self._stream = stream
        self._take = take

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _ended(self._take):
            async for chunk in self._stream:
                self._take.add(chunk)
                yield chunk

    async def aclose(self) -> None:
        self._take.leave()
        await self._stream.aclose()


class _Served:
    """The stream of a recorded reply."""

    def __init__(self, answer: Response, left_early: Callable[[], Exception]) -> None:
        self._answer = answer
        self._left_early = left_early

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.chunks
        if not self._answer.complete:
            raise self._left_early()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self) -> None:
        """Nothing is open."""

    async def aclose(self) -> None:
        """Nothing is open."""


HTTPX = Seam(module="httpx", library="httpx", doors=_doors)
HTTPX2 = Seam(module="httpx2", library="httpx2", doors=_doors)
