"""Streams pass through chunk by chunk, and are recorded as far as they came."""

from __future__ import annotations

import asyncio
import contextvars
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import library

from pytest_sopbench._replay.exchange import Response
from pytest_sopbench._replay.seams.take import settle

FIRST, SECOND, THIRD = (b"data: %b\n\n" % word for word in (b"first", b"second", b"third"))

Reading = Callable[[str], Iterator[bytes]]
"""Reads a stream chunk by chunk; closed by whoever does not want the rest."""


def by_httpx(url: str) -> Iterator[bytes]:
    with library("httpx").stream("POST", url, timeout=60) as reply:
        yield from reply.iter_raw()


def by_httpx2(url: str) -> Iterator[bytes]:
    with library("httpx2").stream("POST", url, timeout=60) as reply:
        yield from reply.iter_raw()


def by_requests(url: str) -> Iterator[bytes]:
    with library("requests").post(url, stream=True, timeout=60) as reply:
        yield from reply.iter_content(None)


def by_urllib3(url: str) -> Iterator[bytes]:
    reply = library("urllib3").PoolManager().request("POST", url, preload_content=False)
    try:
        yield from reply.stream()
    finally:
        reply.close()


def by_aiohttp(url: str) -> Iterator[bytes]:
    async def chunks() -> Any:
        async with library("aiohttp").ClientSession() as session, session.post(url) as reply:
            async for chunk, _ in reply.content.iter_chunks():
                if chunk:
                    yield chunk

    return on_a_loop(chunks)


def by_async_httpx(url: str) -> Iterator[bytes]:
    async def chunks() -> Any:
        async with (
            library("httpx").AsyncClient(timeout=60) as client,
            client.stream("POST", url) as reply,
        ):
            async for chunk in reply.aiter_raw():
                yield chunk

    return on_a_loop(chunks)


def on_a_loop(chunks: Callable[[], Any]) -> Iterator[bytes]:
    with asyncio.Runner() as runner:
        stream = chunks()
        try:
            while True:
                try:
                    yield runner.run(anext(stream))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(stream.aclose())


READINGS = (by_httpx, by_httpx2, by_requests, by_urllib3, by_aiohttp, by_async_httpx)


@pytest.fixture(params=READINGS, ids=lambda reading: reading.__name__)
def reading(request: pytest.FixtureRequest) -> Reading:
    found: Reading = request.param
    return found


def test_a_chunk_reaches_the_agent_before_the_next_one_is_sent(
    reading: Reading, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        stream = reading(f"{provider.url}/held")
        first = next(stream)
        provider.go_on.set()
        rest = b"".join(stream)

    assert (FIRST, SECOND + THIRD) == (first, rest)
    # The network may join what is sent in one breath.
    assert tape.response.chunks[0] == FIRST
    assert tape.response.body == FIRST + SECOND + THIRD
    assert tape.response.complete


def test_chunks_are_served_as_they_were_recorded(reading: Reading, taped: Any) -> None:
    recorded = (b"da", b"ta: first\n", b"\n", b"data: second\n\n")

    with taped(Answering(*recorded)):
        served = list(reading("http://provider.invalid/events"))

    assert list(recorded) == served


def test_a_stream_left_early_is_marked(
    reading: Reading, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        stream = reading(f"{provider.url}/held")
        next(stream)
        stream.close()  # type: ignore[attr-defined]
    provider.go_on.set()

    assert (FIRST, False) == (tape.response.body, tape.response.complete)
    assert tape.failed == []


def test_a_stream_left_early_is_served_as_far_and_never_looks_whole(
    reading: Reading, taped: Any
) -> None:
    with taped(Answering(FIRST, complete=False)):
        stream = reading("http://provider.invalid/events")
        first = next(stream)
        with pytest.raises(
            Exception, match=r"recording ends|ended prematurely|broken|not completed"
        ):
            next(stream)

    assert first == FIRST


def test_an_agent_that_leaves_where_it_left_before_notices_nothing(
    reading: Reading, taped: Any
) -> None:
    with taped(Answering(FIRST, complete=False)):
        stream = reading("http://provider.invalid/events")
        first = next(stream)
        stream.close()  # type: ignore[attr-defined]

    assert first == FIRST


def test_a_stream_that_breaks_off_is_lost_and_the_agent_sees_why(
    reading: Reading, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    without = _error_of(reading, f"{provider.url}/cut")

    with taped(tape):
        with_tape = _error_of(reading, f"{provider.url}/cut")

    assert without == with_tape
    assert [] == tape.kept
    assert 1 == len(tape.failed)


def _error_of(reading: Reading, url: str) -> type[BaseException]:
    with pytest.raises(Exception, match=r".") as raised:
        list(reading(url))
    return raised.type


def test_a_stream_that_nobody_closes_is_kept_when_the_run_is_over(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        stream = by_httpx2(f"{provider.url}/held")
        next(stream)
        settle(tape)
    provider.go_on.set()

    assert (FIRST, False) == (tape.response.body, tape.response.complete)


def test_a_client_that_stops_at_the_last_event_has_read_all(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    """OpenAI's own client closes the connection there, before the end of the body."""
    with taped(tape):
        stream = by_httpx2(f"{provider.url}/done")
        while b"[DONE]" not in next(stream):
            pass
        stream.close()  # type: ignore[attr-defined]

    assert tape.response.complete


@pytest.mark.parametrize("reading", [by_requests, by_urllib3], ids=lambda reading: reading.__name__)
def test_events_of_a_body_without_chunks_are_cut_where_they_end(
    reading: Reading, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        whole = b"".join(reading(f"{provider.url}/close"))

    assert (FIRST + SECOND, (FIRST, SECOND)) == (whole, tape.response.chunks)
    assert tape.response.complete


def test_a_large_body_goes_through_and_back(
    reading: Reading, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        live = b"".join(reading(f"{provider.url}/large"))

    with taped(tape.replaying()):
        served = b"".join(reading(f"{provider.url}/large"))

    assert 20 * 70_000 == len(live)
    assert live == served == tape.response.body


class Answering:
    """A tape that gives one answer to all that is asked."""

    def __init__(self, *chunks: bytes, complete: bool = True) -> None:
        headers = (("Content-Type", "text/event-stream"),)
        self._answer = Response(status=200, headers=headers, chunks=chunks, complete=complete)

    def answer(self, _: Any) -> Response:
        return self._answer

    keep = lost = None


def test_nothing_is_sent_for_a_recorded_reply(
    reading: Reading, taped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    with taped(Answering(FIRST, SECOND)):
        served = b"".join(reading("https://provider.invalid/events"))

    assert FIRST + SECOND == served


def test_threads_read_streams_of_one_tape_side_by_side(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        threads = [
            threading.Thread(
                target=contextvars.copy_context().run,
                args=(list, by_httpx2(f"{provider.url}/done")),
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert 8 == len(tape.kept)
    assert 1 == len({response.body for _, response in tape.kept})
