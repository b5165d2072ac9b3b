"""What agents return, in every supported shape and in many others."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from pytest_sopbench import OutputField
from tests.builders.judged import FieldType, ReturnedKind, Usage, find_answer, read_returned

TEXT = ReturnedKind.TEXT
MAPPING = ReturnedKind.MAPPING


class Reply(BaseModel):
    berth: str
    score: int = 1


class Pair(NamedTuple):
    berth: str
    score: int


@dataclasses.dataclass
class Result:
    output: object = None
    success: object = True
    error: object = None
    usage: object = None
    messages: object = None


USER = {"role": "user", "content": "question"}
TOOL = {"role": "tool", "content": "tool result"}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("said", "said", id="text"),
        pytest.param(b"said", "said", id="bytes"),
        pytest.param(bytearray(b"said"), "said", id="bytearray"),
        pytest.param(["one", "two"], "one\ntwo", id="texts"),
        pytest.param(("one", "two"), "one\ntwo", id="tuple-of-texts"),
        pytest.param([{"type": "text", "text": "one"}, {"text": "two"}], "one\ntwo", id="blocks"),
        pytest.param(
            [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "one"}, {"toolUse": 1}],
            "one",
            id="blocks-without-thought",
        ),
        pytest.param([USER, {"role": "assistant", "content": "said"}, TOOL], "said", id="messages"),
        pytest.param(
            {"messages": [USER, {"role": "assistant", "content": "said"}]}, "said", id="state"
        ),
        pytest.param(
            {"messages": [{"type": "ai", "content": [{"type": "text", "text": "said"}]}]},
            "said",
            id="state-with-blocks",
        ),
        pytest.param({"output": "said"}, "said", id="mapping-with-output"),
        pytest.param({"output": ["said", "so"], "steps": 3}, "said\nso", id="output-in-blocks"),
        pytest.param(Result("said"), "said", id="dataclass-with-output"),
        pytest.param(SimpleNamespace(output="said"), "said", id="object-with-output"),
        pytest.param(SimpleNamespace(output=Result("said")), "said", id="output-of-output"),
    ],
)
def test_a_text_is_unwrapped(value: object, text: str) -> None:
    returned = read_returned(value)

    assert (TEXT, text) == (returned.kind, returned.text)
    assert returned.declared_error is None


@pytest.mark.parametrize(
    "last",
    [
        pytest.param({"content": None, "tool_calls": [{"id": "1"}]}, id="asks-for-a-tool"),
        pytest.param({"content": [{"toolUse": {}}]}, id="blocks-of-a-call"),
        pytest.param({"content": "", "refusal": "I cannot help."}, id="refuses"),
        pytest.param({"content": []}, id="says-nothing"),
        pytest.param({"role": "bot", "content": "decline"}, id="role-of-its-own"),
        pytest.param("decline", id="bare-text"),
        pytest.param({"type": "text", "text": "decline"}, id="block"),
        pytest.param(SimpleNamespace(role="assistant", content="decline"), id="object"),
    ],
)
@pytest.mark.parametrize("wrap", [list, lambda messages: {"messages": messages}])
def test_what_an_assistant_said_before_its_last_message_is_no_answer(last: Any, wrap: Any) -> None:
    said = {"role": "assistant", "content": "<decision>refund</decision>", "tool_calls": [{}]}
    is_assistant = isinstance(last, dict) and {"role", "type"}.isdisjoint(last)
    message = {"role": "assistant", **last} if is_assistant else last
    returned = read_returned(wrap([USER, said, TOOL, message]))

    answer = find_answer(returned, (OutputField(name="decision", type=FieldType.TEXT),))

    assert not answer.complete
    assert answer.why.startswith("the last assistant message has no text")


@pytest.mark.parametrize(
    ("value", "mapping"),
    [
        pytest.param({"berth": "N"}, {"berth": "N"}, id="mapping"),
        pytest.param({}, {}, id="empty-mapping"),
        pytest.param(Reply(berth="N"), {"berth": "N", "score": 1}, id="model"),
        pytest.param(Pair("N", 1), {"berth": "N", "score": 1}, id="named-tuple"),
        pytest.param(SimpleNamespace(output={"berth": "N"}), {"berth": "N"}, id="object-output"),
        pytest.param(
            SimpleNamespace(output=Reply(berth="N")), {"berth": "N", "score": 1}, id="model-output"
        ),
    ],
)
def test_a_mapping_is_an_answer(value: object, mapping: dict[str, Any]) -> None:
    returned = read_returned(value)

    assert (MAPPING, mapping, "") == (returned.kind, returned.mapping, returned.text)


def test_the_output_of_a_mapping_stands_beside_what_wraps_it() -> None:
    returned = read_returned({"output": {"berth": "N"}, "berth": "S"})

    assert "N" == returned.mapping["berth"]


def test_a_mapping_that_also_holds_messages_is_still_an_answer() -> None:
    returned = read_returned(
        {"berth": "N", "messages": [{"role": "assistant", "content": "<berth>S</berth>"}]}
    )

    assert (MAPPING, "<berth>S</berth>") == (returned.kind, returned.text)
    assert 1 == len(returned.messages)


def test_nothing_is_nothing() -> None:
    assert ReturnedKind.NOTHING is read_returned(None).kind


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param(7, "the agent returned a value of type int", id="integer"),
        pytest.param(True, "the agent returned a value of type bool", id="boolean"),
        pytest.param({1, 2}, "the agent returned a value of type set", id="set"),
        pytest.param([], "the agent returned a list without any text", id="empty-list"),
        pytest.param([1, 2], "the agent returned a list without any text", id="numbers"),
        pytest.param([USER], "the agent returned a list without any text", id="user-only"),
        pytest.param(b"\xff", "the agent returned bytes that are not UTF-8", id="bad-bytes"),
        pytest.param(
            SimpleNamespace(answer="x"),
            "the agent returned a value of type types.SimpleNamespace",
            id="object-without-output",
        ),
    ],
)
def test_anything_else_is_unusable_and_names_its_type(value: object, problem: str) -> None:
    returned = read_returned(value)

    assert (ReturnedKind.UNUSABLE, problem) == (returned.kind, returned.problem)


def test_an_object_that_wraps_itself_is_unusable() -> None:
    ring = SimpleNamespace()
    ring.output = ring

    assert ReturnedKind.UNUSABLE is read_returned(ring).kind


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(Result("x", success=False), "success is False", id="success-false"),
        pytest.param(Result("x", error="no key"), "no key", id="error"),
        pytest.param(Result(None, error="no key"), "no key", id="error-without-output"),
        pytest.param(Result("x", error=ValueError("bad")), "ValueError: bad", id="exception"),
        pytest.param(Result("x", error={"code": 3}), "{'code': 3}", id="error-mapping"),
        pytest.param(Result("x", error="none found"), "none found", id="more-than-none"),
        pytest.param(Result("x", error=ValueError("none")), "ValueError: none", id="raised-none"),
        pytest.param(
            Result("x", success=False, error="none"), "success is False", id="failed-without-error"
        ),
        pytest.param({"output": "x", "error": "boom"}, "boom", id="mapping-with-output"),
        pytest.param({"output": "x", "success": False}, "success is False", id="mapping"),
        pytest.param({"success": False, "error": "boom"}, "boom", id="mapping-without-output"),
        pytest.param(SimpleNamespace(error="boom"), "boom", id="object-without-output"),
        pytest.param(
            SimpleNamespace(output=Result("x", error="inner")), "inner", id="error-inside"
        ),
    ],
)
def test_an_object_may_say_that_it_failed(value: object, error: str) -> None:
    assert error == read_returned(value).declared_error


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(Result("x", success=None, error=""), id="empty-error"),
        pytest.param(Result("x", error=[]), id="no-errors"),
        pytest.param(Result("x", error="none"), id="none-as-a-word"),
        pytest.param(Result("x", error=False), id="false"),
        pytest.param({"output": "x", "error": "none"}, id="mapping-with-none"),
        pytest.param({"output": "x", "success": True, "error": " N/A "}, id="not-applicable"),
        pytest.param({"output": "x", "error": "Null"}, id="null-as-a-word"),
        pytest.param({"output": "x", "error": "false"}, id="false-as-a-word"),
        pytest.param({"berth": "N", "error": "None"}, id="fields-beside-none"),
        pytest.param({"output": "x", "error": 0}, id="code-zero"),
        pytest.param({"output": "x", "error": {"code": 0, "message": ""}}, id="empty-mapping"),
        pytest.param({"output": "x", "error": [None, ""]}, id="list-of-nothing"),
        pytest.param({"berth": "N", "success": True, "error": ""}, id="fields-beside-an-answer"),
    ],
)
def test_what_only_looks_like_a_failure_is_none(value: object) -> None:
    assert read_returned(value).declared_error is None


def test_a_mapping_that_says_it_failed_is_believed() -> None:
    """Whatever answer stands beside it; the judge asks first whether a field is called so."""
    value = {"berth": "N", "success": False, "error": "gave up"}

    assert "gave up" == read_returned(value).declared_error


def test_consumption_and_messages_are_kept() -> None:
    value = Result(
        "x",
        usage=SimpleNamespace(prompt_tokens=5, output_tokens=2.0, cost=0.25, requests=True),
        messages=[USER],
    )

    returned = read_returned(value)

    assert Usage(input_tokens=5, output_tokens=2, cost_usd=0.25) == returned.usage
    assert (USER,) == returned.messages


@pytest.mark.parametrize(
    "tokens",
    [
        pytest.param(-1, id="negative"),
        pytest.param(1.5, id="half-a-token"),
        pytest.param(float("nan"), id="not-a-number"),
        pytest.param("3", id="text"),
    ],
)
def test_nonsense_consumption_is_unknown(tokens: object) -> None:
    value = {"output": "x", "usage": {"input_tokens": tokens}}

    assert Usage() == read_returned(value).usage


def test_a_note_tells_what_was_changed() -> None:
    assert read_returned("\ud800").notes == read_returned({"a": "\ud800"}).notes
    assert ("a broken character was written as a backslash escape",) == read_returned(
        {"a": "\ud800"}
    ).notes


class Explosive:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


class ExplosiveOutput:
    @property
    def output(self) -> str:
        raise RuntimeError

    error = "bad"


def test_a_hostile_object_never_raises() -> None:
    assert ReturnedKind.UNUSABLE is read_returned(Explosive()).kind
    assert "bad" == read_returned(ExplosiveOutput()).declared_error


BLOCK = st.fixed_dictionaries(
    {}, optional={k: st.text() | st.none() | st.integers() for k in ("text", "type", "role")}
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(st.characters()) | st.binary() | BLOCK,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["output", "messages", "a", "error"]), inner)
        | st.builds(Result, inner, inner, inner, inner, inner)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_no_value_raises(value: object) -> None:
    returned = read_returned(value)

    returned.text.encode()
    assert (returned.kind is ReturnedKind.UNUSABLE) == bool(
        returned.problem and returned.kind is not ReturnedKind.NOTHING
    )


def test_a_tuple_of_which_a_part_would_be_lost_is_told() -> None:
    read = read_returned(("refuse", 89.5))

    assert "refuse" == read.text
    (note,) = read.notes
    assert note == (
        "a tuple was returned, of which only texts are read; "
        "return a mapping with the output fields"
    )
    assert () == read_returned(("refuse", "or not")).notes
