"""Cassettes on disk: whole, small, without secrets, and read back as they were written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.hiding import secrets_of
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.values.patterns import linear_pattern
from pytest_sopbench._core.values.text import safe_name
from pytest_sopbench._replay.cassette_lines import (
    BodyWriter,
    TaskPlace,
    cassette_path,
    checksum,
    is_sealed,
    read_body_line,
    read_reply,
    write_reply,
)
from pytest_sopbench._replay.cassettes import Store, survey
from pytest_sopbench._replay.exchange import Recording, Request, Response, Shaping, read_path
from pytest_sopbench._replay.run_tape import RunTape
from pytest_sopbench.errors import CassetteError, MissingRecordingError

from .conftest import SOP, conversation, reply, request

PLACE = TaskPlace("mypkg:agent", "parcels", "P_1")


def recording_of(
    exchanges: list[tuple[Request, Response]], shaping: Shaping | None = None
) -> Recording:
    tape = RunTape("record", Recording(), shaping or Shaping())
    for sent, got in exchanges:
        tape.answer(sent)
        tape.keep(sent, got)
    usage = Usage(input_tokens=12_000, output_tokens=80, cost_usd=0.01)
    return Recording(
        exchanges=tape.taken.exchanges, recorded="2026-10-12T08:00:00+00:00", usage=usage
    )


def kept(store: Store, recording: Recording, trial: int = 1, trials: int = 1) -> None:
    store.keep(PLACE, trial, recording, trials=trials, texts=[SOP])


def written(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield path.read_text("ascii")


def test_recording_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    recording = recording_of(conversation(4))

    kept(Store(tmp_path), recording)

    found = Store(tmp_path).load(PLACE)
    assert found.place == PLACE
    assert [one.key for one in found.trials[1].exchanges] == [
        one.key for one in recording.exchanges
    ]
    assert [one.shape for one in found.trials[1].exchanges] == [
        one.shape for one in recording.exchanges
    ]
    assert found.trials[1].usage == recording.usage
    assert found.trials[1].models == ("small-1",)


def test_reread_recording_serves_the_conversation(tmp_path: Path) -> None:
    exchanges = conversation(4)
    kept(Store(tmp_path), recording_of(exchanges))

    tape = RunTape("only", Store(tmp_path).load(PLACE).trials[1], Shaping())
    served = [tape.answer(sent) for sent, _ in exchanges]

    bodies = [json.loads(one.body) for one in served if one is not None]
    assert bodies == [json.loads(got.body) for _, got in exchanges]


def test_task_of_four_turns_over_a_long_sop_takes_at_most_6_kb(tmp_path: Path) -> None:
    assert len(SOP) > 10_000
    kept(Store(tmp_path), recording_of(conversation(4)))

    assert cassette_path(tmp_path, PLACE).stat().st_size <= 6_000


def test_tasks_share_the_texts_that_every_request_repeats(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for task in ("P_1", "P_2", "P_3"):
        place = PLACE._replace(task=task)
        store.keep(place, 1, recording_of(conversation(2, task)), trials=1, texts=[SOP])

    shared = list((tmp_path / safe_name(PLACE.agent) / "parcels" / "shared").iterdir())

    assert len(shared) == 2
    assert sum("weigh the parcel" in text for text in written(tmp_path)) == 1


def test_same_recording_gives_the_same_lines(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        kept(Store(tmp_path / folder), recording_of(conversation(3)))

    assert [*written(tmp_path / "one")] == [*written(tmp_path / "two")]


TEXTS = st.text(max_size=30) | st.just(SOP[:900]) | st.just("x" * 500)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda one: (
        st.lists(one, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$shared", "$parts", "$raw", "role", "text"]), one, max_size=3
        )
    ),
    max_leaves=12,
)
BODIES = st.dictionaries(
    st.sampled_from(["messages", "input", "system", "tools", "model", "prompt"]), VALUES, max_size=4
)


@given(st.lists(BODIES | VALUES, max_size=5))
def test_bodies_are_read_back_as_they_were_written(bodies: list[Any]) -> None:
    shared: dict[str, Any] = {}

    def put(value: Any) -> str:
        name = json.dumps(value, sort_keys=True)
        shared[name] = value
        return name

    writer = BodyWriter(put, [SOP[:900]])
    lines = [json.loads(json.dumps(writer.write(body))) for body in bodies]

    found: list[Any] = []
    for line in lines:
        found.append(read_body_line(line, found, shared.__getitem__))
    assert json.dumps(found, sort_keys=True) == json.dumps(bodies, sort_keys=True)


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=5))
def test_stream_keeps_its_chunks(chunks: list[bytes]) -> None:
    response = Response(status=200, chunks=(b"event", *chunks))

    assert read_reply(json.loads(json.dumps(write_reply(response)))) == response


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_character_that_two_chunks_share_comes_back_byte_by_byte(tmp_path: Path, cut: int) -> None:
    """Of four bytes; each half alone is no text."""
    said = "data: \N{GRINNING FACE}\n\n".encode()
    chunks = said[: len("data: ") + cut], said[len("data: ") + cut :]
    sent = request({"stream": True})
    recording = recording_of([(sent, Response(status=200, chunks=chunks))])

    kept(Store(tmp_path), recording)

    found = Store(tmp_path).load(PLACE).trials[1]
    served = RunTape("only", found, Shaping()).answer(sent)
    assert served is not None
    assert chunks == served.chunks


@pytest.mark.parametrize(
    ("location", "written"),
    [
        pytest.param("https://eu.provider.example/v1/chat?v=2", "/v1/chat?v=2", id="absolute"),
        pytest.param("/v1/chat?a=%20b&key=sk-1&v=2", "/v1/chat?a=%20b&v=2", id="key"),
        pytest.param("//provider.example", "/", id="host-alone"),
        pytest.param("chat", "chat", id="relative"),
        pytest.param("http://[::1/v1", "", id="no-address"),
    ],
)
def test_redirect_is_kept_without_host_and_keys(location: str, written: str) -> None:
    headers = (("Location", location), ("Set-Cookie", "a=b"))

    line = write_reply(Response(status=307, headers=headers))

    assert {"location": written} == line["headers"]


def test_trials_lie_in_one_file_and_those_of_before_go(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for trial in (1, 2, 3):
        kept(store, recording_of(conversation(trial)), trial, trials=3)
    kept(store, recording_of(conversation(4)), 1, trials=2)

    trials = Store(tmp_path).load(PLACE).trials

    assert {number: len(one.exchanges) for number, one in trials.items()} == {1: 4, 2: 2}


def test_recording_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    kept(store, recording_of(conversation(2)))
    before = [*written(tmp_path)]
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "disk full")))

    with pytest.raises(CassetteError, match="disk full"):
        kept(store, recording_of(conversation(3)))

    assert [*written(tmp_path)] == before


@pytest.mark.parametrize(
    "name",
    [".", "..", "../../etc/passwd", "a/b", "a\\b", "", "CON", "nul.txt", "P 1", "x" * 300, "é:ü"],
)
def test_hostile_names_stay_below_the_folder(tmp_path: Path, name: str) -> None:
    place = TaskPlace(name, name, name)

    Store(tmp_path).keep(place, 1, recording_of(conversation(1)), trials=1)

    path = cassette_path(tmp_path, place).resolve()
    assert path.is_file()
    assert path.parent.parent.parent == tmp_path.resolve()
    assert Store(tmp_path).load(place).trials.keys() == {1}


@given(st.text(max_size=120), st.text(max_size=120))
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)


PLANTED = "".join
SECRETS = {
    "openai": PLANTED(("sk-", "abcDEF0123456789abcd")),
    "openai-project": PLANTED(("sk-", "proj-abcDEF0123456789_-abcd")),
    "anthropic": PLANTED(("sk-", "ant-api03-abcDEF0123456789")),
    "aws": PLANTED(("AKIA", "IOSFODNN7EXAMPLE")),
    "aws-session": PLANTED(("ASIA", "IOSFODNN7EXAMPLE")),
    "aws-secret": PLANTED(("aws_secret_access_key=", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")),
    "google": PLANTED(("AIza", "SyA0123456789abcdefghijklmnopqrstu")),
    "google-token": PLANTED(("ya29.", "a0AfH6SMBx0123456789abc")),
    "github": PLANTED(("ghp_", "0123456789abcdefghijABCDEFGHIJ012345")),
    "github-fine": PLANTED(("github_pat_", "0123456789abcdefghij_ABCDEFGH")),
    "gitlab": PLANTED(("glpat-", "0123456789abcdefghij")),
    "slack": PLANTED(("xoxb-", "123456789012-abcdefABCDEF")),
    "stripe": PLANTED(("sk_live_", "0123456789abcdefABCDEF")),
    "hugging-face": PLANTED(("hf_", "abcdefghijABCDEFGHIJ0123456789")),
    "groq": PLANTED(("gsk_", "abcdefghijABCDEFGHIJ0123456789")),
    "npm": PLANTED(("npm_", "abcdefghijABCDEFGHIJ0123456789012345")),
    "sendgrid": PLANTED(("SG.", "abcdefghijABCDEFGHIJ01.0123456789abcdefghij")),
    "jwt": PLANTED(("eyJhbGciOiJIUzI1NiJ9", ".", "eyJzdWIiOiIxMjM0In0", ".", "c2lnbmF0dXJl")),
    "private-key": PLANTED(("-----BEGIN RSA ", "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA")),
    "bearer": PLANTED(("Bearer ", "0a1b2c3d4e5f60718293")),
    "password": PLANTED(("password=", "hunter2hunter2")),
    "url": PLANTED(("postgres://", "roe:s3cr3tpw@db.example.com/x")),
    "azure": PLANTED(("AccountKey=", "abcdefghijABCDEFGHIJ0123456789==")),
}
WAYS = {
    "prompt": lambda one: (request({"messages": [{"content": f"use {one} for it"}]}), reply({})),
    "nested": lambda one: (request({"a": json.dumps({"b": f"x\n{one}"})}), reply({})),
    "key": lambda one: (request({"a": {one: 1}}), reply({})),
    "base64": lambda one: (
        request({"a": base64.b64encode(f"say {one} now".encode()).decode()}),
        reply({}),
    ),
    "reply": lambda one: (request({}), reply({"content": f"it is {one}"})),
    "reply-text": lambda one: (request({}), Response(status=200, chunks=(f"<{one}>".encode(),))),
    "stream": lambda one: (
        request({}),
        Response(
            status=200,
            chunks=tuple(
                b"data: " + json.dumps({"delta": {"content": part}}).encode() + b"\n\n"
                for part in (one[:5], one[5:9], one[9:])
            ),
        ),
    ),
    "request-id": lambda one: (
        request({}),
        Response(status=200, headers=(("x-request-id", one),), chunks=(b"{}",)),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SECRETS)
def test_credential_that_nobody_named_is_never_written(tmp_path: Path, kind: str, way: str) -> None:
    secret = SECRETS[kind]

    with pytest.raises(CassetteError, match=r"not recorded: .* holds what looks like") as refused:
        kept(Store(tmp_path), recording_of([WAYS[way](secret)]))

    assert not [*tmp_path.rglob("*")]
    assert secret not in str(refused.value)


@pytest.mark.parametrize("kind", SECRETS)
def test_credential_in_headers_or_as_key_of_a_query_is_left_out(tmp_path: Path, kind: str) -> None:
    secret = SECRETS[kind]
    sent, got = conversation(1)[0]
    sent = replace(
        sent,
        headers=(("authorization", secret), ("x-api-key", secret), ("cookie", secret)),
        url=f"{sent.url}?key={secret}&X-Amz-Signature={secret}",
    )
    got = replace(got, headers=(*got.headers, ("set-cookie", secret), ("x-other", secret)))

    kept(Store(tmp_path), recording_of([(sent, got)]))

    assert not any(secret in text for text in written(tmp_path))


def test_named_secret_is_masked_in_requests_and_replies_and_still_found(tmp_path: Path) -> None:
    redaction = Redaction(patterns=(linear_pattern("Ms\\. Roe"),))
    shaping = Shaping(mask=redaction.value)
    exchanges = conversation(3)
    exchanges[-1] = (exchanges[-1][0], reply({"content": "for Ms. Roe"}))

    kept(Store(tmp_path, shaping), recording_of(exchanges, shaping))

    tape = RunTape("only", Store(tmp_path, shaping).load(PLACE).trials[1], shaping)
    served = [tape.answer(sent) for sent, _ in exchanges]
    assert not any("Roe" in text for text in written(tmp_path))
    assert served[-1] is not None
    assert json.loads(served[-1].body) == {"content": "for ***"}


def test_named_secret_across_the_pieces_of_a_stream_is_not_written(tmp_path: Path) -> None:
    redaction = Redaction(patterns=(linear_pattern("Ms\\. Roe"),))
    shaping = Shaping(mask=redaction.value)
    exchange = (request({}), Response(status=200, chunks=(b"for Ms. ", b"Roe")))

    with pytest.raises(CassetteError, match="across the pieces"):
        kept(Store(tmp_path, shaping), recording_of([exchange], shaping))


def test_named_secret_in_the_events_of_a_stream_is_not_written(tmp_path: Path) -> None:
    """No event has all of it, and whoever reads them one after the other has."""
    redaction = Redaction(secrets=secrets_of(["pq-1234567890"]))
    shaping = Shaping(mask=redaction.value)
    pieces = ("the key is pq-12", "3456", "7890.")
    chunks = [f"data: {json.dumps({'delta': {'text': one}})}\n\n".encode() for one in pieces]
    exchange = (request({}), Response(status=200, chunks=tuple(chunks)))

    with pytest.raises(CassetteError, match="across the pieces"):
        kept(Store(tmp_path, shaping), recording_of([exchange], shaping))


def test_named_secret_with_a_sign_that_parts_a_query_is_masked_whole(tmp_path: Path) -> None:
    shaping = Shaping(mask=Redaction(secrets=secrets_of(["pq-1234&k=567890"])).value)
    exchange = (
        replace(request({}), url="http://host/v1?about=pq-1234&k=567890&n=1"),
        reply({"content": "x"}),
    )

    kept(Store(tmp_path, shaping), recording_of([exchange], shaping))

    assert not any("1234" in text or "5678" in text for text in written(tmp_path))


def test_other_ignored_paths_make_the_keys_anew(tmp_path: Path) -> None:
    kept(Store(tmp_path), recording_of(conversation(2, user="roe")))
    shaping = Shaping(ignored=(read_path("user"),))

    tape = RunTape("only", Store(tmp_path, shaping).load(PLACE).trials[1], shaping)

    assert all(tape.answer(sent) for sent, _ in conversation(2, user="doe"))


def test_other_patterns_make_the_keys_anew_and_stand_in_the_recording(tmp_path: Path) -> None:
    def of_a_day(day: str) -> list[tuple[Request, Response]]:
        return conversation(2, task=f"P_1 of {day}", note=f"asked on {day}")

    dates = Shaping(changing=(linear_pattern(r"\d{4}-\d{2}-\d{2}"),))
    kept(Store(tmp_path / "before"), recording_of(of_a_day("2026-01-02")))
    kept(Store(tmp_path / "with", dates), recording_of(of_a_day("2026-01-02"), dates))

    for folder in ("before", "with"):
        recording = Store(tmp_path / folder, dates).load(PLACE).trials[1]
        tape = RunTape("only", recording, dates)
        assert all(tape.answer(sent) for sent, _ in of_a_day("2026-02-03"))
    text = "".join(path.read_text() for path in (tmp_path / "with").rglob("*.jsonl"))
    assert "masked" in text
    assert "2026-01-02" not in text.partition('"reply"')[0]
    with pytest.raises(MissingRecordingError):
        RunTape("only", recording, dates).answer(request({"note": "another one"}))


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        pytest.param(lambda text: text[:-200], "line 4", id="cut"),
        pytest.param(lambda text: text.rsplit("\n", 2)[0] + "\n", "ends before", id="line-gone"),
        pytest.param(
            lambda text: text.replace('"cassette":1', '"cassette":9'), "version 1", id="v"
        ),
        pytest.param(lambda _: "", "version 1", id="empty"),
        pytest.param(lambda text: text.replace('"reply"', '"rely"'), "reply", id="key-gone"),
        pytest.param(lambda text: text.replace("P_1", "P_2", 1), "and not of", id="renamed"),
        pytest.param(
            lambda text: text + text.split("\n", 1)[1], "line 5: trial 1 stands twice", id="both"
        ),
        pytest.param(lambda text: text.replace('"like":1', '"like":7'), "like=7", id="like"),
    ],
)
def test_damaged_file_is_named_with_its_line(tmp_path: Path, damage: Any, told: str) -> None:
    kept(Store(tmp_path), recording_of(conversation(2)))
    path = cassette_path(tmp_path, PLACE)
    path.write_text(damage(path.read_text()))

    with pytest.raises(CassetteError, match=told) as refused:
        Store(tmp_path).load(PLACE)

    assert path.name in str(refused.value)
    assert "record" in refused.value.hint


@pytest.mark.parametrize("is_there", [True, False])
def test_shared_text_that_was_changed_or_lost_is_named(tmp_path: Path, *, is_there: bool) -> None:
    kept(Store(tmp_path), recording_of(conversation(2)))
    for path in tmp_path.rglob("shared/*.json"):
        if is_there:
            path.write_text(path.read_text().replace("weigh", "measure"))
        else:
            path.unlink()

    with pytest.raises(CassetteError, match="a recording needs it"):
        Store(tmp_path).load(PLACE)


@pytest.mark.parametrize("body", [b"", b"null", b"[1, 2]", b'"text"', b"plain", b"\xff\xfe", b"0"])
def test_body_of_every_kind_is_read_back(tmp_path: Path, body: bytes) -> None:
    recording = recording_of([(replace(request({}), body=body), reply({}))])

    kept(Store(tmp_path), recording)

    (found,) = Store(tmp_path).load(PLACE).trials[1].exchanges
    assert found.shape == recording.exchanges[0].shape
    assert found.key == found.shape.key


def changed(folder: Path, change: Callable[[str], str]) -> None:
    path = cassette_path(folder, PLACE)
    before = path.read_bytes().decode()
    assert change(before) != before
    path.write_bytes(change(before).encode())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace('"status":200', '"status":500', 1), id="reply"),
        pytest.param(lambda text: text.replace("2026-10-12", "2026-11-12"), id="day"),
        pytest.param(lambda text: text.replace('"input_tokens":12000', '"input_tokens":1'), id="u"),
        pytest.param(lambda text: re.sub('"crc":"........"', '"crc":7', text), id="checksum"),
    ],
)
def test_recording_that_was_changed_by_hand_is_not_served(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    kept(Store(tmp_path), recording_of(conversation(2)))
    changed(tmp_path, change)

    with pytest.raises(CassetteError, match="trial 1: changed since it was recorded") as refused:
        Store(tmp_path).load(PLACE)

    assert "--sop-replay=record" in refused.value.hint


def written_anew(text: str) -> str:
    values = map(json.loads, text.splitlines())
    return "".join(f"{json.dumps(one, ensure_ascii=False)} \n" for one in values)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="line ends"),
        pytest.param(written_anew, id="space and characters"),
    ],
)
def test_recording_that_says_the_same_is_served(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    kept(Store(tmp_path), recording_of(conversation(2, "Käfer")))
    before = Store(tmp_path).load(PLACE).trials
    changed(tmp_path, change)

    assert Store(tmp_path).load(PLACE).trials == before
    (trial,) = survey(cassette_path(tmp_path, PLACE)).seals.values()
    assert trial


def test_recording_without_a_checksum_is_not_served(tmp_path: Path) -> None:
    kept(Store(tmp_path), recording_of(conversation(2)))
    changed(tmp_path, lambda text: re.sub('"crc":"........",', "", text))

    with pytest.raises(CassetteError, match="its checksum is missing or does not fit"):
        Store(tmp_path).load(PLACE)


@given(st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=4))
def test_checksum_fits_what_was_written_and_nothing_else(bodies: list[Any]) -> None:
    told: dict[str, Any] = {"trial": 1, "requests": len(bodies)}
    sealed = [json.dumps(body, separators=(",", ":")).encode() for body in bodies]
    told["crc"] = checksum(told, sealed)

    assert is_sealed(told, [json.dumps(body).encode() for body in bodies])
    assert not is_sealed(told, [*sealed, b"{}"])
    assert not is_sealed({**told, "trial": 2}, sealed)
