"""Agents in another process: their requests come by a proxy, to the tape of their run."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fnmatch import fnmatchcase
from http.client import HTTPResponse
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import library

from pytest_sopbench._replay.exchange import OutsideTape, Request, Response
from pytest_sopbench._replay.run_tape import on_tape, switched_on
from pytest_sopbench._replay.seams import take
from pytest_sopbench._replay.seams.proxy import Handler, Proxy
from pytest_sopbench._replay.seams.watching import Watching, watching
from pytest_sopbench.errors import MissingRecordingError

CHILD = """
import json, os, sys, urllib.request

def ask(variable, path, body):
    url = os.environ[variable] + path
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "x/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()

text = sys.argv[1]
said = [{"role": "user", "content": text}]
print(json.dumps([
    ask("OPENAI_BASE_URL", "/chat/completions", {"messages": said}),
    ask("ANTHROPIC_BASE_URL", "/v1/messages", {"messages": said, "stream": True}),
    ask("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "/model/v.m-1%3A0/converse",
        {"messages": [{"role": "user", "content": [{"text": text}]}]}),
]))
"""


@pytest.fixture
def watched(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", provider.url)
    with watching() as found, switched_on(OutsideTape("refuse")):
        yield found


def child(text: str = "words", **options: Any) -> list[tuple[int, str]]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", CHILD, text], capture_output=True, check=True, **options
    )
    found: list[tuple[int, str]] = json.loads(done.stdout)
    return found


def test_a_child_is_recorded_and_replayed_without_its_provider(
    watched: Watching, provider: Provider, tape: MemoryTape
) -> None:
    with on_tape(tape):
        live = child()
    sent = len(provider.requests)
    replay = tape.replaying()
    with on_tape(replay):
        served = child()

    assert live == served
    assert [200, 200, 200] == [status for status, _ in live]
    assert "heard words indeed" in live[0][1]
    assert "message_stop" in live[1][1]
    assert (3, 3, []) == (sent, len(provider.requests), replay.kept)
    assert [
        f"{provider.url}/v1/chat/completions",
        f"{provider.url}/v1/messages",
        f"{provider.url}/model/v.m-1%3A0/converse",
    ] == [request.url for request in tape.asked]
    streamed = tape.kept[1][1]
    assert len(streamed.chunks) > 0
    assert streamed.complete


def test_a_child_without_a_recording_is_told_why_and_does_not_ask_again(
    watched: Watching, provider: Provider
) -> None:
    with on_tape(MemoryTape("only")):
        refused = child()

    assert [424, 424, 424] == [status for status, _ in refused]
    told = json.loads(refused[0][1])
    assert told["message"] == told["error"]["message"]
    assert told["message"].startswith("nothing is recorded for POST")
    assert [] == provider.requests


def test_children_of_many_runs_never_mix(watched: Watching, provider: Provider) -> None:
    tapes = [MemoryTape() for _ in range(8)]

    def run(number: int) -> list[tuple[int, str]]:
        with on_tape(tapes[number]):
            return child(f"of {number}")

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(run, range(8)))

    for number, tape in enumerate(tapes):
        assert f"heard of {number} indeed" in said[number][0][1]
        assert all(f"of {number}".encode() in request.body for request in tape.asked)
        assert 3 == len(tape.kept)


def test_the_environment_of_this_process_is_never_changed(
    watched: Watching, provider: Provider, tape: MemoryTape
) -> None:
    before = dict(os.environ)

    with on_tape(tape):
        child()
        given = watched.environment()

    assert before == dict(os.environ)
    assert given["OPENAI_BASE_URL"].endswith("/openai")
    assert given["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "start",
    [
        lambda env: subprocess.check_output([sys.executable, "-S", "-c", SHOWN], env=env),
        lambda env: subprocess.Popen(
            [sys.executable, "-S", "-c", SHOWN], env=env, stdout=subprocess.PIPE
        ).communicate()[0],
        lambda env: asyncio.run(_on_a_loop(env)),
    ],
    ids=["check_output", "Popen", "asyncio"],
)  # fmt: skip
def test_however_a_child_is_started_it_finds_the_proxy(
    start: Callable[[Any], bytes], watched: Watching, tape: MemoryTape
) -> None:
    with on_tape(tape):
        inherited = start(None)
        given = start({**os.environ, "MORE": "of it"})

    for said in (inherited, given):
        assert said.startswith(b"http://127.0.0.1:")
        assert said.strip().endswith(b"/openai")


SHOWN = "import os; print(os.environ['OPENAI_BASE_URL'])"


async def _on_a_loop(env: Any) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", SHOWN, env=env, stdout=subprocess.PIPE
    )
    said, _ = await process.communicate()
    return said


def test_a_child_of_no_run_is_left_alone(watched: Watching, provider: Provider) -> None:
    assert f"{provider.url}/v1" == _shown()


def _shown() -> str:
    return subprocess.check_output([sys.executable, "-S", "-c", SHOWN], text=True).strip()


def test_a_child_of_a_thread_that_lost_its_run_is_refused(
    watched: Watching, provider: Provider, tape: MemoryTape
) -> None:
    with on_tape(tape), ThreadPoolExecutor(1) as pool:
        refused = pool.submit(child).result()

    assert [424, 424, 424] == [status for status, _ in refused]
    assert ([], []) == (tape.asked, provider.requests)


def test_a_child_that_outlives_its_run_is_refused(
    watched: Watching, provider: Provider, tape: MemoryTape
) -> None:
    with on_tape(tape):
        environment = watched.environment()
    watched.end(tape)

    refused = child(env=environment)

    assert [410, 410, 410] == [status for status, _ in refused]
    assert "the run of this address is over" in refused[0][1]
    assert [] == provider.requests


def test_popen_is_given_back_and_blocks_may_nest(provider: Provider) -> None:
    before = subprocess.Popen.__init__

    with watching() as outer:
        changed = subprocess.Popen.__init__
        with watching() as inner:
            assert (outer, changed) == (inner, subprocess.Popen.__init__)
        assert changed is subprocess.Popen.__init__

    assert before is subprocess.Popen.__init__
    assert before is not changed


def test_env_may_be_given_by_its_place(watched: Watching, tape: MemoryTape) -> None:
    places = (-1, None, None, subprocess.PIPE, None, None, True, False, None)

    with (
        on_tape(tape),
        subprocess.Popen([sys.executable, "-S", "-c", SHOWN], *places, dict(os.environ)) as process,
    ):
        said, _ = process.communicate()

    assert said.strip().endswith(b"/openai")


class TestTheProxy:
    """The server itself, asked by a client of this process that no seam sees."""

    @pytest.fixture
    def proxy(self) -> Iterator[Proxy]:
        with closing(Proxy()) as found:
            yield found

    def base(self, proxy: Proxy, provider: Provider, tape: MemoryTape) -> str:
        given = proxy.environment(tape, {"OPENAI_BASE_URL": provider.url})
        return given["OPENAI_BASE_URL"]

    def test_a_stream_passes_chunk_by_chunk(
        self, proxy: Proxy, provider: Provider, tape: MemoryTape
    ) -> None:
        url = f"{self.base(proxy, provider, tape)}/held"

        with library("httpx").stream("POST", url) as reply:
            chunks = reply.iter_raw()
            first = next(chunks)
            provider.go_on.set()
            rest = b"".join(chunks)

        assert b"data: first\n\n" == first
        assert tape.response.body == first + rest
        assert tape.response.complete

    def test_a_stream_that_breaks_off_never_looks_whole(
        self, proxy: Proxy, provider: Provider, tape: MemoryTape
    ) -> None:
        httpx = library("httpx")

        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(timeout=60, url=f"{self.base(proxy, provider, tape)}/cut")

        assert ([], 1) == (tape.kept, len(tape.failed))

    def test_a_packed_reply_reaches_the_child_packed_and_the_tape_as_text(
        self, proxy: Proxy, provider: Provider, tape: MemoryTape
    ) -> None:
        provider.encoding = "gzip"

        reply = library("httpx").post(
            timeout=60, url=f"{self.base(proxy, provider, tape)}/echo", content="words"
        )

        assert "gzip" == reply.headers["Content-Encoding"]
        assert "words" == reply.json()["heard"]
        assert tape.response.body == reply.content

    @pytest.mark.parametrize("path", ["busy", "missing", "moved", "nothing"])
    @pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
    def test_any_status_passes_and_is_served(
        self, path: str, method: str, proxy: Proxy, provider: Provider, tape: MemoryTape
    ) -> None:
        httpx = library("httpx")
        with httpx.Client(timeout=60) as client:
            live = client.request(method, f"{self.base(proxy, provider, tape)}/{path}")
            replay = tape.replaying()
            served = client.request(method, f"{self.base(proxy, provider, replay)}/{path}")

        assert (live.status_code, live.content) == (served.status_code, served.content)
        assert live.headers.get("location") == served.headers.get("location")

    def test_a_provider_that_is_away_is_a_bad_gateway_and_lost(
        self, proxy: Proxy, tape: MemoryTape
    ) -> None:
        with Provider() as gone:
            base = self.base(proxy, gone, tape)

        reply = library("httpx").post(timeout=60, url=f"{base}/echo")

        assert 502 == reply.status_code
        assert "the provider cannot be reached" in reply.json()["message"]
        assert ([], 1) == (tape.kept, len(tape.failed))

    def test_a_request_in_chunks_is_read(
        self, proxy: Proxy, provider: Provider, tape: MemoryTape
    ) -> None:
        url = f"{self.base(proxy, provider, tape)}/echo?a=b"

        reply = library("httpx").post(timeout=60, url=url, content=iter([b"some ", b"words"]))

        assert ("some words", "/echo?a=b") == (reply.json()["heard"], reply.json()["path"])

    def test_a_reply_of_megabytes_reaches_the_child_and_no_tape(
        self,
        monkeypatch: pytest.MonkeyPatch,
        proxy: Proxy,
        provider: Provider,
        tape: MemoryTape,
    ) -> None:
        monkeypatch.setattr(take, "LARGEST", 1_000)
        url = f"{self.base(proxy, provider, tape)}/echo"
        httpx = library("httpx")

        small = httpx.post(timeout=60, url=url, content="words")
        large = httpx.post(timeout=60, url=url, content="w" * 2_000)

        assert ["words", "w" * 2_000] == [small.json()["heard"], large.json()["heard"]]
        assert (1, 1) == (len(tape.kept), len(tape.failed))

    def test_a_recorded_stream_that_was_left_early_never_looks_whole(
        self, proxy: Proxy, provider: Provider
    ) -> None:
        httpx = library("httpx")
        asked = Request(method="POST", url=f"{provider.url}/done")
        cut = Response(status=200, chunks=(b"data: first\n\n",), complete=False)
        replay = MemoryTape("only", [(asked, cut)])

        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(timeout=60, url=f"{self.base(proxy, provider, replay)}/done")


def sent_raw(address: str, data: bytes, *, ends: bool = True) -> tuple[int, str]:
    """Write bytes to the port of an address, and return the status and the message of its reply."""
    host, port = urlsplit(address).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as wire:
        wire.sendall(data)
        if ends:
            wire.shutdown(socket.SHUT_WR)
        reply = HTTPResponse(wire, method="POST")
        reply.begin()
        return reply.status, json.loads(reply.read())["message"]


OVER = "the run of this address is over, or has never been"
NOT_SENT = b"\r\nContent-Length: 99999999999\r\n\r\n"
NO_PATH = "this is no path of the replay proxy: *"
TO_IT = b"POST {path}/echo HTTP/1.1\r\n"
EARLY = "the body of the request ends too early"
LENGTH = "the length of the request is no number"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("head", "status", "message"),
    [
        pytest.param(b"POST /never/openai HTTP/1.1" + NOT_SENT, 410, OVER, id="another token"),
        pytest.param(b"POST // HTTP/1.1" + NOT_SENT, 410, OVER, id="two slashes"),
        pytest.param(b"POST / HTTP/1.1" + NOT_SENT, 410, OVER, id="no token"),
        pytest.param(b"POST {path}x/echo HTTP/1.1" + NOT_SENT, 410, OVER, id="another provider"),
        pytest.param(
            b"POST /never/openai HTTP/1.1\r\nExpect: 100-continue" + NOT_SENT, 410, OVER,
            id="asks first whether to send",
        ),
        pytest.param(b"POST * HTTP/1.1" + NOT_SENT, 400, NO_PATH, id="a star"),
        pytest.param(b"POST http://h{path} HTTP/1.1" + NOT_SENT, 400, NO_PATH, id="absolute"),
        pytest.param(b"POST {path}/\xff HTTP/1.1" + NOT_SENT, 400, NO_PATH, id="no UTF-8"),
        pytest.param(b"POST {path}/\0 HTTP/1.1" + NOT_SENT, 400, NO_PATH, id="a zero byte"),
        pytest.param(b"CONNECT h:443 HTTP/1.1\r\n\r\n", 405, "Unsupported method*", id="a tunnel"),
        pytest.param(b"OPTIONS * HTTP/1.1\r\n\r\n", 405, "Unsupported method*", id="options"),
        pytest.param(b"POST /" + b"x" * 70_000 + NOT_SENT, 414, "*Too Long*", id="a long path"),
        pytest.param(TO_IT + b"a: b\r\n" * 200 + NOT_SENT, 431, "Too many headers", id="headers"),
        pytest.param(TO_IT + b"a: " + b"x" * 70_000 + NOT_SENT, 431, "Line too long", id="header"),
        pytest.param(b"well, hello\r\n\r\n", 400, "Bad *", id="no HTTP"),
        pytest.param(b"POST / HTTP/9.1\r\n\r\n", 400, "Invalid HTTP version*", id="HTTP/9"),
        pytest.param(TO_IT + b"Content-Length: -1\r\n\r\n", 400, LENGTH, id="less than nothing"),
        pytest.param(TO_IT + b"Content-Length: 1_0\r\n\r\n", 400, LENGTH, id="a number of Python"),
        pytest.param(
            TO_IT + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n12", 400, LENGTH,
            id="two lengths",
        ),
        pytest.param(TO_IT + b"Content-Length: 9\r\n\r\nshort", 400, EARLY, id="too short"),
        pytest.param(
            TO_IT + b"Content-Length: 999999999\r\n\r\n", 413, "*larger than 128 MB*", id="large"
        ),
        pytest.param(
            TO_IT + CHUNKED + b"FFFFFFFFF\r\n", 413, "*larger than 128 MB*", id="too large a chunk"
        ),
        pytest.param(TO_IT + CHUNKED + b"-5\r\n", 400, "the size of a chunk*", id="no size"),
        pytest.param(TO_IT + CHUNKED + b"5\r\nab", 400, EARLY, id="a chunk too short"),
        pytest.param(TO_IT + CHUNKED + b"1" * 5_000, 400, EARLY, id="a size without an end"),
        pytest.param(
            TO_IT + CHUNKED + b"0\r\n" + b"a: b\r\n" * 200, 400, "*does not end*", id="trailers"
        ),
    ],
)  # fmt: skip
def test_what_is_no_request_of_a_child_is_refused_with_a_reason_and_the_proxy_goes_on(
    head: bytes, status: int, message: str, provider: Provider, tape: MemoryTape
) -> None:
    """Nothing waits for a body that is refused: none of these is sent."""
    with closing(Proxy()) as proxy:
        address = proxy.environment(tape, {"OPENAI_BASE_URL": provider.url})["OPENAI_BASE_URL"]

        whole = head.replace(b"{path}", urlsplit(address).path.encode())
        found, told = sent_raw(address, whole, ends=message == EARLY)
        after = library("httpx").post(timeout=60, url=f"{address}/echo", content="words")

    assert (status, True) == (found, fnmatchcase(told, message))
    assert "words" == after.json()["heard"]
    assert [f"{provider.url}/echo"] == [request.url for request in tape.asked]


def test_a_child_that_stops_in_the_middle_of_its_request_is_told_so(
    monkeypatch: pytest.MonkeyPatch, provider: Provider, tape: MemoryTape
) -> None:
    monkeypatch.setattr(Handler, "timeout", 0.01)
    with closing(Proxy()) as proxy:
        address = proxy.environment(tape, {"OPENAI_BASE_URL": provider.url})["OPENAI_BASE_URL"]
        head = f"POST {urlsplit(address).path}/echo HTTP/1.1\r\nContent-Length: 9\r\n\r\n1"

        status, told = sent_raw(address, head.encode(), ends=False)

    assert (408, "nothing of the request came for 0.01 seconds") == (status, told)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"no HTTP at all\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 9999 Many\r\n\r\n", id="no status"),
        pytest.param(b"HTTP/1.1 200 OK\r\na: " + b"x" * 70_000 + b"\r\n\r\n", id="a long line"),
        pytest.param(b"", id="nothing"),
    ],
)  # fmt: skip
def test_a_provider_that_answers_nonsense_is_a_bad_gateway_and_lost(
    reply: bytes, tape: MemoryTape
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as provider, closing(Proxy()) as proxy:

        def answer() -> None:
            wire, _ = provider.accept()
            with wire:
                wire.recv(65_536)
                wire.sendall(reply)

        Thread(target=answer).start()
        given = {"OPENAI_BASE_URL": f"http://127.0.0.1:{provider.getsockname()[1]}"}
        address = proxy.environment(tape, given)["OPENAI_BASE_URL"]

        refused = library("httpx").post(timeout=60, url=f"{address}/echo", content="words")

    assert 502 == refused.status_code
    assert "the provider cannot be reached" in refused.json()["message"]
    assert ([], 1) == (tape.kept, len(tape.failed))


def test_node_and_others_need_no_http_proxy_for_this_machine(tape: MemoryTape) -> None:
    with closing(Proxy()) as proxy:
        given = proxy.environment(
            tape, {"HTTPS_PROXY": "http://proxy.invalid", "NO_PROXY": "intern"}
        )

    assert "intern,127.0.0.1" == given["NO_PROXY"]
    assert "127.0.0.1" == given["no_proxy"]


def test_where_no_variable_is_set_the_providers_own_addresses_are_meant(tape: MemoryTape) -> None:
    with closing(Proxy()) as proxy:
        given = proxy.environment(tape, {"AWS_REGION": "eu-west-1", "OPENAI_API_BASE": ""})
        urls = []
        for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
            visit = proxy.visit(given[name].split("/", 3)[3].join(("/", "/x?y=z")))
            assert visit is not None
            urls.append(visit.url)

    assert [
        "https://api.openai.com/v1/x?y=z",
        "https://api.anthropic.com/x?y=z",
        "https://bedrock-runtime.eu-west-1.amazonaws.com/x?y=z",
    ] == urls
    assert "" == given["OPENAI_API_BASE"]


REAL_CLIENTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from replay_stub.asking import bedrock, library
import os
openai = library("openai")
said = [{"role": "user", "content": "words"}]
import boto3
runtime = boto3.client("bedrock-runtime")

def ask():
    with openai.OpenAI(max_retries=0) as client:
        chat = client.chat.completions.create(model="m", messages=said, stream=True)
        first = [event.choices[0].delta.content for event in chat]
    told = [{"role": "user", "content": [{"text": "words"}]}]
    stream = runtime.converse_stream(modelId="v.m-1:0", messages=told)["stream"]
    return [first, list(stream)]

print(json.dumps([ask(), ask()]))
"""


class Auto(MemoryTape):
    """Serves what it has recorded, and records the rest."""

    def answer(self, request: Request) -> Response | None:
        served = MemoryTape("only", self.kept)
        try:
            return served.answer(request)
        except MissingRecordingError:
            return None


def test_the_real_clients_in_a_child(watched: Watching, provider: Provider) -> None:
    for name in ("openai", "boto3"):
        library(name)
    environment = {
        **os.environ, "OPENAI_API_KEY": "sk-x",
        "AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "of nobody",
        "AWS_DEFAULT_REGION": "eu-central-1",
    }  # fmt: skip

    command = [sys.executable, "-c", REAL_CLIENTS, str(Path(__file__).parent)]
    tape = Auto()

    with on_tape(tape):
        live, served = json.loads(subprocess.check_output(command, env=environment))

    assert live == served
    assert ["heard ", "words ", "indeed "] == live[0][:3]
    assert (2, []) == (len(provider.requests), tape.kept)
