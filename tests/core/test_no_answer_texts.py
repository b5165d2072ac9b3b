"""A table: texts in which no answer is found, which fields are missing, and why.

ONE has the single field `berth`, an enum. THREE has `decision`, `fee due` and `reviewed_by`.
"""

from __future__ import annotations

import pytest

from pytest_sopbench import OutputField
from tests.builders.judged import AnswerForm, FieldType, Returned, ReturnedKind, find_answer

BERTH = OutputField(
    name="berth",
    type=FieldType.ENUM,
    values=("North Quay", "South Quay", "Turn Away"),
    aliases={"NQ": "North Quay"},
)
ONE = (BERTH,)
AMOUNT = (OutputField(name="amount", type=FieldType.NUMBER),)
THREE = (
    OutputField(name="decision", type=FieldType.ENUM, values=("grant", "refuse")),
    OutputField(name="fee due", type=FieldType.NUMBER),
    OutputField(name="reviewed_by", type=FieldType.TEXT),
)
THREE_JSON = '{"decision": "grant", "fee due": 12.5, "reviewed_by": "Okoro"}'

NOT_FOUND: tuple[tuple[str, str, tuple[OutputField, ...], tuple[str, ...], str], ...] = (
    ("nothing", "", ONE, ("berth",), "the text is empty"),
    ("white-space", " \n\t", ONE, ("berth",), "the text is empty"),
    ("prose", "The ship may enter.", ONE, ("berth",), "no answer was found in the text"),
    ("sentence-that-mentions-a-label", "It goes to North Quay.", ONE, ("berth",),
     "no answer was found in the text"),
    ("all-labels", "North Quay, South Quay, Turn Away", ONE, ("berth",),
     "no answer was found in the text"),
    ("number-in-a-sentence", "It is 12.5", AMOUNT, ("amount",), "no answer was found in the text"),
    ("only-reasoning", "<thinking><berth>North Quay</berth></thinking>", ONE, ("berth",),
     "no answer was found in the text"),
    ("only-scratchpad", '<scratchpad>{"berth": "North Quay"}</scratchpad>', ONE, ("berth",),
     "no answer was found in the text"),
    ("reasoning-cut-off", "<analysis>so <berth>North Quay</berth>", ONE, ("berth",),
     "no answer was found in the text"),
    ("tag-cut-off", "so <berth>", ONE, ("berth",), "no answer was found in the text"),
    ("closing-tag-alone", "North Quay</berth>", ONE, ("berth",), "no answer was found in the text"),
    ("tag-that-only-begins-alike", "<berths>North Quay</berths>", ONE, ("berth",),
     "no answer was found in the text"),
    ("tag-with-words-that-are-no-attribute", "<berth of the ship>North Quay", ONE, ("berth",),
     "no answer was found in the text"),
    ("heading-without-value", "Berth:\n\nThe north is free.", ONE, ("berth",),
     "no answer was found in the text"),
    ("line-in-a-sentence", "So the berth: North Quay", ONE, ("berth",),
     "no answer was found in the text"),
    ("json-that-is-cut-off", '{"berth": "North Quay"', ONE, ("berth",),
     "no answer was found in the text"),
    ("json-without-the-field", '{"quay": "North"}', ONE, ("berth",),
     "no answer was found in the text"),
    ("json-list-alone", '["North Quay"]', ONE, ("berth",), "no answer was found in the text"),
    ("python-call", "dict(berth='North Quay')", ONE, ("berth",), "no answer was found in the text"),
    ("expression-is-never-evaluated", "{'berth': 'North' + ' Quay'}", ONE, ("berth",),
     "no answer was found in the text"),
    ("final-output-with-a-sentence", "<final_output>To North Quay</final_output>", ONE, ("berth",),
     "the last mark says 'To North Quay'"),
    ("final-decision-with-three-fields", "<final_decision>grant</final_decision>", THREE,
     ("decision", "fee due", "reviewed_by"), "the last mark says 'grant'"),
    ("label-alone-with-three-fields", "grant", THREE, ("decision", "fee due", "reviewed_by"),
     "no answer was found in the text"),
    ("json-lacks-two", '{"decision": "grant"}', THREE, ("fee due", "reviewed_by"),
     "the last JSON object gave no fee due, reviewed_by"),
    ("python-lacks-one", "{'decision': 'grant', 'fee_due': 1}", THREE, ("reviewed_by",),
     "the last Python dict gave no reviewed_by"),
    ("lines-lack-one", "Decision: grant\nFee due: 3", THREE, ("decision", "fee due", "reviewed_by"),
     "no answer was found in the text"),
    ("tags-lack-one", "<decision>grant</decision><fee_due>3</fee_due>", THREE, ("reviewed_by",),
     "the tags gave no reviewed_by"),
    ("final-output-lacks-one", '<final_output>{"decision": 1, "fee due": 2}</final_output>', THREE,
     ("reviewed_by",), "the JSON in <final_output> gave no reviewed_by"),
    ("forms-are-never-combined", '<decision>grant</decision> {"fee due": 1, "reviewed_by": "x"}',
     THREE, ("decision",), "the last JSON object gave no decision"),
    ("last-json-object-wins-though-it-lacks-fields", f'{THREE_JSON} and {{"decision": "refuse"}}',
     THREE, ("fee due", "reviewed_by"), "the last JSON object gave no fee due, reviewed_by"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "fields", "missing", "why"),
    [pytest.param(*row[1:], id=row[0]) for row in NOT_FOUND],
)
def test_no_answer_is_found(
    text: str, fields: tuple[OutputField, ...], missing: tuple[str, ...], why: str
) -> None:
    answer = find_answer(Returned(kind=ReturnedKind.TEXT, text=text), fields)

    assert (AnswerForm.NOT_FOUND, missing) == (answer.form, answer.missing)
    assert why == answer.why.partition("; mark it: ")[0]
    assert not answer.complete
