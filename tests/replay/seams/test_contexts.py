"""A request is seen by the tape of its run, and by no other."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import aiohttp_json, converse, library, requests_json

from pytest_sopbench._replay.exchange import OutsideTape, Recording, Shaping
from pytest_sopbench._replay.run_tape import RunTape
from pytest_sopbench.errors import MissingRecordingError

IN_FLIGHT = 64


def echo(url: str, text: str) -> str:
    return str(library("httpx").post(timeout=60, url=f"{url}/echo", content=text).json()["heard"])


@cache
def shared(url: str) -> Any:
    """One client for all runs, as agents have it; else each would make its own context of TLS."""
    return library("openai").OpenAI(base_url=f"{url}/v1", api_key="sk-x", max_retries=0)


def by_shared_client(url: str, text: str) -> Any:
    said = [{"role": "user", "content": text}]
    return shared(url).chat.completions.create(model="m", messages=said).model_dump()


@pytest.mark.parametrize(
    "ask", [by_shared_client, converse, requests_json, aiohttp_json], ids=lambda ask: ask.__name__
)
def test_runs_in_flight_never_mix(
    ask: Callable[[str, str], Any], provider: Provider, taped: Any
) -> None:
    tapes = [MemoryTape() for _ in range(IN_FLIGHT)]
    together = threading.Barrier(IN_FLIGHT)
    ask(provider.url, "warm")

    def run(number: int, tape: MemoryTape) -> Any:
        with taped(tape):
            together.wait(60)
            return ask(provider.url, f"of run {number}"), ask(provider.url, f"again {number}")

    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        recorded = list(pool.map(run, range(IN_FLIGHT), tapes))
        sent = len(provider.requests)
        replays = [tape.replaying() for tape in tapes]
        replayed = list(pool.map(run, range(IN_FLIGHT), replays))

    assert recorded == replayed
    assert (1 + 2 * IN_FLIGHT, sent) == (sent, len(provider.requests))
    for number, tape in enumerate(tapes):
        bodies = b"".join(request.body for request, _ in tape.kept)
        assert f"of run {number}".encode() in bodies
        assert f"again {number}".encode() in bodies
        assert 2 == len(tape.kept)


async def by_httpx(url: str, texts: Sequence[str]) -> list[str]:
    async with library("httpx").AsyncClient(timeout=60) as client:
        asked = (client.post(f"{url}/echo", content=text) for text in texts)
        return [reply.json()["heard"] for reply in await asyncio.gather(*asked)]


async def by_aiohttp(url: str, texts: Sequence[str]) -> list[str]:
    async def ask(session: Any, text: str) -> str:
        async with session.post(f"{url}/echo", data=text) as reply:
            return str((await reply.json())["heard"])

    async with library("aiohttp").ClientSession() as session:
        return await asyncio.gather(*(ask(session, text) for text in texts))


@pytest.mark.parametrize("ask", [by_httpx, by_aiohttp], ids=lambda ask: ask.__name__)
def test_requests_of_an_async_run_are_kept_in_the_order_in_which_they_were_made(
    ask: Callable[[str, Sequence[str]], Awaitable[list[str]]], provider: Provider, taped: Any
) -> None:
    """Whichever reply comes first; so a recording that is made again gives the same lines."""
    texts = [f"request {number}" for number in range(IN_FLIGHT)]
    live = RunTape("record", Recording(), Shaping())
    with taped(live):
        asyncio.run(_awaited(ask(provider.url, texts)))
    recording = Recording(exchanges=live.taken.exchanges)

    with taped(RunTape("only", recording, Shaping())):
        served = asyncio.run(_awaited(ask(provider.url, texts[::-1])))

    assert texts == [one.shape.body for one in recording.exchanges]
    assert texts[::-1] == served
    assert IN_FLIGHT == len(provider.requests)


async def _awaited(asked: Awaitable[list[str]]) -> list[str]:
    return await asked


def test_tasks_of_one_loop_never_mix(provider: Provider, taped: Any) -> None:
    tapes = [MemoryTape() for _ in range(IN_FLIGHT)]

    async def run(client: Any, number: int) -> str:
        with taped(tapes[number]):
            reply = await client.post(f"{provider.url}/echo", content=f"of {number}")
            return str(reply.json()["heard"])

    async def all_of_them() -> list[str]:
        async with library("httpx2").AsyncClient(timeout=60) as client:
            return await asyncio.gather(*(run(client, number) for number in range(IN_FLIGHT)))

    heard = asyncio.run(all_of_them())

    assert heard == [tape.kept[0][0].body.decode() for tape in tapes]


def _to_thread(url: str) -> str:
    return asyncio.run(asyncio.to_thread(echo, url, "words"))


def _copying_pool(url: str) -> str:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, echo, url, "words").result()


@pytest.mark.parametrize("hand_over", [_to_thread, _copying_pool], ids=lambda f: f.__name__)
def test_a_thread_with_the_context_of_a_run_is_of_the_run(
    hand_over: Callable[[str], str], provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        heard = hand_over(provider.url)

    assert ("words", 1) == (heard, len(tape.kept))


def test_a_bare_thread_is_refused_in_replay(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape), ThreadPoolExecutor(1) as pool:
        result = pool.submit(echo, provider.url, "words")

        with pytest.raises(MissingRecordingError, match=r"^POST /echo, sent in the thread"):
            result.result()

    assert ([], []) == (tape.asked, provider.requests)


def test_a_bare_thread_is_noted_in_a_recording(
    outside: OutsideTape, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    outside._unknown = "let through"

    with taped(tape), ThreadPoolExecutor(1) as pool:
        heard = pool.submit(echo, provider.url, "words").result()

    assert ("words", [], 1) == (heard, tape.asked, outside.seen)


def test_a_stream_belongs_to_the_run_that_asked_wherever_it_is_read(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    provider.go_on.set()
    with library("httpx").Client(timeout=60) as client:
        with taped(tape):
            reply = client.send(client.build_request("POST", f"{provider.url}/held"), stream=True)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(reply.read).result()

    assert reply.content == tape.response.body
