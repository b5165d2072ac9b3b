"""Which of several answers in one text wins: laws over all pairs of forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Answer, OutputField
from tests.builders.judged import (
    RETRACTIONS,
    FieldType,
    Returned,
    ReturnedKind,
    compare,
    find_answer,
)

BERTH = OutputField(name="berth", type=FieldType.ENUM, values=("North Quay", "South Quay"))
FEE = OutputField(name="fee", type=FieldType.NUMBER)
SOP = "Say where the ship goes. For livestock that is always the quay in the south of the town."

Rendering = Callable[[str], str]

MARKED: dict[str, Rendering] = {
    "final-output": lambda label: f'<final_output>{{"berth": "{label}"}}</final_output>',
    "final-output-label": lambda label: f"<final_output>{label}</final_output>",
    "final-decision": lambda label: f"<final_decision>{label}.</final_decision>",
    "escaped": lambda label: f"&lt;final_decision&gt;{label}&lt;/final_decision&gt;",
    "tag": lambda label: f"<berth>{label}</berth>",
    "answer-tag": lambda label: f"<answer>{label}</answer>",
    "json": lambda label: json.dumps({"berth": label}),
    "python": lambda label: str({"berth": label}),
    "bare-words": lambda label: f"{{berth: {label}}}",
    "boxed": lambda label: f"\\boxed{{{label}}}",
}
LINES: dict[str, Rendering] = {
    "line": lambda label: f"Berth: {label}.",
    "table": lambda label: f"| berth | {label} |",
    "answer": lambda label: f"**Final answer:** {label}",
    "heading": lambda label: f"## Berth\n\n{label}",
}
EVERY = {**MARKED, **LINES}
names = st.sampled_from


def find(text: str, *fields: OutputField) -> Answer:
    return find_answer(Returned(kind=ReturnedKind.TEXT, text=text), fields or (BERTH,), SOP)


def label(text: str) -> Any:
    return find(text).values.get("berth")


@given(names(sorted(EVERY)), names(sorted(MARKED)))
def test_the_last_mark_wins_whatever_stands_before_it(first: str, last: str) -> None:
    text = f"{EVERY[first]('South Quay')}\n\nNo:\n\n{MARKED[last]('North Quay')}"

    assert label(text) == "North Quay"


@given(names(sorted(LINES)), names(sorted(LINES)))
def test_of_lines_the_last_run_wins(first: str, last: str) -> None:
    text = f"{LINES[first]('South Quay')}\n\nNo:\n\n{LINES[last]('North Quay')}"

    assert label(text) == "North Quay"


@given(names(sorted(MARKED)), names(sorted(LINES)))
def test_a_line_after_a_mark_confirms_it_or_there_are_two_answers(mark: str, line: str) -> None:
    said = MARKED[mark]("North Quay")

    assert label(f"{said}\n\n{LINES[line]('North Quay')}") == "North Quay"
    other = find(f"{said}\n\n{LINES[line]('South Quay')}")
    assert not other.complete
    assert "South Quay" in other.why


@pytest.mark.parametrize("words", RETRACTIONS)
@pytest.mark.parametrize("form", ["json", "line"])
def test_every_word_of_the_list_takes_an_answer_back(form: str, words: str) -> None:
    assert find(f"{EVERY[form]('North Quay')}\n\nThe papers are here.").complete
    assert not find(f"{EVERY[form]('North Quay')}\n\n{words.capitalize()}.").complete


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("This does not hold in winter.", id="negation"),
        pytest.param("Provided that the tide is high.", id="condition"),
        pytest.param("The South Quay is taken.", id="another-label"),
    ],
)
def test_after_a_line_stands_no_negation_nor_condition_nor_label(after: str) -> None:
    assert not find(f"Berth: North Quay\n\n{after}").complete


@pytest.mark.parametrize("key", ["input", "rejected_options", "history", "example"])
def test_an_object_under_a_key_that_holds_no_answer_is_none(key: str) -> None:
    assert not find(json.dumps({key: {"berth": "North Quay"}})).complete
    assert not find(json.dumps({key: [{"berth": "North Quay"}]})).complete
    assert find(json.dumps({key: {"berth": "South Quay"}, "berth": "North Quay"})).complete


@given(names(sorted(EVERY)), names(["<!-- {} -->", "<reasoning>{}</reasoning>", "<think>{}"]))
def test_what_is_hidden_never_wins(form: str, hiding: str) -> None:
    hidden = hiding.format(EVERY[form]("South Quay"))

    assert not find(hidden).complete
    assert label(f"{MARKED['tag']('North Quay')}\n{hidden}") == "North Quay"


@given(names(sorted(LINES)), names(["South Quay or so", "the South Quay", "West", "", "?"]))
def test_a_line_with_anything_but_a_value_is_no_answer(form: str, words: str) -> None:
    assert not find(LINES[form](words)).complete


@pytest.mark.parametrize("form", EVERY)
def test_an_answer_in_just_the_words_of_the_sop_counts_and_its_passage_does_not(form: str) -> None:
    said = EVERY[form]("North Quay")
    sop = f"When all is done and the papers are in order, end with this line:\n{said}\nGood luck."
    returned = Returned(kind=ReturnedKind.TEXT, text=said)
    quoted = Returned(kind=ReturnedKind.TEXT, text=" ".join(f"{sop}".split()[:-2]))
    lines = Returned(kind=ReturnedKind.TEXT, text=sop.upper())

    assert find_answer(returned, (BERTH,), sop).complete
    assert not find_answer(quoted, (BERTH,), sop).complete
    assert not find_answer(lines, (BERTH,), sop).complete


WHOLE = '{"berth": "North Quay", "fee": 3}'


@pytest.mark.parametrize(
    ("part", "stands"),
    [
        pytest.param('{"fee": 3}', True, id="the-same"),
        pytest.param("<fee>3.0</fee>", True, id="the-same-number"),
        pytest.param('{"fee": 4}', False, id="another-value"),
        pytest.param("{'berth': 'South Quay'}", False, id="another-label"),
        pytest.param("<berth>South Quay</berth>", False, id="another-tag"),
        pytest.param('{"ship": 4}', True, id="another-thing"),
    ],
)
def test_a_later_part_that_says_otherwise_takes_the_answer_back(part: str, stands: bool) -> None:
    assert stands is find(f"{WHOLE}\nthat is\n{part}", BERTH, FEE).complete
    assert find(f"{part}\nthat is\n{WHOLE}", BERTH, FEE).complete


@pytest.mark.parametrize(
    ("field", "words", "value"),
    [
        pytest.param(FEE, "12.50.", "12.50", id="number"),
        pytest.param(FEE, "about 12", None, id="about-a-number"),
        pytest.param(OutputField(name="fee", type=FieldType.BOOLEAN), "Yes.", "Yes", id="truth"),
        pytest.param(OutputField(name="fee", type=FieldType.BOOLEAN), "maybe", None, id="no-truth"),
        pytest.param(
            OutputField(name="fee", type=FieldType.DATE), "2026-05-01.", "2026-05-01", id="date"
        ),
        pytest.param(OutputField(name="fee", type=FieldType.DATE), "May 1", None, id="no-date"),
        pytest.param(OutputField(name="fee", type=FieldType.LIST), "['a']", "['a']", id="list"),
        pytest.param(BERTH, "none", "none", id="explicitly-empty"),
    ],
)
def test_a_line_holds_what_reads_as_the_type_of_its_field(
    field: OutputField, words: str, value: str | None
) -> None:
    assert value == find(f"Answer: {words}", field).values.get(field.name)


@pytest.mark.parametrize(
    ("field", "expected", "actual"),
    [
        pytest.param(FieldType.LIST, "[]", None, id="no-list"),
        pytest.param(FieldType.LIST, "", [], id="empty-cell"),
        pytest.param(FieldType.TEXT, '{"bay": 3, "a": [1]}', {"a": [1], "bay": 3}, id="object"),
        pytest.param(FieldType.TEXT, '{"bay": 3}', "{'bay':3}", id="object-as-text"),
    ],
)  # fmt: skip
def test_lists_and_objects_are_compared_by_what_they_hold(
    field: FieldType, expected: Any, actual: Any
) -> None:
    assert compare(OutputField(name="x", type=field), expected, actual) is None
    assert compare(OutputField(name="x", type=field), actual, expected) is None
