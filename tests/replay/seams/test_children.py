"""Agents in another process: their requests come by a proxy, to the tape of their run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import library

from pytest_sopbench._replay.proxy.children import Watching, watching
from pytest_sopbench._replay.proxy.server import Proxy
from pytest_sopbench._replay.tape.current import on_tape, switched_on
from pytest_sopbench._replay.tape.exchange import Request, Response
from pytest_sopbench._replay.tape.outside import OutsideTape
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
        with Proxy() as found:
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

    def test_a_recorded_stream_that_was_left_early_never_looks_whole(
        self, proxy: Proxy, provider: Provider
    ) -> None:
        httpx = library("httpx")
        asked = Request(method="POST", url=f"{provider.url}/done")
        cut = Response(status=200, chunks=(b"data: first\n\n",), complete=False)
        replay = MemoryTape("only", [(asked, cut)])

        with pytest.raises(httpx.RemoteProtocolError):
            httpx.post(timeout=60, url=f"{self.base(proxy, provider, replay)}/done")


def test_node_and_others_need_no_http_proxy_for_this_machine(tape: MemoryTape) -> None:
    with Proxy() as proxy:
        given = proxy.environment(
            tape, {"HTTPS_PROXY": "http://proxy.invalid", "NO_PROXY": "intern"}
        )

    assert "intern,127.0.0.1" == given["NO_PROXY"]
    assert "127.0.0.1" == given["no_proxy"]


def test_where_no_variable_is_set_the_providers_own_addresses_are_meant(tape: MemoryTape) -> None:
    with Proxy() as proxy:
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
