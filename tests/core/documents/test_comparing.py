"""What is ruled of every answer that could be read in two ways: one table of cases.

Each case is judged from the text that the agent returned to its outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench import Outcome, Verdict
from pytest_sopbench._core.documents.comparing import list_symptom, lost_or_extra, symptom
from pytest_sopbench._core.documents.schema import DocumentRules, Role

SCHEMA = {
    "type": "object",
    "properties": {"step": {"type": "string"}, "nights": {"type": "integer"}},
}
RIGHT = '{"step": "4.1", "nights": 3}'
EXPECTED: dict[str, Any] = {"step": "4.1", "nights": 3}

READ = {
    "bare JSON": RIGHT,
    "one fence": f"```json\n{RIGHT}\n```",
    "a fence without a language": f"```\n{RIGHT}\n```",
    "a fence of tildes": f"~~~\n{RIGHT}\n~~~",
    "white space around": f"\n\n  {RIGHT}\n",
    "a byte order mark": f"\ufeff{RIGHT}",
    "an object in reasoning tags, then the answer": f'<think>{{"step": "R1"}}</think>\n{RIGHT}',
    "two reasoning tags": f"<thinking>a</thinking><analysis>b</analysis>{RIGHT}",
    "reasoning after the answer": f"{RIGHT}\n<reflection>yes</reflection>",
    "reasoning whose first tag was swallowed": f"I see.</think>{RIGHT}",
    "reasoning and a fence": f"<think>hm</think>\n```json\n{RIGHT}\n```\n",
    "other keys order and white space": '{ "nights":3 ,\n"step" : "4.1"}',
    "escapes": '{"st\\u0065p": "4\\u002e1", "nights": 3}',
}
NO_ANSWER = {
    "prose before": (f"Here it is: {RIGHT}", "not JSON: something stands before the document at"),
    "prose after": (f"{RIGHT} Done.", "not JSON: something follows the document at character 30"),
    "prose around a fence": (f"Here:\n```json\n{RIGHT}\n```", "not JSON"),
    "two objects": (f"{RIGHT}\n{RIGHT}", "not JSON: something follows the document"),
    "two fences": (f"```\n{RIGHT}\n```\n```\n{RIGHT}\n```", "not JSON"),
    "a fence that is not closed": (f"```json\n{RIGHT}", "not JSON: a code fence is not closed"),
    "Python repr": ("{'step': '4.1', 'nights': 3}", "not JSON: expecting property name"),
    "Python words": ('{"step": "4.1", "reply": None}', "not JSON: expecting value at character 26"),
    "trailing comma": ('{"step": "4.1", "nights": 3,}', "not JSON"),
    "comment": ('{"step": "4.1" // as asked\n}', "not JSON: expecting ',' delimiter at"),
    "truncation": (RIGHT[:-2], "not JSON: the text ends before the document does"),
    "truncation in a text": ('{"step": "4.1', "not JSON: the text ends before the document does"),
    "a line end in a text": ('{"step": "4.1", "note": "a\nb"}', "not JSON: invalid control"),
    "NaN": ('{"step": "4.1", "charge": NaN}', "not JSON: NaN is not a JSON value at character 27"),
    "a number too large": ('{"step": "4.1", "charge": 1e999}', "at character 27"),
    "duplicate key": (
        '{"step": "4.1", "step": "4.1"}',
        "not JSON: key 'step' stands twice in one object at character 17",
    ),
    "JSON in a JSON string": (json.dumps(RIGHT), 'schema: the document breaks type "object"'),
    "one-item array around": (f"[{RIGHT}]", 'schema: the document breaks type "object"'),
    "empty text": ("", "empty: there is no text"),
    "white space alone": (" \n", "empty: there is no text"),
    "reasoning alone": (f"<think>{RIGHT}</think>", "empty: there is no text outside"),
    "reasoning that is never closed": (f"<think>so {RIGHT}", "empty: there is no text outside"),
    "nested without end": ("[" * 100_000, "not JSON"),
    "an integer without end": (f'{{"step": "4.1", "nights": {"9" * 5_000}}}', "not JSON"),
    "nothing": (None, "empty: the agent returned None"),
    "a list of objects": ([EXPECTED], "not JSON: the agent returned a list without any text"),
    "enum member in Roman numerals": (
        '{"step": "\u21601"}',
        'schema: step breaks enum ["4.1", "4.10", "R1"]: "\u21601"',
    ),
    "integer given as text": (
        '{"step": "4.1", "nights": "3"}',
        'schema: nights breaks type "integer": "3"',
    ),
    "step id given as number": ('{"step": 4.1}', "schema: step breaks"),
    "a required key is missing": ('{"nights": 3}', 'schema: the document breaks required: "step"'),
    "an ignored field that is too long": (
        '{"step": "4.1", "reason": "longer than twelve"}',
        'schema: reason (ignored) breaks maxLength 12: "longer than twelve"',
    ),
    "an ignored field in a list": (
        '{"step": "4.1", "guests": [{"name": "a", "reason": "longer than twelve"}]}',
        "schema: guests[0].reason (ignored) breaks maxLength",
    ),
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_a_parser_reads_is_the_answer(judged: Callable[..., Verdict], text: str) -> None:
    verdict = judged(text, EXPECTED)

    assert ("correct", EXPECTED) == (verdict.outcome, dict(verdict.answer.values))


@pytest.mark.parametrize(("text", "reason"), NO_ANSWER.values(), ids=NO_ANSWER)
def test_what_no_parser_or_no_schema_takes_is_no_answer(
    judged: Callable[..., Verdict], text: object, reason: str
) -> None:
    verdict = judged(text, EXPECTED)

    assert "no_answer" == verdict.outcome
    assert reason in verdict.reason


EQUAL = {
    "a mapping": (EXPECTED, EXPECTED),
    "full-width digits in a free text": ({"note": "room 12"}, {"note": "room \uff11\uff12"}),
    "case and white space": ({"note": "Room  twelve"}, {"note": " room\ntwelve "}),
    "a list in another order": ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}),
    "a spelling in a list": ({"tags": ["A b"]}, {"tags": ["a  B"]}),
    "a number in a list": ({"tags": [6]}, {"tags": [6.0]}),
    "a number": ({"charge": 3}, {"charge": 3.0}),
    "objects of a list in another order": (
        {"guests": [{"name": "a", "age": 1}, {"name": "b"}]},
        {"guests": [{"name": "B"}, {"age": 1, "name": "A"}]},
    ),
    "an ignored path": ({"reason": "x"}, {"reason": "y"}),
    "an ignored path that is missing": ({"reason": "x"}, {}),
    "an ignored path in a list": (
        {"guests": [{"name": "a", "reason": "x"}]},
        {"guests": [{"name": "a", "reason": "y"}]},
    ),
    "an ignored path in an object": ({"stay": {"reason": "x"}}, {"stay": {"reason": "y"}}),
    "an ignored path that should be absent": ({}, {"reason": "y"}),
}
NOTED = {
    "null for an absent optional key": ({}, {"reply": None}, "reply is null"),
    "an absent key for null": ({"reply": None}, {}, "reply is absent"),
    "an undeclared key": ({}, {"mood": "good"}, "mood is extra"),
    "an undeclared key in an object of a list": (
        {"guests": [{"name": "a"}]},
        {"guests": [{"name": "a", "mood": "good"}]},
        "guests[0].mood is extra",
    ),
}
DIFFERENT = {
    "another multiset": (
        {"tags": ["a", "a", "b"]},
        {"tags": ["a", "b", "b"]},
        'tags: missing "a"; unexpected "b"',
    ),
    "an ordered list in another order": (
        {"route": ["a", "b"]},
        {"route": ["b", "a"]},
        "route[0]: different; route[1]: different",
    ),
    "an ordered list of another length": (
        {"route": ["a", "b"]},
        {"route": ["a"]},
        'route: missing "b"',
    ),
    "an item too many": ({"tags": []}, {"tags": [1]}, "tags: unexpected 1"),
    "a boolean for a number": ({"paid": 1}, {"paid": True}, "paid: "),
    "a number for a boolean": ({"paid": False}, {"paid": 0.0}, "paid: "),
    "a boolean in a list": ({"tags": [1]}, {"tags": [True]}, "tags: missing 1; unexpected true"),
    "a declared key that should be absent": ({}, {"note": "x"}, "note: should be absent"),
    "a declared key that should be absent in a list": (
        {"guests": [{"name": "a"}]},
        {"guests": [{"name": "a", "age": 3}]},
        'guests: missing {"name": "a"}; unexpected {"name": "a", "age": 3}',
    ),
    "a missing key": ({"note": "x"}, {}, "note: missing"),
    "a missing object": ({"stay": {"room": "1"}}, {}, "stay: missing"),
    "null where a text is expected": ({"reply": "hm"}, {"reply": None}, "null instead of a text"),
    "an empty text for null": ({"reply": None}, {"reply": ""}, "a text instead of null"),
    "an id that looks like a number": ({"note": "1.10"}, {"note": "1.1"}, "note: different"),
    "a sign": ({"note": "-7"}, {"note": "7"}, "note: different"),
    "a square": ({"note": "10\u00b2"}, {"note": "102"}, "note: different"),
    "a nested text": ({"stay": {"room": "1"}}, {"stay": {"room": "2"}}, "stay.room: different"),
    "a key that ends in an ignored name": (
        {"stay": {"x.reason": "a"}},
        {"stay": {"x.reason": "b"}},
        'stay["x.reason"]: different',
    ),
}


def both(expected: dict[str, Any], actual: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Add what the schema requires, and write the answer as an agent would."""
    return {"step": "4.1", **expected}, json.dumps({"step": "4.1", **actual}, ensure_ascii=False)


@pytest.mark.parametrize(("expected", "actual"), EQUAL.values(), ids=EQUAL)
def test_what_says_the_same_is_correct(
    judged: Callable[..., Verdict], expected: dict[str, Any], actual: dict[str, Any]
) -> None:
    wanted, text = both(expected, actual)

    verdict = judged(text, wanted)

    assert ("correct", (), ()) == (verdict.outcome, verdict.mismatches, verdict.notes)


@pytest.mark.parametrize(("expected", "actual", "note"), NOTED.values(), ids=NOTED)
def test_what_is_more_than_asked_is_noted_and_not_wrong(
    judged: Callable[..., Verdict], expected: dict[str, Any], actual: dict[str, Any], note: str
) -> None:
    wanted, text = both(expected, actual)

    verdict = judged(text, wanted)

    (told,) = verdict.notes
    assert "correct" == verdict.outcome
    assert note in told


@pytest.mark.parametrize(("expected", "actual", "reason"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_says_something_else_is_wrong_at_its_path(
    judged: Callable[..., Verdict], expected: dict[str, Any], actual: dict[str, Any], reason: str
) -> None:
    wanted, text = both(expected, actual)

    verdict = judged(text, wanted)

    assert "wrong" == verdict.outcome
    assert reason in verdict.reason


def test_a_mapping_is_the_document(judged: Callable[..., Verdict]) -> None:
    verdict = judged({"step": "4.1", "nights": 3.0}, EXPECTED)

    assert ("correct", "mapping") == (verdict.outcome, verdict.answer.form)


WRAPPED = {
    "a text": {"output": RIGHT, "usage": {"input_tokens": 3}},
    "a document": {"output": EXPECTED, "success": True},
    "messages": {"messages": [{"role": "assistant", "content": RIGHT}]},
    "text blocks": [{"type": "text", "text": RIGHT}],
    "bytes": RIGHT.encode(),
}


@pytest.mark.parametrize("returned", WRAPPED.values(), ids=WRAPPED)
def test_an_answer_may_be_wrapped_as_in_other_domains(
    judged: Callable[..., Verdict], returned: object
) -> None:
    closed = DocumentRules(schema={**SCHEMA, "additionalProperties": False})

    verdict = judged(returned, EXPECTED, closed)

    assert ("correct", ()) == (verdict.outcome, verdict.notes)


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"output": "hi", "step": "1"}, id="output"),
        pytest.param({"success": False, "error": "none left"}, id="success and error"),
        pytest.param({"messages": [{"role": "assistant", "content": "x"}]}, id="messages"),
    ],
)
def test_keys_that_wrap_elsewhere_are_the_documents_own_where_its_schema_has_them(
    judged: Callable[..., Verdict], document: dict[str, Any]
) -> None:
    rules = DocumentRules(schema={"properties": {key: {} for key in document}})

    verdict = judged(document, document, rules)

    assert ("correct", document) == (verdict.outcome, dict(verdict.answer.values))


def test_an_agent_that_says_it_failed_is_an_error(judged: Callable[..., Verdict]) -> None:
    verdict = judged({"output": RIGHT, "success": False}, EXPECTED)

    assert "error" == verdict.outcome


# The words for what is seen where a value differs, by the role of its path.

ROUTES = {
    ("4.1", "4.3"): "sibling",
    ("4.1", "4.10"): "sibling",
    ("4.1.2", "4.1"): "stopped early",
    ("4.1", "4.1.2"): "went on too far",
    ("4.1", "5.2"): "skipped ahead",
    ("4.2.1", "4.3"): "skipped ahead",
    ("5", "3"): "lagged behind",
    ("4.10", "3.2"): "lagged behind",
    ("R2", "4.1"): "rule missed",
    ("4.1", "R2"): "rule invented",
    ("R2", "R3"): "skipped ahead",
    ("4.1", None): "rule missed",
    (None, "R2"): "rule invented",
    ("stage 4a", "stage 4b"): "sibling",
    ("greeting", "closing"): "different",
    (4, 6): "skipped ahead",
}


@pytest.mark.parametrize(("pair", "word"), ROUTES.items(), ids=map(str, ROUTES))
def test_a_step_stands_to_another_in_the_outline(pair: tuple[Any, Any], word: str) -> None:
    assert word == symptom(Role.ROUTE, *pair)


VALUES = {
    "number": (Role.NUMBER, 10, 12.5, "number off by 2.5"),
    "number in a text": (Role.NUMBER, "10.00", "12", "number off by 2"),
    "number without a role": (None, 1, 2, "number off by 1"),
    "no number": (Role.NUMBER, 1, "one", "a text instead of a number"),
    "time of day": (Role.TIME, "10:00", "11:30", "time off by 1 h 30 min"),
    "date": (Role.TIME, "2026-05-01", "2026-05-03", "time off by 2 d"),
    "moment": (Role.TIME, "2026-05-01T10:00", "2026-05-01T09:59:30", "time off by 30 s"),
    "duration": (Role.TIME, 30, 45, "time off by 15"),
    "no time": (Role.TIME, "10:00", "noon", "different"),
    "silence": (Role.DIALOGUE, "", "hello", "speaks instead of silence"),
    "words": (Role.DIALOGUE, "hello", None, "silence instead of words"),
    "other words": (Role.DIALOGUE, "hello", "bye", "different"),
    "text": (Role.TEXT, "a", "b", "different"),
    "another kind": (None, True, 1, "a number instead of a boolean"),
}


@pytest.mark.parametrize(("role", "expected", "actual", "word"), VALUES.values(), ids=VALUES)
def test_a_value_differs_as_its_role_says(
    role: Role | None, expected: Any, actual: Any, word: str
) -> None:
    assert word == symptom(role, expected, actual)


def test_lists_tell_what_is_missing_and_what_is_too_many() -> None:
    assert 'missing "a", "b"; unexpected 1' == list_symptom(None, ["a", "b"], [1])
    assert 'rule missed "R1"; rule invented "R2"' == list_symptom(Role.ROUTE, ["R1"], ["R2"])
    assert "missing 1, 2, 3 and 2 more" == list_symptom(None, [1, 2, 3, 4, 5], [])
    assert "in another order" == list_symptom(None, [], [])


def test_a_whole_value_is_missing_or_should_be_absent() -> None:
    assert ("missing", "should be absent") == (
        lost_or_extra(None, missing=True),
        lost_or_extra(None, missing=False),
    )
    assert ("rule missed", "rule invented") == (
        lost_or_extra(Role.ROUTE, missing=True),
        lost_or_extra(Role.ROUTE, missing=False),
    )


FAILED = {"step": "R1", "success": False, "error": "the service is down, so this is a guess"}


@pytest.mark.parametrize("returned", [FAILED, json.dumps(FAILED)], ids=["object", "text"])
def test_a_document_that_says_that_it_failed_is_no_answer_in_any_form(
    judged: Callable[..., Verdict], returned: object
) -> None:
    verdict = judged(returned, {"step": "R1"})

    assert (Outcome.ERROR, "the agent said that it failed: " + str(FAILED["error"])) == (
        verdict.outcome,
        verdict.reason,
    )


@pytest.mark.parametrize("form", [dict, json.dumps], ids=["object", "text"])
def test_a_document_whose_answer_is_an_error_is_judged_in_any_form(
    judged: Callable[..., Verdict], form: Callable[[Any], object]
) -> None:
    expected = {"step": "R1", "error": "no room"}

    assert judged(form(expected), expected).correct
