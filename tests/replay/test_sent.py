"""What a request sends as a credential stands in no recording, whatever a server makes of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from pytest_sopbench._replay.cassette_lines import TaskPlace
from pytest_sopbench._replay.cassettes import Store, faults_of, inspect
from pytest_sopbench._replay.exchange import (
    Headers,
    Parts,
    Recording,
    Request,
    Response,
    Shaping,
    credentials_sent,
    is_secret,
)
from pytest_sopbench._replay.run_tape import RunTape
from pytest_sopbench.errors import CassetteError
from tests.replay.conftest import request

PLACE = TaskPlace("agent", "claims", "C_1")
KEY = "q7Lw/9Zk+2pXv81mTn"
BODY = {"model": "small-1", "messages": [{"role": "user", "content": "Is it late?"}]}
URL = "https://api.example.com/v1/chat/completions"
BASIC = base64.b64encode(f"clerk:{KEY}".encode()).decode()

SENT: dict[str, tuple[Headers, str]] = {
    "bearer": ((("Authorization", f"Bearer {KEY}"),), URL),
    "bare": ((("authorization", KEY),), URL),
    "api-key": ((("x-api-key", KEY),), URL),
    "azure": ((("api-key", KEY),), URL),
    "google": ((("X-Goog-Api-Key", KEY),), URL),
    "subscription": ((("Ocp-Apim-Subscription-Key", KEY),), URL),
    "x-auth": ((("X-Auth", KEY),), URL),
    "x-auth-token": ((("X-Auth-Token", f"Token {KEY}"),), URL),
    "cookie": ((("Cookie", f"lang=en; session={KEY}"),), URL),
    "proxy": ((("Proxy-Authorization", f"Bearer {KEY}"),), URL),
    "basic": ((("Authorization", f"Basic {BASIC}"),), URL),
    "in-a-query": ((), f"{URL}?subscription-key={quote(KEY, safe='')}"),
    "in-a-query-as-auth": ((), f"{URL}?auth={quote(KEY, safe='')}&a=1"),
    "in-a-query-as-appid": ((), f"{URL}?appid={quote(KEY, safe='')}"),
    "in-a-query-as-auth-token": ((), f"{URL}?auth_token={quote(KEY, safe='')}"),
    "in-an-address": (
        (),
        f"https://clerk:{quote(KEY, safe='')}@api.example.com/v1/chat/completions",
    ),
}
"""Where a request may send a credential."""


def stream(text: str) -> tuple[bytes, ...]:
    events = ({"choices": [{"delta": {"content": one}}]} for one in (text, "and more"))
    return tuple(f"data: {json.dumps(one)}\n\n".encode() for one in events)


ECHOED: dict[str, Callable[[str], str]] = {
    "whole": lambda key: f"Incorrect API key provided: {key}.",
    "percent-encoded": lambda key: f"no such key: {quote(key, safe='')}",
    "in-base64": lambda key: f"refused: {base64.b64encode(f'clerk:{key}'.encode()).decode()}",
    "by-both-ends": lambda key: f"Incorrect API key provided: {key[:6]}******{key[-4:]}.",
    "by-its-beginning": lambda key: f"the key {key[:5]}*** is not known",
    "by-its-beginning-and-three": lambda key: f"the key {key[:4]}...{key[-3:]} is not known",
    "by-its-end": lambda key: f"the key ****{key[-4:]} is not known",
    "by-dots": lambda key: f"the key {key[:4]}\u2026{key[-4:]} is not known",
}
"""What a server may make of it."""


def recorded(tmp_path: Path, asked: Request, response: Response) -> str:
    """Record one exchange, and return all that lies on the disk."""
    tape = RunTape("record", Recording(), Shaping())
    assert tape.answer(asked) is None
    tape.keep(asked, response)
    taken = tape.taken
    new = Recording(exchanges=taken.exchanges, recorded="2026-01-02T03:04:05+00:00")
    store = Store(tmp_path)
    store.keep(PLACE, 1, new, trials=1, sent=taken.sent)
    assert not [*faults_of(tmp_path, inspect(tmp_path), {})]
    return "".join(path.read_text() for path in tmp_path.rglob("*.json*"))


def parts_of(key: str) -> set[str]:
    """Return what tells something of a key: four characters that stand beside one another."""
    return {key[at : at + 4] for at in range(len(key) - 3)}


@pytest.mark.parametrize("way", [pytest.param(one, id=name) for name, one in ECHOED.items()])
def test_no_part_of_what_was_sent_is_written(tmp_path: Path, way: Callable[[str], str]) -> None:
    told = way(KEY)
    parts = parts_of(KEY) | parts_of(quote(KEY, safe=""))
    responses = {
        "json": Response(status=401, chunks=(json.dumps({"error": {"message": told}}).encode(),)),
        "text": Response(status=401, chunks=(told.encode(),)),
        "stream": Response(status=200, chunks=stream(told)),
        "header": Response(status=401, headers=(("x-request-id", told),), chunks=(b"{}",)),
    }

    for (name, (headers, url)), kind in product(SENT.items(), responses):
        asked = Request(method="POST", url=url, headers=headers, body=json.dumps(BODY).encode())

        written = recorded(tmp_path / f"{name}-{kind}", asked, responses[kind])

        assert not [part for part in parts if part in written], (name, kind)
        assert BASIC[8:] not in written, (name, kind)
        assert "***" in written, (name, kind)


def test_a_request_that_says_its_own_key_to_the_model_is_not_recorded(tmp_path: Path) -> None:
    body = {**BODY, "messages": [{"role": "user", "content": f"Use {KEY}."}]}
    asked = Request(
        method="POST", url=URL, headers=(("x-api-key", KEY),), body=json.dumps(body).encode()
    )

    with pytest.raises(CassetteError, match="request 1: body holds what looks like a key that a"):
        recorded(tmp_path, asked, Response(status=200, chunks=(b"{}",)))


@pytest.mark.parametrize("key", ["unused", "not-needed", "test", "sk-none", "EMPTY", "ollama"])
def test_a_key_that_stands_for_none_leaves_replies_as_they_are(key: str) -> None:
    asked = request(BODY)
    headers = (("authorization", f"Bearer {key}"), ("idempotency-key", "a1b2c3d4-0000-0001"))

    assert not credentials_sent(Request(method="POST", url=asked.url, headers=headers))


@pytest.mark.parametrize(
    "text",
    [
        "It costs 12 *** and more ... of it",
        "q7Lx...81mT",
        "the file a...b of 1981mTn***",
        "see above... and below",
    ],
)
def test_a_cut_beside_other_words_stays(text: str) -> None:
    assert text == Parts((KEY,)).sub("***", text)


@pytest.mark.parametrize(
    "name",
    [
        *("key", "api_key", "api-key", "apiKey", "subscription-key", "Subscription-Key", "auth"),
        *("appid", "app_id", "auth_token", "access_token", "token", "X-Amz-Signature", "sig"),
        *("client_secret", "X-Auth", "x-auth-token", "password", "code", "AWSAccessKeyId"),
        *("ocp-apim-subscription-key", "credential", "jwt"),
    ],
)
def test_a_parameter_in_which_credentials_are_sent_is_known(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("page_token", "pageToken", "next_token", "continuation-token", "max_tokens", "author"),
        *("sort_key", "primary-key", "keyword", "keys", "api-version", "alt", "country_code"),
        *("session", "design", "monkey", "passenger", "tokenizer", "deployment"),
    ],
)
def test_a_parameter_that_asks_for_something_counts(name: str) -> None:
    assert not is_secret(name)


def test_an_address_with_a_token_in_it_is_that_of_every_other_token(tmp_path: Path) -> None:
    def asked(token: str) -> Request:
        url = f"https://api.telegram.org/bot123456:{token}/sendMessage"
        return Request(method="POST", url=url, body=b'{"text":"late"}')

    shaping = Shaping()
    one, other = "AAGk3xZ81mTnq7Lw9Zk2pXv81", "AAHj2yA92nUor8Mx0Al3qYw92"

    written = recorded(tmp_path, asked(one), Response(status=200, chunks=(b"{}",)))

    assert one not in written
    assert shaping.shape(asked(one)).key == shaping.shape(asked(other)).key


@pytest.mark.parametrize(
    "location",
    [
        f"https://a.example.com/b?auth_token={quote(KEY)}&c=1",
        f"/b?c=1&subscription-key={quote(KEY)}",
        f"/b?c=1#token={quote(KEY)}",
        "/bot123456:q7LwZ9Zk2pXv81mTnAAABBB/b?c=1",
    ],
)
def test_a_redirect_is_written_without_its_token(tmp_path: Path, location: str) -> None:
    response = Response(status=302, headers=(("Location", location),))

    written = recorded(tmp_path, request(BODY), response)

    assert "q7Lw" not in written
    assert "c=1" in written or "#" in location


@pytest.mark.parametrize("name", ["token", "auth_token", "X-Auth", "auth", "id_token", "apiToken"])
def test_a_token_in_a_reply_stops_the_recording_and_words_that_are_called_tokens_do_not(
    tmp_path: Path, name: str
) -> None:
    secret = json.dumps({"session": {name: "q7Lw9Zk2pXv81mTn0a1b2c3d"}}).encode()
    words = json.dumps({"logprobs": [{name: "late", "logprob": -1}, {name: " transport"}]}).encode()

    recorded(tmp_path / "words", request(BODY), Response(status=200, chunks=(words,)))

    with pytest.raises(CassetteError, match="reply 1: body"):
        recorded(tmp_path / "secret", request(BODY), Response(status=200, chunks=(secret,)))
