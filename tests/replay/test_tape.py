"""What a tape serves: what was recorded, in any order of keys, ids, dates and parallel requests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import linear_pattern
from pytest_sopbench._replay.exchange import (
    BesideTape,
    OutsideTape,
    Recording,
    Request,
    Response,
    Shaping,
    asked_tools,
    read_path,
    show_path,
)
from pytest_sopbench._replay.miss import PATTERNS, advice_on
from pytest_sopbench._replay.run_tape import (
    Mode,
    RunTape,
    active,
    current_tape,
    on_tape,
    switched_on,
)
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


# Which tape a request meets: that of its run, or that of the outside.

T = TypeVar("T")
REQUEST = Request(method="POST", url="https://api.example.com/v1/chat")


def in_a_new_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread that does not know the context of this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=60)


def test_nothing_is_replayed_unless_it_is_switched_on() -> None:
    assert not active()
    assert current_tape() is None


def test_thread_with_the_context_of_its_run_meets_the_tape_of_its_run() -> None:
    outside, tape = OutsideTape("refuse"), OutsideTape("let through")

    with switched_on(outside), on_tape(tape):
        met = in_a_new_thread(partial(copy_context().run, current_tape))

    assert met is tape


def test_thread_that_lost_its_context_meets_no_tape_of_any_run() -> None:
    outside, tape = OutsideTape("refuse"), OutsideTape("let through")

    with switched_on(outside), on_tape(tape):
        met = in_a_new_thread(current_tape)

    assert met is outside
    assert not active()


def test_request_of_a_lost_thread_is_refused_with_what_to_do() -> None:
    outside = OutsideTape("refuse")

    with pytest.raises(MissingRecordingError) as refused:
        in_a_new_thread(lambda: outside.answer(REQUEST))

    assert "POST /v1/chat" in str(refused.value)
    assert "copy_context" in str(refused.value)
    assert outside.seen == 1


def test_request_of_a_lost_thread_goes_out_where_recording_is_on() -> None:
    outside = OutsideTape("let through")

    assert in_a_new_thread(lambda: outside.answer(REQUEST)) is None
    assert outside.seen == 1


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:80"])
def test_test_may_speak_to_its_own_server_in_the_main_thread(host: str) -> None:
    outside = OutsideTape("refuse")

    assert threading.current_thread() is threading.main_thread()
    assert outside.answer(Request(method="GET", url=f"http://{host}/health")) is None
    assert outside.seen == 0


def test_what_a_judge_sends_while_runs_are_recorded_goes_out_and_counts_for_nobody() -> None:
    outside = OutsideTape("let through")

    with switched_on(outside), on_tape(BesideTape(refuses=False)):
        tape = in_a_new_thread(partial(copy_context().run, current_tape))

    assert tape is not None
    assert tape.answer(REQUEST) is None
    assert 0 == outside.seen


def test_what_a_judge_sends_while_runs_are_replayed_is_refused_and_no_run_pays() -> None:
    outside = OutsideTape("refuse")

    with switched_on(outside), on_tape(BesideTape(refuses=True)):
        tape = current_tape()

    assert tape is not None
    with pytest.raises(MissingRecordingError, match="compares or judges"):
        tape.answer(REQUEST)
    assert 0 == outside.seen


# What changes with every run is recognised, and what says something is not.

FIELDS: dict[str, tuple[str, JsonValue, JsonValue]] = {
    "a-moment": ("sent_at", "2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z"),
    "a-moment-with-a-zone": ("at", "2026-01-02 03:04:05.678901+02:00", "2026-01-02 03:04:06+02:00"),
    "a-day": ("metadata.day", "2026-01-02", "2026-02-03"),
    "a-time": ("clock", "03:04:05", "13:04:05"),
    "seconds": ("created", 1_767_322_000, 1_767_322_999),
    "seconds-by-another-name": ("metadata.t0", 1_767_322_000.25, 1_767_322_999.5),
    "a-uuid": (
        "metadata.key",
        "123e4567-e89b-12d3-a456-426614174000",
        "00112233-4455-6677-8899-aabbccddeeff",
    ),
    "hexadecimal": ("trace", "0123456789abcdef", "fedcba9876543210"),
    "a-prefix-and-a-uuid": (
        "metadata.run",
        "run-123e4567-e89b-12d3-a456-426614174000",
        "run-00112233-4455-6677-8899-aabbccddeeff",
    ),
    "a-random-id": ("requestId", "req_a1B2c3D4e5F6", "req_Z9y8X7w6V5u4"),
    "a-counter-in-an-id": ("metadata.request_id", "request-17", "request-18"),
    "a-counter": ("metadata.call_count", 17, 18),
    "in-a-list": ("events[3].event_id", "e-00000001", "e-00000002"),
}
"""Whole fields, which need not agree."""

TEXTS: dict[str, tuple[str, str]] = {
    "a-day": ("Today is 2026-01-02. Grade it.", "Today is 2026-02-03. Grade it."),
    "a-day-in-words": ("It is Friday, 2 January 2026 now", "It is Tuesday, 3 February 2026 now"),
    "an-american-day": ("Date: January 2, 2026", "Date: Feb 13, 2026"),
    "a-day-with-dots": ("Stand: 02.01.2026", "Stand: 3.2.2026"),
    "a-moment": ("now: 2026-01-02T03:04:05Z, go", "now: 2026-01-02T03:05:05.123Z, go"),
    "a-day-and-a-time": ("At 02 January 2026, 13:14:15, go", "At 03 January 2026, 11:14:15, go"),
    "a-uuid": (
        "session 123e4567-e89b-12d3-a456-426614174000 begins",
        "session 00112233-4455-6677-8899-aabbccddeeff begins",
    ),
    "hexadecimal": ("see /tmp/0123456789abcdef/a", "see /tmp/fedcba9876543210/a"),
}
"""Texts of a prompt, in which a pattern is masked and the rest counts."""

SAYS: dict[str, tuple[str, JsonValue, JsonValue]] = {
    "a-word": ("messages[0].content", "Grade it.", "Weigh it."),
    "a-day-and-a-word": ("prompt", "On 2026-01-02 it is late", "On 2026-02-03 it is early"),
    "an-amount": ("messages[3].content", '{"refund": 12}', '{"refund": 120}'),
    "an-order": ("messages[1].content", "order ORD-17", "order ORD-18"),
    "a-number-in-the-talk": ("messages[1].count", 17, 18),
    "a-parameter": ("max_tokens", 64, 128),
    "a-seed": ("seed", 1, 2),
    "a-temperature": ("temperature", 0, 1),
    "a-model": ("model", "small-2026-01-02", "small-2026-02-03b"),
    "a-flag": ("stream", True, False),
    "another-type": ("metadata.id", "17", 17),
    "a-name": ("metadata.user", "Ms. Roe", "Mr. Poe"),
    "a-choice": ("tool_choice", "auto", "none"),
}
"""What a model is told, or is to do: recorded anew, never left out."""


@pytest.mark.parametrize(
    ("path", "recorded", "sent"), [pytest.param(*one, id=name) for name, one in FIELDS.items()]
)
def test_a_field_that_changes_is_ignored_wherever_it_stands(
    path: str, recorded: JsonValue, sent: JsonValue
) -> None:
    advice = advice_on(path, recorded, sent)

    assert advice is not None
    assert re.sub(r"\[\d+\]", "[*]", path) == advice.ignore
    assert () == advice.mask


@pytest.mark.parametrize(
    ("recorded", "sent"), [pytest.param(*one, id=name) for name, one in TEXTS.items()]
)
@pytest.mark.parametrize("path", ["messages[0].content", "system", "input[1].content[0].text"])
def test_what_changes_in_a_prompt_is_masked_by_a_pattern_that_makes_both_equal(
    path: str, recorded: str, sent: str
) -> None:
    advice = advice_on(path, recorded, sent)

    assert advice is not None
    assert "" == advice.ignore
    for pattern in advice.mask:
        recorded = linear_pattern(pattern).sub("***", recorded)
        sent = linear_pattern(pattern).sub("***", sent)
    assert recorded == sent


@pytest.mark.parametrize(
    ("path", "recorded", "sent"), [pytest.param(*one, id=name) for name, one in SAYS.items()]
)
def test_what_says_something_is_never_left_out(
    path: str, recorded: JsonValue, sent: JsonValue
) -> None:
    assert advice_on(path, recorded, sent) is None


def test_the_day_of_a_moment_is_masked_with_its_time() -> None:
    advice = advice_on("prompt", "It is 2 March 2026, 13:14:15.", "It is 2 March 2026, 14:14:15.")

    assert advice is not None
    assert 2 == len(advice.mask)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_that_is_proposed_can_be_set(pattern: str) -> None:
    assert not linear_pattern(pattern).fullmatch("")


# Which tools a reply asks for, in the words of each provider.

CHAT = {"index": 0, "id": "call_1", "type": "function"}
ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weigh"}
TOOL = {"type": "function", "name": "weigh", "parameters": {"properties": {"name": {}}}}


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


def events(*values: Any) -> bytes:
    return b"".join(b"event: x\ndata: " + body(one) + b"\n\n" for one in values) + b"data: [DONE]\n"


def messages(*values: Any) -> bytes:
    """The event stream of AWS; its checksums are for its clients."""
    header = b"\x05:type\x07\x00\x05event"
    framed = ((header, body(one)) for one in values)
    return b"".join(
        (len(head) + len(data) + 16).to_bytes(4) + len(head).to_bytes(4) + b"\n{}\n" + head + data
        + b"crc!" for head, data in framed
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        pytest.param(
            body({"choices": [{"message": {"tool_calls": [
                {**CHAT, "function": {"name": "weigh", "arguments": '{"name": "x"}'}},
                {**CHAT, "id": "call_2", "function": {"name": "label", "arguments": "{}"}},
            ]}}]}), ("weigh", "label"), id="OpenAI, chat",
        ),
        pytest.param(
            events(
                {"choices": [{"delta": {"tool_calls": [
                    {**CHAT, "function": {"name": "weigh", "arguments": ""}}]}}]},
                {"choices": [{"delta": {"tool_calls": [
                    {"index": 0, "function": {"arguments": '{"a'}}]}}]},
                {"choices": [{"delta": {"tool_calls": [
                    {**CHAT, "id": "call_2", "function": {"name": "weigh", "arguments": ""}}]}}]},
            ), ("weigh", "weigh"), id="OpenAI, chat, streamed",
        ),
        pytest.param(
            events(
                {"response": {"id": "resp_1", "tools": [TOOL], "output": []}},
                {"item": {**ITEM, "arguments": ""}},
                {"item_id": "fc_1", "name": "weigh", "arguments": "{}"},
                {"item": {**ITEM, "arguments": "{}"}},
                {"response": {"tools": [TOOL], "output": [{**ITEM, "arguments": "{}"}]}},
            ), ("weigh",), id="OpenAI, responses, streamed",
        ),
        pytest.param(
            body({"id": "msg_1", "content": [
                {"type": "text", "text": "Both."},
                {"type": "tool_use", "id": "t_1", "name": "weigh", "input": {"name": "label"}},
                {"type": "tool_use", "id": "t_2", "name": "label", "input": {}},
            ]}), ("weigh", "label"), id="Anthropic",
        ),
        pytest.param(
            events(
                {"content_block": {"type": "tool_use", "id": "t_1", "name": "weigh", "input": {}}},
                {"delta": {"type": "input_json_delta", "partial_json": '{"name": "label"}'}},
            ), ("weigh",), id="Anthropic, streamed",
        ),
        pytest.param(
            body({"output": {"message": {"content": [
                {"toolUse": {"toolUseId": "t_1", "name": "weigh", "input": {}}},
                {"toolUse": {"toolUseId": "t_2", "name": "weigh", "input": {}}},
            ]}}}), ("weigh", "weigh"), id="Bedrock",
        ),
        pytest.param(
            messages(
                {"start": {"toolUse": {"toolUseId": "t_1", "name": "weigh"}}},
                {"delta": {"toolUse": {"input": '{"name"'}}},
                {"start": {"toolUse": {"toolUseId": "t_2", "name": "label"}}},
            ), ("weigh", "label"), id="Bedrock, streamed",
        ),
        pytest.param(
            body({"candidates": [{"content": {"parts": [
                {"functionCall": {"name": "weigh"}}, {"functionCall": {"name": "weigh", "args": {}}}
            ]}}]}), ("weigh", "weigh"), id="Gemini",
        ),
        pytest.param(
            body({"message": {"tool_calls": [{"function": {"name": "weigh", "arguments": {}}}]}})
            + b"\n" + body({"done": True}), ("weigh",), id="Ollama, streamed",
        ),
        pytest.param(body({"content": "weigh it", "name": "ann"}), (), id="no call"),
        pytest.param(b"\xff\x00 weigh", (), id="no JSON"),
        pytest.param(b"[" * 100_000, (), id="deeper than any reply"),
        pytest.param(b"", (), id="nothing"),
    ],
)  # fmt: skip
def test_tools_that_a_reply_asks_for(sent: bytes, asked: tuple[str, ...]) -> None:
    halves = sent[: len(sent) // 2], sent[len(sent) // 2 :]

    found = asked_tools(Response(status=200, chunks=halves))

    assert asked == found
