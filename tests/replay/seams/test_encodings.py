"""What is kept can be read, however it was packed for its way."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_stub import MemoryTape, Provider
from replay_stub.asking import library

from pytest_sopbench._replay.seams.decoding import decoder
from pytest_sopbench.errors import CassetteError


def by_httpx(url: str) -> bytes:
    return bytes(library("httpx").post(timeout=60, url=url, content=b"words").content)


def by_requests(url: str) -> bytes:
    return bytes(library("requests").post(url, data=b"words", timeout=60).content)


def by_urllib3(url: str) -> bytes:
    return bytes(library("urllib3").PoolManager().request("POST", url, body=b"words").data)


def by_aiohttp(url: str) -> bytes:
    async def ask() -> bytes:
        async with (
            library("aiohttp").ClientSession() as session,
            session.post(url, data=b"words") as reply,
        ):
            return bytes(await reply.read())

    return asyncio.run(ask())


Read = Callable[[str], bytes]


@pytest.fixture(params=[by_httpx, by_requests, by_urllib3, by_aiohttp], ids=lambda f: f.__name__)
def read(request: pytest.FixtureRequest) -> Read:
    found: Read = request.param
    return found


@pytest.mark.parametrize(
    ("path", "encoding"), [("echo", "gzip"), ("echo", "deflate"), ("echo", "br"), ("held", "gzip")]
)
def test_a_packed_reply_is_kept_as_text_and_served_unpacked(
    read: Read, encoding: str, path: str, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    if encoding == "br":
        pytest.importorskip("brotli", reason="brotli is not installed")
    provider.encoding = encoding
    provider.go_on.set()

    with taped(tape):
        live = read(f"{provider.url}/{path}")
    with taped(tape.replaying()):
        served = read(f"{provider.url}/{path}")

    assert live == served == tape.response.body
    assert live.startswith((b'{"path"', b"data: first"))
    names = {name.lower() for name, _ in tape.response.headers}
    assert {"content-encoding", "content-length", "transfer-encoding"}.isdisjoint(names)


def test_a_reply_that_nothing_can_unpack_is_lost_and_reaches_the_agent(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        reply = library("requests").get(f"{provider.url}/unknown", timeout=60)

    assert b"?" == reply.content
    [(_, error)] = tape.failed
    assert "the reply is encoded as 'zz', which cannot be recorded as text" == str(error)


def _raw_deflate(data: bytes) -> bytes:
    coder = zlib.compressobj(wbits=-15)
    return coder.compress(data) + coder.flush()


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "deflate": _raw_deflate,
    "gzip, deflate": lambda data: zlib.compress(gzip.compress(data)),
    "identity": bytes,
}


@pytest.mark.parametrize("encoding", PACKED)
@given(data=st.binary(min_size=10, max_size=300), size=st.integers(min_value=2, max_value=99))
def test_any_cut_of_the_bytes_unpacks_to_the_same(encoding: str, data: bytes, size: int) -> None:
    packed = PACKED[encoding](data)
    decode = decoder(encoding)

    unpacked = [decode(packed[at : at + size]) for at in range(0, len(packed), size)]

    assert data == b"".join(unpacked)


@pytest.mark.parametrize(("encoding", "module"), [("br", "brotli"), ("zstd", "zstandard")])
def test_encodings_of_other_libraries_unpack(encoding: str, module: str) -> None:
    packing = pytest.importorskip(module, reason=f"{module} is not installed")
    packed = (
        packing.compress(b"words" * 99)
        if encoding == "br"
        else packing.ZstdCompressor().compress(b"words" * 99)
    )
    decode = decoder(encoding)

    assert b"words" * 99 == decode(packed[:9]) + decode(packed[9:])


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        if name in {"brotli", "brotlicffi"}:
            raise ImportError(name)
        return import_module(name)

    monkeypatch.setattr("pytest_sopbench._replay.seams.decoding.import_module", missing)

    with pytest.raises(CassetteError, match="encoded as 'br'; install brotli"):
        decoder("br")


def test_a_document_is_kept_in_one_piece(provider: Provider, taped: Any, tape: MemoryTape) -> None:
    with taped(tape):
        by_httpx(f"{provider.url}/echo")

    [document] = tape.response.chunks
    assert "words" == json.loads(document)["heard"]
