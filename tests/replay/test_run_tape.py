"""What a tape serves: what was recorded, in any order of keys, ids, dates and parallel requests."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._replay.tape.exchange import (
    Recording,
    Request,
    Response,
    Shaping,
    read_path,
    show_path,
)
from pytest_sopbench._replay.tape.run_tape import Mode, RunTape
from pytest_sopbench.errors import MissingRecordingError

from .conftest import conversation, reply, request

URL = "https://api.example.com/v1/chat"


def recorded(
    exchanges: list[tuple[Request, Response]], shaping: Shaping | None = None
) -> Recording:
    tape = RunTape("record", Recording(), shaping or Shaping())
    for sent, got in exchanges:
        assert tape.answer(sent) is None
        tape.keep(sent, got)
    return Recording(exchanges=tape.taken.exchanges, recorded="2026-10-12T08:00:00Z")


def tape_of(
    exchanges: list[tuple[Request, Response]], mode: Mode = "only", shaping: Shaping | None = None
) -> RunTape:
    shaping = shaping or Shaping()
    return RunTape(mode, recorded(exchanges, shaping), shaping)


def missed(tape: RunTape, sent: Request) -> str:
    with pytest.raises(MissingRecordingError) as refused:
        tape.answer(sent)
    return str(refused.value)


def test_conversation_is_served_as_it_was_recorded() -> None:
    exchanges = conversation(4)
    tape = tape_of(exchanges)

    served = [tape.answer(sent) for sent, _ in exchanges]

    assert served == [got for _, got in exchanges]
    assert tape.taken.served == 4
    assert tape.taken.miss is None


@given(st.permutations(range(6)))
def test_parallel_requests_are_served_in_any_order(order: list[int]) -> None:
    exchanges = [(request({"n": n}), reply({"got": n})) for n in range(6)]
    tape = tape_of(exchanges)

    assert all(tape.answer(exchanges[n][0]) == exchanges[n][1] for n in order)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_equal_requests_are_served_in_their_recorded_order(which: list[int]) -> None:
    exchanges = [(request({"n": n}), reply({"at": at})) for at, n in enumerate(which)]
    tape = tape_of(exchanges)

    assert [tape.answer(sent) for sent, _ in exchanges] == [got for _, got in exchanges]
    assert "sent more often" in missed(tape, exchanges[0][0])


def test_64_threads_get_each_reply_once() -> None:
    exchanges = [(request({"n": n % 8}), reply({"at": n})) for n in range(64)]
    tape = tape_of(exchanges)
    asked = [*reversed(exchanges)]

    with ThreadPoolExecutor(64) as pool:
        served = list(pool.map(lambda one: tape.answer(one[0]), asked))

    bodies = [one.body for one in served if one is not None]
    assert sorted(bodies) == sorted(got.body for _, got in exchanges)
    pairs = zip(asked, bodies, strict=True)
    assert all(
        json.loads(sent.body)["n"] == json.loads(body)["at"] % 8 for (sent, _), body in pairs
    )


def sent_otherwise(**changes: Any) -> Request:
    body = json.loads(request({"a": 1, "b": [2, {"c": "x"}]}).body)
    return replace(request({**body, **changes}), url=URL)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(replace(sent_otherwise(), url="http://127.0.0.1:4/v1/chat"), id="host"),
        pytest.param(replace(sent_otherwise(), url=f"{URL}?key=abc"), id="key-in-query"),
        pytest.param(replace(sent_otherwise(), headers=(("idempotency-key", "9"),)), id="headers"),
        pytest.param(replace(sent_otherwise(), body=b'{"b":[2,{"c":"x"}],\n"a":1}'), id="order"),
        pytest.param(replace(sent_otherwise(), body=b'{"a":1,"b":[2,{"c":"\\u0078"}]}'), id="utf"),
        pytest.param(sent_otherwise(a=1.0), id="number"),
    ],
)
def test_what_does_not_count_is_found_all_the_same(sent: Request) -> None:
    tape = tape_of([(sent_otherwise(), reply({}))])

    assert tape.answer(sent) is not None


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        pytest.param(sent_otherwise(a=2), "a", id="number"),
        pytest.param(sent_otherwise(a=True), "a", id="true-is-not-one"),
        pytest.param(sent_otherwise(b=[2, {"c": "y"}]), "b[1].c", id="text"),
        pytest.param(sent_otherwise(b=[2]), "b[1]", id="shorter"),
        pytest.param(sent_otherwise(z=0), "z", id="one-more-key"),
        pytest.param(sent_otherwise(z={"y": {"x": 0}}), "z.y.x", id="one-more-key-within"),
        pytest.param(sent_otherwise(z={"y": 0, "x": 0}), "z", id="two-more-keys-within"),
        pytest.param(replace(sent_otherwise(), method="PUT"), "path", id="method"),
        pytest.param(replace(sent_otherwise(), url=f"{URL}s"), "path", id="path"),
        pytest.param(replace(sent_otherwise(), url=f"{URL}?v=2"), "query.v", id="query"),
    ],
)
def test_what_counts_is_a_miss_that_names_its_path(sent: Request, path: str) -> None:
    tape = tape_of([(sent_otherwise(), reply({}))])

    told = missed(tape, sent)

    assert f"{path} differs" in told
    assert tape.taken.miss is not None
    assert tape.taken.miss.path == path
    assert len(told.splitlines()) <= 6


IDS = st.text("abcdef0123456789-_", min_size=1, max_size=12)


def with_ids(first: str, second: str, result_of: str) -> Request:
    calls = [{"id": one, "type": "function", "function": {"name": "t"}} for one in (first, second)]
    result = {"role": "tool", "tool_call_id": result_of, "content": "1 kg"}
    return request({"messages": [{"role": "assistant", "tool_calls": calls}, result]})


@given(st.lists(IDS, min_size=2, max_size=2, unique=True), st.integers(0, 1))
def test_generated_ids_count_by_what_they_name_alone(ids: list[str], place: int) -> None:
    tape = tape_of([(with_ids("call_1", "call_2", "call_1"), reply({}))])
    sent = with_ids(ids[0], ids[1], ids[place])

    if place == 0:
        assert tape.answer(sent) is not None
    else:
        assert "tool_call_id differs" in missed(tape, sent)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"input": {"id": "C-17", "type": "claim"}}, id="arguments-of-a-tool"),
        pytest.param({"content": [{"json": {"id": "C-17", "type": "claim"}}]}, id="result"),
        pytest.param({"tools": [{"type": "x", "id": "C-17"}]}, id="specs"),
        pytest.param({"customer": {"id": "C-17", "name": "Roe"}}, id="plain"),
    ],
)
def test_ids_in_content_count(body: dict[str, Any]) -> None:
    tape = tape_of([(request(body), reply({}))])

    assert "differs" in missed(tape, request(json.loads(json.dumps(body).replace("17", "18"))))


def test_changed_prompt_is_shown_around_its_first_difference() -> None:
    exchanges = conversation(3)
    tape = tape_of(exchanges)
    sent = exchanges[0][0]
    changed = replace(sent, body=sent.body.replace(b"Step 7: weigh the", b"Step 7: measure the"))

    told = missed(tape, changed)

    assert told.splitlines() == [
        "messages[0].content differs at character 351:",
        '  recorded  "... down.\\nStep 7: weigh the parcel, and write its weight ..."',
        '  sent      "... down.\\nStep 7: measure the parcel, and write its weig ..."',
        "in request 1 of the run, POST /v1/chat/completions",
        "nearest: recorded request 1 of 3, of 2026-10-12; 1 of 2 messages agree",
        "if it should differ, record anew: --sop-replay=record; what is missing alone: auto",
    ]


def test_changed_tool_result_is_found_in_the_nearest_request() -> None:
    exchanges = conversation(4)
    tape = tape_of(exchanges)
    sent = exchanges[2][0]

    told = missed(tape, replace(sent, body=sent.body.replace(b"2 kg", b"3 kg")))

    assert "recorded request 3 of 4" in told
    assert "messages[5].content differs:" in told


def test_one_more_turn_is_named_by_its_place() -> None:
    tape = tape_of(conversation(2))

    told = missed(tape, conversation(4)[2][0])

    assert "recorded request 2 of 2" in told
    assert "messages[4] differs" in told
    assert "recorded  nothing" in told


@pytest.mark.parametrize(
    ("name", "value"), [("model", "small-2"), ("temperature", 0.2), ("max_tokens", 64)]
)
def test_other_model_or_parameter_is_named(name: str, value: object) -> None:
    tape = tape_of(conversation(2, temperature=0, max_tokens=32))
    body = json.loads(conversation(2, temperature=0, max_tokens=32)[0][0].body)

    told = missed(tape, request({**body, name: value}))

    assert told.startswith(f"{name} differs")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("/model/{}/converse", id="bedrock"),
        pytest.param("/v1beta/models/{}:generateContent", id="google"),
        pytest.param("/openai/deployments/{}/chat/completions", id="azure"),
    ],
)
def test_other_model_in_the_path_is_named_as_in_a_body(path: str) -> None:
    url = f"https://provider.example{path}"
    asked = Request(method="POST", url=url.format("small-1"), body=b'{"a":1}')
    tape = tape_of([(asked, reply(1))])

    told = missed(tape, replace(asked, url=url.format("small-2"))).splitlines()

    miss = tape.taken.miss
    assert miss is not None
    assert "model" == miss.path
    assert ('  recorded  "small-1"', '  sent      "small-2"') == (told[1], told[2])
    assert 6 >= len(told)


def test_run_without_any_recording_says_so() -> None:
    tape = RunTape("only", Recording(), Shaping())

    assert "nothing is recorded" in missed(tape, request({}))
    assert tape.taken.miss is not None
    assert tape.taken.miss.path == "nothing is recorded"


def test_first_miss_explains_the_run() -> None:
    tape = tape_of([(request({"a": 1}), reply({}))])

    first, second = missed(tape, request({"a": 2})), missed(tape, request({"b": 2}))

    assert first == second
    assert tape.taken.misses == 2


def test_auto_serves_what_is_recorded_and_takes_the_rest() -> None:
    exchanges = conversation(3)
    tape = tape_of(exchanges[:2], "auto")

    served = [tape.answer(sent) for sent, _ in exchanges]
    tape.keep(*exchanges[2])

    assert served == [exchanges[0][1], exchanges[1][1], None]
    assert (tape.taken.served, tape.taken.live) == (2, 1)
    assert [one.response for one in tape.taken.exchanges] == [got for _, got in exchanges]


def test_record_serves_nothing_and_keeps_the_order_of_requests() -> None:
    exchanges = conversation(2)
    tape = tape_of(exchanges, "record")

    assert [tape.answer(sent) for sent, _ in exchanges] == [None, None]
    tape.keep(*exchanges[1])
    tape.keep(*exchanges[0])

    assert [one.response for one in tape.taken.exchanges] == [got for _, got in exchanges]


def test_failure_before_a_better_reply_is_not_kept() -> None:
    sent, busy = request({}), Response(status=429)
    tape = RunTape("record", Recording(), Shaping())

    for got in (busy, reply({"ok": True})):
        tape.answer(sent)
        tape.keep(sent, got)

    assert [one.response.status for one in tape.taken.exchanges] == [200]


def test_lost_request_is_not_kept() -> None:
    sent = request({})
    tape = RunTape("record", Recording(), Shaping())

    tape.answer(sent)
    tape.lost(sent, ConnectionError())

    assert tape.taken.lost == 1
    assert not tape.taken.exchanges


@pytest.mark.parametrize("path", ["metadata.run", "messages[*].name", "messages[0].content"])
def test_ignored_paths_do_not_count(path: str) -> None:
    shaping = Shaping(ignored=(read_path(path),))
    one, other = (
        request({"metadata": {"run": n, "x": 1}, "messages": [{"name": n, "content": n}]})
        for n in ("a", "b")
    )
    three = {"metadata.run", "messages[*].name", "messages[0].content"}
    every = Shaping(ignored=tuple(map(read_path, sorted(three))))

    assert tape_of([(one, reply({}))], shaping=every).answer(other) is not None
    assert path not in missed(tape_of([(one, reply({}))], shaping=shaping), other)


@pytest.mark.parametrize("text", ["", ".a", "a..b", "a[", "a[x]", "a b", "[1"])
def test_path_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a path of JSON expected"):
        read_path(text)


@pytest.mark.parametrize("text", ["a", "a.b", "a[0].b", "a[0][1]", "a.*.b"])
def test_path_is_shown_as_it_is_written(text: str) -> None:
    assert show_path(read_path(text)) == text


@pytest.mark.parametrize("body", [b"", b"plain", b"\xff\x00", b"{broken", b"[" * 100_000])
def test_body_that_is_no_json_is_served_too(body: bytes) -> None:
    sent = Request(method="POST", url=URL, body=body)

    assert tape_of([(sent, reply({}))]).answer(sent) is not None
