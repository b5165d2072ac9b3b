"""What the tape is told of a request and of a reply, and what it is not asked about."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import bedrock, library, openai_chat

from pytest_sopbench._replay.cassette_lines import TaskPlace
from pytest_sopbench._replay.cassettes import Store
from pytest_sopbench._replay.exchange import Recording, Request, Response
from pytest_sopbench._replay.run_tape import RunTape
from pytest_sopbench._replay.seams.take import is_for_credentials, leaving_out
from pytest_sopbench._replay.seams.watching import watching
from pytest_sopbench.errors import MissingRecordingError


def by_httpx(url: str, body: Any = b"", method: str = "POST") -> Any:
    with library("httpx").Client(timeout=60, follow_redirects=True) as client:
        return client.request(method, url, content=body or None)


def by_requests(url: str, body: Any = b"", method: str = "POST") -> Any:
    return library("requests").request(method, url, data=body or None, timeout=60)


def by_urllib3(url: str, body: Any = b"", method: str = "POST") -> Any:
    return library("urllib3").PoolManager().request(method, url, body=body or None)


def by_aiohttp(url: str, body: Any = b"", method: str = "POST") -> Any:
    async def ask() -> Any:
        async with (
            library("aiohttp").ClientSession() as session,
            session.request(method, url, data=body or None) as reply,
        ):
            await reply.read()
            return reply

    return asyncio.run(ask())


Send = Callable[..., Any]


@pytest.fixture(params=[by_httpx, by_requests, by_urllib3, by_aiohttp], ids=lambda f: f.__name__)
def send(request: pytest.FixtureRequest) -> Send:
    found: Send = request.param
    return found


def test_the_request_is_told_as_it_goes_out(
    send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        send(f"{provider.url}/echo?a=1&b=%20x", b"words")

    [asked] = tape.asked
    assert ("POST", b"words") == (asked.method, asked.body)
    assert f"{provider.url}/echo?a=1&b=%20x" == asked.url
    assert "127.0.0.1" in asked.url
    assert tape.kept[0][0] is asked


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda: io.BytesIO(b"of a file"), id="file"),
        pytest.param(lambda: iter([b"of ", b"an ", b"iterator"]), id="iterator"),
        pytest.param(lambda: "of ünicode", id="text"),
    ],
)
def test_a_body_that_can_be_read_once_is_told_and_sent(
    body: Callable[[], Any], send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        try:
            send(f"{provider.url}/echo", body())
        except TypeError as error:
            pytest.skip(f"the client takes no such body: {error}")

    assert provider.requests[0][2] == tape.asked[0].body
    assert tape.asked[0].body.decode().startswith("of ")


@pytest.mark.parametrize("path", ["nothing", "busy", "missing", "echo"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_any_status_comes_back_alike(
    path: str, method: str, send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        live = send(f"{provider.url}/{path}", method=method)
    with taped(tape.replaying()):
        served = send(f"{provider.url}/{path}", method=method)

    assert _status(live) == _status(served) == tape.response.status
    assert tape.response.complete
    assert 1 == len(provider.requests)


def _status(reply: Any) -> int:
    return int(getattr(reply, "status_code", None) or reply.status)


def test_each_hop_of_a_redirect_is_an_exchange(
    send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape):
        live = send(f"{provider.url}/moved", method="GET")
    sent = len(provider.requests)
    with taped(tape.replaying()):
        served = send(f"{provider.url}/moved", method="GET")

    assert 200 == _status(live) == _status(served)
    assert [307, 200] == [response.status for _, response in tape.kept]
    assert 2 == sent == len(provider.requests)


def test_a_redirect_is_followed_from_a_cassette(
    send: Send, provider: Provider, taped: Any, tmp_path: Path
) -> None:
    """Where it leads to is read from the disk, and the server of the recording is gone."""
    store, place = Store(tmp_path), TaskPlace("agent", "domain", "T_1")
    live = RunTape("record", Recording(), store.shaping)
    with taped(live):
        send(f"{provider.url}/moved", method="GET")
    store.keep(place, 1, Recording(exchanges=live.taken.exchanges), trials=1)
    sent = len(provider.requests)

    replay = RunTape("only", Store(tmp_path).load(place).trials[1], store.shaping)
    with taped(replay):
        served = send("http://127.0.0.1:9/moved", method="GET")

    assert 200 == _status(served)
    assert (2, sent) == (replay.taken.served, len(provider.requests))


def test_an_error_of_the_network_is_lost_and_reaches_the_agent_as_it_is(
    send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    # A port that was given back is refused.
    with Provider() as gone:
        url = gone.url

    with pytest.raises(Exception, match=r".") as without:
        send(url)
    with taped(tape), pytest.raises(Exception, match=r".") as with_tape:
        send(url)

    assert without.type is with_tape.type
    assert (tape.asked[0], []) == (tape.failed[0][0], tape.kept)


def test_a_server_that_gives_no_reply_is_lost(
    send: Send, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    with taped(tape), pytest.raises(Exception, match=r"."):
        send(f"{provider.url}/drop")

    assert ([], 1) == (tape.kept, len(tape.failed))


def test_a_time_limit_is_lost(provider: Provider, taped: Any, tape: MemoryTape) -> None:
    httpx = library("httpx")

    with taped(tape), pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{provider.url}/held", timeout=httpx.Timeout(60, read=0.05))

    [(_, error)] = tape.failed
    assert isinstance(error, httpx.ReadTimeout)


def test_a_cancelled_request_is_lost(provider: Provider, taped: Any, tape: MemoryTape) -> None:
    # Not in the task: the loop below waits for its request, and would wait for ever.
    httpx = library("httpx")

    async def ask() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            await client.post(f"{provider.url}/held")

    async def cancel() -> None:
        task = asyncio.create_task(ask())
        while not provider.requests:  # noqa: ASYNC110 - the server is in another thread
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with taped(tape):
        asyncio.run(cancel())

    assert [] == tape.kept or not tape.response.complete
    assert 1 == len(tape.kept) + len(tape.failed)


def test_a_host_that_is_left_out_is_sent_to_in_any_mode(
    send: Send, provider: Provider, taped: Any
) -> None:
    replay = MemoryTape("only")
    host = provider.url.removeprefix("http://")

    with taped(replay), leaving_out([host]):
        reply = send(f"{provider.url}/echo")
    with (
        taped(replay),
        leaving_out(["*.internal", "127.0.0.2"]),
        pytest.raises(MissingRecordingError),
    ):
        send(f"{provider.url}/echo")

    assert (200, 1) == (_status(reply), len(provider.requests))


def test_a_host_may_be_left_out_with_the_seams(provider: Provider, taped: Any) -> None:
    with taped(MemoryTape("only")), watching(left_out=["127.0.0.*"]):
        reply = by_httpx(f"{provider.url}/echo")

    assert 200 == reply.status_code


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://169.254.169.254/latest/api/token", True),
        ("https://sts.eu-central-1.amazonaws.com/", True),
        ("https://sts.amazonaws.com/", True),
        ("https://oauth2.googleapis.com/token", True),
        ("https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse", False),
        ("https://api.openai.com/v1/chat/completions", False),
        ("https://sts.example.com/", False),
    ],
)
def test_hosts_that_give_credentials_are_known(url: str, expected: bool) -> None:
    assert expected == is_for_credentials(url)


def test_credentials_are_fetched_and_never_kept(
    provider: Provider, taped: Any, tape: MemoryTape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pytest_sopbench._replay.seams.take.is_for_credentials", lambda url: "/echo" in url
    )

    with taped(tape):
        by_requests(f"{provider.url}/echo")
    with taped(MemoryTape("only")), pytest.raises(MissingRecordingError):
        by_requests(f"{provider.url}/echo")

    assert ([], []) == (tape.kept, tape.failed)
    assert 1 == len(provider.requests)


def test_what_stays_in_this_process_is_left_alone(taped: Any) -> None:
    httpx = library("httpx")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="of the test"))

    with taped(MemoryTape("only")), httpx.Client(timeout=60, transport=transport) as client:
        reply = client.get("https://provider.invalid")

    assert "of the test" == reply.text


def test_a_transport_of_the_users_is_seen_and_not_called_in_replay(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    httpx = library("httpx")
    called: list[str] = []

    class Logged(httpx.BaseTransport):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            self._inner = httpx.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            called.append(str(request.url.path))
            reply = self._inner.handle_request(request)
            reply.read()
            return reply

        def close(self) -> None:
            self._inner.close()

    def ask() -> Any:
        with httpx.Client(timeout=60, transport=Logged()) as client:
            return client.post(f"{provider.url}/echo", content="words").json()

    with taped(tape):
        live = ask()
    with taped(tape.replaying()):
        served = ask()

    assert live == served
    assert (["/echo"], 1) == (called, len(provider.requests))


def test_requests_through_an_http_proxy_are_told_with_their_own_address(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    httpx, requests = library("httpx"), library("requests")
    target = "http://provider.invalid/echo"

    with taped(tape):
        with httpx.Client(timeout=60, proxy=provider.url) as client:
            client.get(target)
        requests.get(target, proxies={"http": provider.url}, timeout=60)

    assert [target, target] == [request.url for request in tape.asked]
    assert 2 == len(tape.kept)


def test_one_transport_on_another_is_seen_once(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    httpx, requests = library("httpx"), library("requests")

    class OnRequests(httpx.BaseTransport):  # type: ignore[name-defined, misc]
        def handle_request(self, request: Any) -> Any:
            reply = requests.request(request.method, str(request.url), timeout=60)
            return httpx.Response(reply.status_code, content=reply.content)

    with taped(tape), httpx.Client(timeout=60, transport=OnRequests()) as client:
        client.get(f"{provider.url}/echo")

    assert 1 == len(tape.asked) == len(tape.kept)


def test_botocore_gets_its_reply_with_any_operation(
    provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    """`invoke_model` reads a body of bytes, as often and in such pieces as it likes."""

    class Answering(MemoryTape):
        def answer(self, request: Request) -> Response:
            super().answer(request)
            return Response(status=200, headers=(), chunks=(b'{"completion"', b': "words"}'))

    with taped(Answering()):
        body = bedrock(provider.url).invoke_model(modelId="v.m", body=b"{}")["body"]
        read = body.read(5), body.read()

    assert (b'{"com', b'pletion": "words"}') == read


def test_usual_headers_are_told_as_text(provider: Provider, taped: Any, tape: MemoryTape) -> None:
    with taped(tape):
        openai_chat(provider.url, "words")
        bedrock(provider.url).converse(
            modelId="m", messages=[{"role": "user", "content": [{"text": "words"}]}]
        )

    for request in tape.asked:
        names = {name.lower() for name, _ in request.headers}
        assert {"authorization", "content-type"} <= names
        assert all(isinstance(value, str) for pair in request.headers for value in pair)
