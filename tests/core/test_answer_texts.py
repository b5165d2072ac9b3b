"""A table: what agents say, and what must be found in it, and why.

Two tasks stand behind it. ONE has the single field `berth`, an enum. THREE has `decision`,
`fee due` (with a space) and `reviewed_by`. A row says the text, the task, the form in which the
answer is found, and its values; or, where none is found, `None` and the fields that are missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_sopbench import OutputField
from tests.builders.judged import (
    AnswerForm,
    Compare,
    FieldType,
    Returned,
    ReturnedKind,
    find_answer,
    read_returned,
)

BERTH = OutputField(
    name="berth",
    type=FieldType.ENUM,
    values=("North Quay", "South Quay", "Turn Away"),
    aliases={"NQ": "North Quay"},
)
ONE = (BERTH,)
PLAIN = (OutputField(name="berth", type=FieldType.TEXT),)
FLAG = (OutputField(name="cleared", type=FieldType.BOOLEAN, values=("no", "yes")),)
AMOUNT = (OutputField(name="amount", type=FieldType.NUMBER),)
THINKER = (OutputField(name="analysis", type=FieldType.TEXT),)
THREE = (
    OutputField(name="decision", type=FieldType.ENUM, values=("grant", "refuse")),
    OutputField(name="fee due", type=FieldType.NUMBER),
    OutputField(name="reviewed_by", type=FieldType.TEXT),
)

OUTPUT = AnswerForm.FINAL_OUTPUT
TAGS = AnswerForm.FIELD_TAGS
DECISION = AnswerForm.FINAL_DECISION
JSON = AnswerForm.JSON
PYTHON = AnswerForm.PYTHON
LINES = AnswerForm.FIELD_LINES
WHOLE = AnswerForm.WHOLE_TEXT

NORTH = {"berth": "North Quay"}
SOUTH = {"berth": "South Quay"}
GRANT = {"decision": "grant", "fee due": "12.50", "reviewed_by": "Okoro"}
GRANT_JSON = {"decision": "grant", "fee due": 12.5, "reviewed_by": "Okoro"}
THREE_TAGS = "<decision>grant</decision><fee due>12.50</fee due><reviewed_by>Okoro</reviewed_by>"
THREE_JSON = '{"decision": "grant", "fee due": 12.5, "reviewed_by": "Okoro"}'
THREE_LINES = "Decision: grant\nFee due: 12.50\nReviewed by: Okoro"

Row = tuple[str, str, tuple[OutputField, ...], AnswerForm, Mapping[str, Any]]

FOUND: tuple[Row, ...] = (
    # 1. JSON in <final_output>
    ("final-output", '<final_output>{"berth": "North Quay"}</final_output>', ONE, OUTPUT, NORTH),
    ("final-output-three", f"<final_output>{THREE_JSON}</final_output>", THREE, OUTPUT, GRANT_JSON),
    ("final-output-spaced-tag", '< Final-Output >{"berth":"North Quay"}</ FINAL_OUTPUT >', ONE,
     OUTPUT, NORTH),
    ("final-output-with-attribute", ('<final_output lang="json">{"berth":"North Quay"}'
     "</final_output>"), ONE, OUTPUT, NORTH),
    ("final-output-fenced", ('<final_output>\n```json\n{"berth": "North Quay"}\n```\n'
     "</final_output>"), ONE, OUTPUT, NORTH),
    ("final-output-with-words-around-the-json",
     '<final_output>Here: {"berth": "North Quay"}.</final_output>', ONE, OUTPUT, NORTH),
    ("final-output-last-one-wins", ('<final_output>{"berth": "South Quay"}</final_output> no, '
     '<final_output>{"berth": "North Quay"}</final_output>'), ONE, OUTPUT, NORTH),
    ("final-output-before-tags", ("<berth>South Quay</berth> no, "
     '<final_output>{"berth": "North Quay"}</final_output>'), ONE, OUTPUT, NORTH),
    ("final-output-nested-object",
     '<final_output>{"result": {"berth": "North Quay"}}</final_output>', ONE, OUTPUT, NORTH),
    ("final-output-entities", ("<final_output>{&quot;berth&quot;: &quot;North Quay&quot;}"
     "</final_output>"), ONE, OUTPUT, NORTH),
    ("final-output-cdata", '<final_output><![CDATA[{"berth": "North Quay"}]]></final_output>',
     ONE, OUTPUT, NORTH),
    ("final-output-unclosed", 'So:\n<final_output>{"berth": "North Quay"}\nBye.', ONE, JSON, NORTH),
    ("final-output-that-holds-tags", f"<final_output>{THREE_TAGS}</final_output>", THREE, TAGS,
     GRANT),
    ("final-output-without-every-field-is-passed-over",
     f'<final_output>{{"decision": "grant"}}</final_output>\n{THREE_LINES}', THREE, LINES, GRANT),
    ("final-output-label", "<final_output>North Quay</final_output>", ONE, OUTPUT, NORTH),
    # 2. one tag per field
    ("tag", "<berth>North Quay</berth>", ONE, TAGS, NORTH),
    ("tags-of-three", THREE_TAGS, THREE, TAGS, GRANT),
    ("tags-in-wrapper", f"<final_response>\n{THREE_TAGS}\n</final_response>", THREE, TAGS, GRANT),
    ("tags-in-response", f"<response>{THREE_TAGS}</response>", THREE, TAGS, GRANT),
    ("tags-in-final-decision", "<final_decision><berth>North Quay</berth></final_decision>", ONE,
     TAGS, NORTH),
    ("tags-far-apart", ("<decision>grant</decision>, since\n<fee_due>12.50</fee_due>\n\nand "
     "<reviewed-by>Okoro</reviewed-by>"), THREE, TAGS, GRANT),
    ("tag-in-capitals", "<BERTH>North Quay</BERTH>", ONE, TAGS, NORTH),
    ("tag-with-underscore-for-space", THREE_TAGS.replace("fee due", "fee_due"), THREE, TAGS, GRANT),
    ("tag-with-hyphens", THREE_TAGS.replace("reviewed_by", "Reviewed-By"), THREE, TAGS, GRANT),
    ("tag-with-attributes", "<berth id='7' sure=\"yes\">North Quay</berth>", ONE, TAGS, NORTH),
    ("tag-with-bracket-in-attribute", '<berth why="a > b">North Quay</berth>', ONE, TAGS, NORTH),
    ("tag-with-space-inside", "<berth>\n   North Quay\n</berth>", ONE, TAGS, NORTH),
    ("tag-with-space-in-brackets", "< berth >North Quay< / berth >", ONE, TAGS, NORTH),
    ("tag-over-lines", "<berth>North\nQuay</berth>", ONE, TAGS, {"berth": "North\nQuay"}),
    ("tag-last-one-wins", "<berth>South Quay</berth> hm. <berth>North Quay</berth>", ONE, TAGS,
     NORTH),
    ("tag-unclosed", "My answer: <berth>North Quay", ONE, TAGS, NORTH),
    ("tag-unclosed-to-the-end-of-the-line", "<berth>North Quay\nThat is all.", ONE, TAGS, NORTH),
    ("tag-unclosed-value-on-the-next-line", "<berth>\nNorth Quay\nBye", ONE, TAGS, NORTH),
    ("tag-unclosed-before-the-end-of-its-wrapper", "<output><berth>North Quay</output>", ONE,
     DECISION, NORTH),
    ("tag-unclosed-before-the-next", "<cleared>yes<berth>North Quay", (*FLAG, *ONE), TAGS,
     {"cleared": "yes", **NORTH}),
    ("tag-cut-off-leaves-the-one-before", "<berth>North Quay</berth>. In short <berth>", ONE, TAGS,
     NORTH),
    ("tag-entities", "<berth>North &amp; South &lt;1&gt; &#65;&#x42;</berth>", PLAIN, TAGS,
     {"berth": "North & South <1> AB"}),
    ("tag-entity-without-end-stays", "<berth>R&D &lt</berth>", PLAIN, TAGS, {"berth": "R&D &lt"}),
    ("tag-cdata", "<berth><![CDATA[A &amp; B]]></berth>", PLAIN, TAGS, {"berth": "A &amp; B"}),
    ("tag-cdata-and-text", "<berth>x &amp; <![CDATA[&lt;]]></berth>", PLAIN, TAGS,
     {"berth": "x & &lt;"}),
    ("tag-cdata-without-end", "<berth><![CDATA[x</berth>", PLAIN, TAGS, {"berth": "<![CDATA[x"}),
    ("tag-fenced-value", "<berth>\n```\nNorth Quay\n```\n</berth>", ONE, TAGS, NORTH),
    ("tag-fenced-value-with-language", "<berth>```text\nNorth Quay\n```</berth>", ONE, TAGS, NORTH),
    ("tag-fence-on-one-line", "<berth>```North Quay```</berth>", ONE, TAGS, NORTH),
    ("tag-value-in-backticks", "<berth>`North Quay`</berth>", ONE, TAGS, NORTH),
    ("tag-value-in-double-quotes", '<berth>"North Quay"</berth>', ONE, TAGS, NORTH),
    ("tag-value-in-single-quotes", "<berth>'North Quay'</berth>", ONE, TAGS, NORTH),
    ("tag-value-in-curly-quotes", "<berth>\u201cNorth Quay\u201d</berth>", ONE, TAGS, NORTH),
    ("tag-value-in-guillemets", "<berth>\u00abNorth Quay\u00bb</berth>", ONE, TAGS, NORTH),
    ("tag-value-in-quotes-in-backticks", '<berth>`"North Quay"`</berth>', ONE, TAGS, NORTH),
    ("tag-value-bold", "<berth>**North Quay**</berth>", ONE, TAGS, NORTH),
    ("tag-two-quoted-values-stay", '<berth>"North", "South"</berth>', PLAIN, TAGS,
     {"berth": '"North", "South"'}),
    ("tag-apostrophe-stays", "<berth>Captain's Quay</berth>", PLAIN, TAGS,
     {"berth": "Captain's Quay"}),
    ("tag-nbsp", "<berth>North\u00a0Quay</berth>", ONE, TAGS, NORTH),
    ("tag-zero-width", "<berth>\u200bNor\u200bth Quay\ufeff</berth>", ONE, TAGS, NORTH),
    ("tag-zero-width-in-its-name", "<be\u200brth>North Quay</berth>", ONE, TAGS, NORTH),
    ("tag-explicitly-empty", "<berth></berth>", ONE, TAGS, {"berth": ""}),
    ("tag-closed-in-itself", "<berth/>", ONE, TAGS, {"berth": ""}),
    ("tag-null", "<berth>null</berth>", ONE, TAGS, {"berth": "null"}),
    ("tag-before-json", '{"berth": "South Quay"} <berth>North Quay</berth>', ONE, TAGS, NORTH),
    ("tag-in-a-fence", "```xml\n<berth>North Quay</berth>\n```", ONE, TAGS, NORTH),
    ("tag-beside-html", "<p>So <b>this</b>: <berth>North Quay</berth></p>", ONE, TAGS, NORTH),
    ("tag-after-stray-brackets", "if a < b and c > d: <<<berth>North Quay</berth>", ONE, TAGS,
     NORTH),
    ("tag-after-reasoning", ("<thinking><berth>South Quay</berth></thinking>"
     "<berth>North Quay</berth>"), ONE, TAGS, NORTH),
    ("tag-before-reasoning", "<berth>North Quay</berth><think><berth>South Quay</berth></think>",
     ONE, TAGS, NORTH),
    ("tag-after-reasoning-without-its-start", ("<berth>South Quay</berth> hm</think>"
     "<berth>North Quay</berth>"), ONE, TAGS, NORTH),
    ("tag-after-reasoning-in-reasoning", ("<thinking>a<think>b</think><berth>South Quay</berth>"
     "</thinking><berth>North Quay</berth>"), ONE, TAGS, NORTH),
    ("tag-after-reasoning-closed-by-another-name", ("<thinking><berth>South Quay</berth></think>"
     "<berth>North Quay</berth>"), ONE, TAGS, NORTH),
    ("tag-after-nested-reasoning-of-one-name", ("<think>a<think>b</think><berth>South Quay</berth>"
     "</think><berth>North Quay</berth>"), ONE, TAGS, NORTH),
    ("tag-after-empty-reasoning", "<think/><berth>North Quay</berth>", ONE, TAGS, NORTH),
    ("field-that-is-called-like-reasoning", "<analysis>sound</analysis>", THINKER, TAGS,
     {"analysis": "sound"}),
    # 3. <final_decision>
    ("final-decision", "<final_decision>North Quay</final_decision>", ONE, DECISION, NORTH),
    ("final-decision-spelled", "<Final Decision>North Quay</Final Decision>", ONE, DECISION, NORTH),
    ("final-decision-last-one-wins", ("<final_decision>South Quay</final_decision> Corrected: "
     "<final_decision>North Quay</final_decision>"), ONE, DECISION, NORTH),
    ("final-decision-quoted", '<final_decision>"North Quay"</final_decision>', ONE, DECISION,
     NORTH),
    ("final-decision-unclosed", "<final_decision>North Quay\nBye", ONE, DECISION, NORTH),
    ("final-decision-number", "<final_decision>12.5</final_decision>", AMOUNT, DECISION,
     {"amount": "12.5"}),
    ("final-decision-before-json", ('{"berth": "South Quay"}<final_decision>North Quay'
     "</final_decision>"), ONE, DECISION, NORTH),
    # 4. JSON
    ("json", '{"berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-fenced", '```json\n{"berth": "North Quay"}\n```', ONE, JSON, NORTH),
    ("json-in-prose", 'I am sure: {"berth": "North Quay"}. Bye', ONE, JSON, NORTH),
    ("json-three", THREE_JSON, THREE, JSON, GRANT_JSON),
    ("json-other-spelling-of-keys", ('{"Decision": "grant", "FEE_DUE": 12.5, "reviewed by": '
     '"Okoro"}'), THREE, JSON, GRANT_JSON),
    ("json-nested-braces", 'Set {x}, {y {"note": {"a": {}}, "berth": "North Quay"} }', ONE, JSON,
     NORTH),
    ("json-braces-in-strings", '{"why": "} {", "berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-escaped-quotes", '{"why": "a \\"b\\" {", "berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-inside-an-object", '{"answer": {"berth": "North Quay"}}', ONE, JSON, NORTH),
    ("json-in-a-list", '[{"berth": "North Quay"}]', ONE, JSON, NORTH),
    ("json-outer-before-inner", '{"berth": "North Quay", "was": {"berth": "South Quay"}}', ONE,
     JSON, NORTH),
    ("json-last-one-wins", '{"berth": "South Quay"} rather {"berth": "North Quay"}', ONE, JSON,
     NORTH),
    ("json-last-one-that-has-a-field", '{"berth": "North Quay"}. And {"confidence": 0.9}', ONE,
     JSON, NORTH),
    ("json-after-a-stray-quote", 'The captain\'s "list {berth: {"berth": "North Quay"}', ONE, JSON,
     NORTH),
    ("json-after-a-broken-one", '{"berth": "South Quay" {"berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-after-an-object-that-is-cut-off", '{"plan": [1, {"berth": "North Quay"}', ONE, JSON,
     NORTH),
    ("json-with-raw-newline", '{"why": "a\nb", "berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-null", '{"berth": null}', ONE, JSON, {"berth": None}),
    ("json-true", '{"cleared": true}', FLAG, JSON, {"cleared": True}),
    ("json-list", '{"berth": ["North", "South"]}', ONE, JSON, {"berth": ["North", "South"]}),
    ("json-unicode-escape", '{"be\\u0072th": "North\\u0020Quay"}', ONE, JSON, NORTH),
    ("json-lone-surrogate", '{"berth": "\\ud800"}', ONE, JSON, {"berth": "\\ud800"}),
    ("json-not-a-number", '{"berth": NaN}', ONE, JSON, {"berth": "nan"}),
    ("json-twice-the-same-key", '{"berth": "North Quay", "berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-in-two-spellings", '{"berth": "North Quay", "BERTH": "North Quay"}', ONE,
     JSON, NORTH),
    ("json-before-lines", 'Berth: North Quay\n{"berth": "North Quay"}', ONE, JSON, NORTH),
    ("json-where-tags-lack-fields", f"<decision>refuse</decision> {THREE_JSON}", THREE, JSON,
     GRANT_JSON),
    # 5. Python
    ("python", "{'berth': 'North Quay'}", ONE, PYTHON, NORTH),
    ("python-true-none", "{'cleared': True, 'x': None}", FLAG, PYTHON, {"cleared": True}),
    ("python-apostrophe", "{'why': \"captain's\", 'berth': 'North Quay'}", ONE, PYTHON, NORTH),
    ("python-escapes", "{'berth': 'North\\x20Qu\\u0061y\\'s\\q'}", ONE, PYTHON,
     {"berth": "North Quay's\\q"}),
    ("python-tuple", "{'berth': ('North', 1,)}", ONE, PYTHON, {"berth": ["North", 1]}),
    ("python-trailing-comma", '{"berth": "North Quay",}', ONE, PYTHON, NORTH),
    ("python-in-prose", "so it's {'berth': 'North Quay'}, isn't it", ONE, PYTHON, NORTH),
    ("python-last-one-wins", "{'berth': 'South Quay'} no, {'berth': 'North Quay'}", ONE, PYTHON,
     NORTH),
    # 6. lines
    ("line", "Berth: North Quay", ONE, LINES, NORTH),
    ("lines-of-three", THREE_LINES, THREE, LINES, GRANT),
    ("line-bold-name", "**Berth**: North Quay", ONE, LINES, NORTH),
    ("line-bold-with-colon", "**Berth:** North Quay", ONE, LINES, NORTH),
    ("line-all-bold", "**Berth: North Quay**", ONE, LINES, NORTH),
    ("line-bold-value", "Berth: **North Quay**", ONE, LINES, NORTH),
    ("line-bullet", "- Berth: North Quay", ONE, LINES, NORTH),
    ("line-numbered-and-bold", "2. **Berth:** North Quay", ONE, LINES, NORTH),
    ("line-heading", "### Berth: North Quay", ONE, LINES, NORTH),
    ("line-with-windows-ends", "Berth: North Quay\r\nBye.\r\n", ONE, LINES, NORTH),
    ("line-with-wide-colon", "Berth\uff1a North Quay", ONE, LINES, NORTH),
    ("line-last-one-wins", "Berth: South Quay\nno:\nBerth: North Quay", ONE, LINES, NORTH),
    ("line-explicitly-none", "Berth: none", ONE, LINES, {"berth": "none"}),
    ("line-code-name", "`berth`: North Quay", ONE, LINES, NORTH),
    # 7. the whole text
    ("whole-text", "North Quay", ONE, WHOLE, NORTH),
    ("whole-text-with-space-around", "\n  North Quay \n", ONE, WHOLE, NORTH),
    ("whole-text-other-case", "north-quay", ONE, WHOLE, {"berth": "north-quay"}),
    ("whole-text-in-quotes", '"North Quay"', ONE, WHOLE, NORTH),
    ("whole-text-in-fence", "```\nNorth Quay\n```", ONE, WHOLE, NORTH),
    ("whole-text-alias", "NQ", ONE, WHOLE, {"berth": "NQ"}),
    ("whole-text-after-reasoning", "<think>South Quay?</think>\nNorth Quay", ONE, WHOLE, NORTH),
    ("whole-text-with-full-stop", "North Quay.", ONE, WHOLE, NORTH),
    ("whole-text-number", "12.5", AMOUNT, WHOLE, {"amount": "12.5"}),
    ("whole-text-yes", "Yes", FLAG, WHOLE, {"cleared": "Yes"}),
)  # fmt: skip


def test_the_table_is_large_enough() -> None:
    texts = {text for _, text, *_ in FOUND}

    assert 120 <= len(texts)


@pytest.mark.parametrize(
    ("text", "fields", "form", "values"),
    [pytest.param(*row[1:], id=row[0]) for row in FOUND],
)
def test_the_answer_is_found(
    text: str,
    fields: tuple[OutputField, ...],
    form: AnswerForm,
    values: Mapping[str, Any],
) -> None:
    answer = find_answer(Returned(kind=ReturnedKind.TEXT, text=text), fields)

    assert (form, values) == (answer.form, dict(answer.values))
    assert (answer.complete, answer.missing, answer.why) == (True, (), "")


def test_a_field_that_says_how_its_numbers_are_written_is_read_as_it_says() -> None:
    field = OutputField(name="total", type=FieldType.NUMBER, grouping=".", decimal=",")

    told = find_answer(read_returned("total: 1.250,50"), (field,))
    other = find_answer(read_returned("total: 1,250.50"), (field,))

    assert told.values == {"total": "1.250,50"}
    assert not other.complete


def test_a_number_that_is_matched_as_a_text_keeps_its_marks() -> None:
    field = OutputField(name="total", type=FieldType.NUMBER, compare=Compare.MATCHES)

    answer = find_answer(read_returned('{"total": "1,250.50"}'), (field,))

    assert answer.values == {"total": "1,250.50"}


@pytest.mark.parametrize(
    "returned",
    [
        pytest.param('{"berth": "South Quay", "berth": "North Quay"}', id="a key twice"),
        pytest.param('{"berth": "South Quay", "Berth": "North Quay"}', id="two spellings"),
        pytest.param({"berth": "South Quay", "Berth": "North Quay"}, id="of a mapping"),
        pytest.param(
            {
                "berth": "South Quay",
                "Berth": "North Quay",
                "messages": [{"role": "assistant", "content": '{"berth": "North Quay"}'}],
            },
            id="of a mapping beside a text",
        ),
    ],
)
def test_two_values_of_one_field_are_no_answer_and_both_are_named(returned: Any) -> None:
    answer = find_answer(read_returned(returned), ONE)

    assert not answer.values
    assert "South Quay" in answer.why
    assert "North Quay" in answer.why
