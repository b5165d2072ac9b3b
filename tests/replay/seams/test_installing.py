"""What is patched, when, and that all of it is given back."""

from __future__ import annotations

import asyncio
import gzip
import importlib
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_stub import MemoryTape, Provider
from replay_stub.asking import CLIENTS, Ask, library

from pytest_sopbench._replay.exchange import Request
from pytest_sopbench._replay.seams.forwarding import signed
from pytest_sopbench._replay.seams.take import Door, Seam, decoder
from pytest_sopbench._replay.seams.watching import SEAMS, Installation, watching
from pytest_sopbench.errors import CassetteError, MissingRecordingError

PARTS = {
    "httpx": "httpx",
    "httpx2": "httpx2",
    "botocore.httpsession": "botocore",
    "urllib3.connectionpool": "urllib3",
    "aiohttp.client": "aiohttp",
}


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.library)
def test_a_library_has_its_doors_where_we_look_for_them(seam: Seam) -> None:
    """Fails where a release of a library has moved one: then its seam needs another door."""
    library(PARTS[seam.module])

    doors = seam.open(importlib.import_module(seam.module))

    assert doors
    assert all(callable(vars(door.owner)[door.name]) for door in doors)


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.library)
def test_all_that_was_patched_is_given_back(seam: Seam) -> None:
    library(PARTS[seam.module])
    doors = seam.open(importlib.import_module(seam.module))
    before = [vars(door.owner)[door.name] for door in doors]
    path = list(sys.meta_path)

    with watching():
        during = [vars(door.owner)[door.name] for door in doors]
        with watching():
            within = [vars(door.owner)[door.name] for door in doors]
        after_inner = [vars(door.owner)[door.name] for door in doors]

    assert before == [vars(door.owner)[door.name] for door in doors]
    assert during == within == after_inner
    assert not set(map(id, before)) & set(map(id, during))
    assert path == sys.meta_path


def test_what_somebody_else_put_there_since_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    client = library("httpx").Client
    before = client._transport_for_url

    def theirs(self: Any, url: Any) -> Any:
        return before(self, url)

    with watching():
        monkeypatch.setattr(client, "_transport_for_url", theirs)

    assert theirs is client._transport_for_url


class Made:
    """A small library on disk, and its seam."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        (folder / f"{name}.py").write_text(
            "class Client:\n    def send(self):\n        return 'sent'\n"
        )
        self.seam = Seam(module=name, library=name, doors=self._doors)

    def _doors(self, module: Any) -> tuple[Door, ...]:
        return (Door(owner=module.Client, name="send", through=lambda _: lambda _self: "seen"),)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Made]:
    name = "sop_made_library"
    monkeypatch.syspath_prepend(tmp_path)
    yield Made(tmp_path, name)
    sys.modules.pop(name, None)


def test_a_library_that_is_imported_later_is_seen_from_then_on(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    during = module.Client().send()
    installation.leave()

    assert ("seen", "sent") == (during, module.Client().send())


def test_the_module_keeps_its_own_loader(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    installation.leave()

    spec = module.__spec__
    assert spec is not None
    assert "SourceFileLoader" == type(spec.loader).__name__
    assert spec.loader is module.__loader__
    assert "class Client" in spec.loader.get_source(made.name)  # type: ignore[union-attr]


def test_nothing_is_imported_for_our_sake(made: Made) -> None:
    installation = Installation([made.seam])

    installation.enter()
    installation.leave()

    assert made.name not in sys.modules


def test_a_moved_door_breaks_no_import_and_is_told(made: Made, tmp_path: Path) -> None:
    (tmp_path / f"{made.name}.py").write_text("__version__ = '9.9'\nclass Client:\n    pass\n")
    installation = Installation([made.seam])

    installation.enter()
    module = importlib.import_module(made.name)
    installation.leave()

    assert isinstance(module, ModuleType)
    [told] = installation.moved
    assert told.startswith(f"{made.name} 9.9 cannot be recorded or replayed: Client has no send")


def test_an_import_that_fails_fails_as_it_does(made: Made, tmp_path: Path) -> None:
    (tmp_path / f"{made.name}.py").write_text("raise ImportError('of its own')\n")
    installation = Installation([made.seam])

    installation.enter()
    try:
        with pytest.raises(ImportError, match="of its own"):
            importlib.import_module(made.name)
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("sop_no_such_library")
    finally:
        installation.leave()

    assert [] == installation.moved


def test_a_watched_library_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    seam = Seam(module="sop_absent_library", library="absent", doors=lambda _: ())
    installation = Installation([seam])

    installation.enter()
    try:
        with pytest.raises(ModuleNotFoundError, match="sop_absent_library"):
            importlib.import_module("sop_absent_library")
    finally:
        installation.leave()


def test_an_old_aiohttp_is_told_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    client = library("aiohttp.client")

    async def _request(self: Any, method: str, url: Any) -> None:
        """Know no middlewares."""

    monkeypatch.setattr(client.ClientSession, "_request", _request)
    [seam] = (seam for seam in SEAMS if seam.library == "aiohttp")

    with pytest.raises(CassetteError, match=r"no client middlewares, which came with 3\.12"):
        seam.open(client)


# A child signs for the proxy; AWS gets a signature for itself.

URL = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/v.m-1%3A0/converse"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "of nobody"}


def asked(url: str = URL, key: str = "AKIAX") -> Request:
    credential = f"{key}/20260101/eu-central-1/bedrock/aws4_request"
    headers = (
        ("Authorization", f"AWS4-HMAC-SHA256 Credential={credential}, Signature=of-the-proxy"),
        ("X-Amz-Date", "20260101T000000Z"),
        ("Content-Type", "application/json"),
    )
    return Request(method="POST", url=url, headers=headers, body=b"{}")


def test_the_signature_is_the_one_of_the_credentials_for_the_real_host() -> None:
    library("botocore")

    headers = dict(signed(asked(), ENVIRONMENT))

    assert headers["Authorization"] == _own_signature(headers["X-Amz-Date"])
    assert "application/json" == headers["Content-Type"]


def _own_signature(date: str) -> str:
    """As botocore signs a request of the same moment."""
    auth, request = library("botocore.auth"), library("botocore.awsrequest")
    credentials = library("botocore.credentials").Credentials("AKIAX", "of nobody")
    signer = auth.SigV4Auth(credentials, "bedrock", "eu-central-1")
    fresh = request.AWSRequest(
        method="POST", url=URL, data=b"{}", headers={"Content-Type": "application/json"}
    )
    fresh.context["timestamp"] = date
    fresh.headers["X-Amz-Date"] = date
    canonical = signer.canonical_request(fresh)
    text = signer.string_to_sign(fresh, canonical)
    signer._inject_signature_to_request(fresh, signer.signature(text, fresh))
    return str(fresh.headers["Authorization"])


def test_credentials_that_are_not_here_are_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    library("botocore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of nobody")

    with pytest.raises(CassetteError, match="its credentials are not those of the environment"):
        signed(asked(), {})


def test_without_botocore_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("pytest_sopbench._replay.seams.forwarding.import_module", missing)

    with pytest.raises(CassetteError, match="only be recorded if botocore is installed"):
        signed(asked(), ENVIRONMENT)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(asked("http://127.0.0.1:8000/model/m/converse"), id="a-stub-here"),
        pytest.param(asked("http://localhost:8000/model/m/converse"), id="localhost"),
        pytest.param(
            Request(method="POST", url=URL, headers=(("authorization", "Bearer x"),)), id="api-key"
        ),
    ],
)
def test_what_needs_no_signature_passes_as_it_is(request_: Request) -> None:
    assert request_.headers == signed(request_, {})


# What is kept can be read, however it was packed for its way.


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

    monkeypatch.setattr("pytest_sopbench._replay.seams.take.import_module", missing)

    with pytest.raises(CassetteError, match="encoded as 'br'; install brotli"):
        decoder("br")


def test_a_document_is_kept_in_one_piece(provider: Provider, taped: Any, tape: MemoryTape) -> None:
    with taped(tape):
        by_httpx(f"{provider.url}/echo")

    [document] = tape.response.chunks
    assert "words" == json.loads(document)["heard"]


# Every real client against a provider on the loopback: recorded, then replayed without it.


@pytest.fixture(params=CLIENTS, ids=lambda ask: ask.__name__)
def ask(request: pytest.FixtureRequest) -> Ask:
    found: Ask = request.param
    return found


def test_what_was_recorded_is_served_alike(
    ask: Ask, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    live = ask(provider.url, "plain words")
    with taped(tape):
        recorded = ask(provider.url, "plain words")
    sent = len(provider.requests)

    replay = tape.replaying()
    with taped(replay):
        replayed = ask(provider.url, "plain words")

    assert live == recorded == replayed
    assert (2, 2) == (sent, len(provider.requests))
    assert ([], []) == (replay.kept, tape.failed)


def test_a_request_without_a_recording_is_refused_at_once(
    ask: Ask, provider: Provider, taped: Any
) -> None:
    replay = MemoryTape("only")

    with taped(replay), pytest.raises(MissingRecordingError, match="nothing is recorded for"):
        ask(provider.url, "plain words")

    # No client takes it for a failure of the network, and asks again.
    assert (1, []) == (len(replay.asked), provider.requests)
