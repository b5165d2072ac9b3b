"""The published scorer's own way of finding an answer: a table of what it does.

Each row was worked out from the behaviour of that scorer. Many are no way to judge an agent,
which is why they are not ours; they are reproduced so that numbers can be laid side by side.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pytest_sopbench import Outcome, OutputField, Task, Trace, Verdict
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.answers.published import published_answer
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.fields.comparison import matches_as_published
from pytest_sopbench._core.fields.values import infer_field
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import FieldType, Scoring
from pytest_sopbench._core.model.trace import AnswerForm, Ending

ONE = ("berth",)
TWO = ("berth", "Fee")
LONG = "the ship may enter " * 8

FOUND: dict[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "nothing": ("", ONE, {"berth": "unknown"}),
    "plain": ("North Quay", ONE, {"berth": "north quay"}),
    "plain-prefix": ("Final Answer: North Quay", ONE, {"berth": "north quay"}),
    "plain-prefixes-in-their-order": ("Decision: Result: N", ONE, {"berth": "n"}),
    "plain-prefixes-in-another-order": ("Result: Decision: N", ONE, {"berth": "decision: n"}),
    "plain-sentence": ("It goes to N.", ONE, {"berth": "it goes to n."}),
    "plain-too-long": (LONG, ONE, {"berth": "unknown"}),
    "any-tag": ("<answer>N</answer>", ONE, {"berth": "n"}),
    "any-json": ('{"result": "N"}', ONE, {"berth": "n"}),
    "any-dict": ("{'result': ['N', 1]}", ONE, {"berth": "['n', 1]"}),
    "tag-of-the-field-first": ("<a>1</a><berth>N</berth>", ONE, {"berth": "n"}),
    "first-tag-where-none-is-the-field's": ("<a>1</a><b>2</b>", ONE, {"berth": "1"}),
    "last-of-two-tags-of-one-name": ("<berth>S</berth><berth>N</berth>", ONE, {"berth": "n"}),
    "ids-are-no-decision": ("<task_id>7</task_id><a>N</a>", ONE, {"berth": "n"}),
    "only-an-id": ("<id>7</id>", ONE, {"berth": "<id>7</id>"}),
    "first-wrapper-of-two": (
        "<final_response><a>N</a></final_response><final_response><a>S</a></final_response>",
        ONE,
        {"berth": "n"},
    ),
    "wrappers-in-their-order": (
        "<output><a>S</a></output><final_response><a>N</a></final_response>",
        ONE,
        {"berth": "n"},
    ),
    "wrapper-with-a-dict": ("<response>{'a': 'N'}</response>", ONE, {"berth": "n"}),
    "wrapper-with-words": ("<final_decision> N </final_decision>", ONE, {"berth": "n"}),
    "wrapper-with-json-words": ("<output>{'a': true}</output>", ONE, {"berth": "{'a': true}"}),
    "dict-in-a-wrapper-with-the-field": (
        "<output>{'a': 1, 'Berth': 'N'}</output>",
        ONE,
        {"berth": "n"},
    ),
    "tags-inside-tags": ("<a><b>N</b></a>", ONE, {"berth": "<b>n</b>"}),
    "final-output": ('<final_output>{"BERTH": true}</final_output>', ONE, {"berth": "true"}),
    "final-output-last": (
        '<final_output>{"berth": "S"}</final_output><final_output>{"berth": "N"}</final_output>',
        ONE,
        {"berth": "n"},
    ),
    "final-output-that-is-no-json": (
        "<final_output>{'berth': 'N'}</final_output>",
        ONE,
        {"berth": "{'berth': 'n'}"},
    ),
    "final-output-nested": (
        '<final_output>{"x": {"y": 1}, "berth": "N"}</final_output>',
        ONE,
        {"berth": "n"},
    ),
    "final-output-of-other-names": ('<final_output>{"x": 1}</final_output>', ONE,
                                    {"berth": '{"x": 1}'}),
    "json-first-value": ('{"why": "x", "berth": "N"}', ONE, {"berth": "x"}),
    "json-first-object": ('{"berth": "N"} {"berth": "S"}', ONE, {"berth": "n"}),
    "json-innermost": ('{"berth": "S", "x": {"y": "N"}}', ONE, {"berth": "n"}),
    "json-id-left-out": ('{"id": 3, "berth": "N"}', ONE, {"berth": "n"}),
    "dict-after-a-marker": (
        "{x Final Response: {'berth': {'a': None}}",
        ONE,
        {"berth": "{'a': none}"},
    ),
    "two-tags": ("<berth>N</berth><fee>3</fee>", TWO, {"berth": "n", "Fee": "3"}),
    "two-of-which-one-is-missing": ("<berth>N</berth><x>3</x>", TWO, {"berth": "n"}),
    "one-of-two-alone": ("<berth>N</berth>", TWO, {}),
    "two-in-final-output": (
        '<final_output>{"berth": "N", "fee": 3}</final_output>',
        TWO,
        {"berth": "n", "Fee": "3"},
    ),
    "two-in-json": ('{"berth": "N", "FEE": 3}', TWO, {"berth": "n", "Fee": "3"}),
    "two-in-lines": ("Berth: N\nFee: 3", TWO, {}),
    "reasoning-counts": ("<think>S</think>", ONE, {"berth": "s"}),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names", "values"), [pytest.param(*row, id=name) for name, row in FOUND.items()]
)
def test_an_answer_is_found_as_the_published_scorer_does(
    text: str, names: tuple[str, ...], values: Mapping[str, str]
) -> None:
    assert values == published_answer(text, names)


BERTH = OutputField(name="berth", type=FieldType.ENUM, values=("North Quay", "South Quay"))
FEE = OutputField(name="fee", type=FieldType.TEXT)


def verdict_on(
    said: object, expected: Mapping[str, str], *fields: OutputField, sop: str = ""
) -> Verdict:
    task = Task(domain="d", id="1", line=2, inputs={}, expected=expected, results={}, hash="h")
    trace = Trace(ending=Ending.RETURNED, returned=read_returned(said))
    return judge(JudgingRules(fields=fields, scoring=Scoring.PUBLISHED, sop=sop), task, trace)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("Final Answer: North Quay", id="prefix"),
        pytest.param("It goes to North Quay.", id="sentence"),
        pytest.param("<verdict>North Quay</verdict>", id="any-tag"),
        pytest.param('{"result": "North Quay"}', id="any-json"),
    ],
)
def test_what_is_right_there_is_right_here(said: str) -> None:
    assert verdict_on(said, {"berth": "North Quay"}, BERTH).correct


def test_an_answer_that_only_that_scorer_finds_is_kept_and_named() -> None:
    verdict = verdict_on("It goes to North Quay.", {"berth": "North Quay"}, BERTH)

    assert verdict.only_published
    assert verdict.answer is not None
    assert (AnswerForm.PUBLISHED, {"berth": "it goes to north quay."}) == (
        verdict.answer.form,
        verdict.answer.values,
    )


def test_an_answer_that_both_find_is_told_as_ours() -> None:
    verdict = verdict_on("<berth>North Quay</berth>", {"berth": "North Quay"}, BERTH)

    assert verdict.answer is not None
    assert AnswerForm.FIELD_TAGS is verdict.answer.form


def test_that_scorer_may_find_another_answer_than_ours() -> None:
    said = '{"berth": "North Quay"} corrected: {"berth": "South Quay"}'

    verdict = verdict_on(said, {"berth": "South Quay"}, BERTH)

    assert Outcome.WRONG is verdict.outcome


def test_of_several_fields_a_missing_one_is_a_mismatch_even_where_nothing_is_expected() -> None:
    verdict = verdict_on(
        "<berth>North Quay</berth>", {"berth": "North Quay", "fee": ""}, BERTH, FEE
    )

    assert ["berth", "fee"] == [mismatch.field for mismatch in verdict.mismatches]


def test_a_mapping_is_taken_by_its_fields() -> None:
    assert verdict_on({"berth": "north_quay"}, {"berth": "North Quay"}, BERTH).correct


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("", "unknown", True, id="unknown-is-a-null"),
        pytest.param("Unknown ", None, True, id="null-and-unknown"),
        pytest.param("unknown", "north", False, id="null-and-value"),
        pytest.param("_", "north quay", True, id="a-stroke-is-a-space"),
        pytest.param("D", "Hazard Class D", True, id="part"),
        pytest.param("hazard-class_d", "Hazard Class D", True, id="strokes"),
        pytest.param("12.5", "12.50", True, id="number-in-number"),
    ],
)
def test_values_are_compared_as_there(one: str, other: str | None, same: bool) -> None:
    assert same is matches_as_published(one, other)
    assert same is matches_as_published(other, one)


def test_no_text_makes_that_search_fail() -> None:
    parts = ["<", "<a>", "</a>", "{", "}", "{'a':", "<final_output>", "<final_output>{",
             "}</final_output>", "output:", "[", '{"a":{', "Output:"]  # fmt: skip

    for part in parts:
        assert published_answer(part * 20_000, ONE)
        assert "berth" in published_answer(f"<output>{part * 20_000}}}</output>", ONE)


DATA = os.environ.get("SOPBENCH_DATA")


def _public() -> Iterator[tuple[OutputField, str, str]]:
    for folder in sorted(Path(DATA, "sop_bench").iterdir()) if DATA else ():
        names = json.loads((folder / "metadata.json").read_text("utf-8"))["output_columns"]
        if len(names) > 1:
            continue
        with (folder / "test_set_with_outputs.csv").open(encoding="utf-8-sig", newline="") as file:
            cells = [row[names[0]] for row in csv.DictReader(file)]
        field = infer_field(names[0], cells)
        yield from ((field, cell, (folder / "sop.txt").read_text("utf-8")) for cell in cells)


@pytest.mark.skipif(not DATA, reason="SOPBENCH_DATA names no folder of public domains")
@pytest.mark.parametrize(
    "form",
    ["Final Answer: {}", "The right one is {}.", "<answer>{}</answer>", '{{"result": "{}"}}'],
    ids=["prefix", "sentence", "answer-tag", "result"],
)
def test_the_forms_that_are_right_there_are_right_for_every_public_row(form: str) -> None:
    rows = list(_public())

    right = [
        verdict_on(form.format(cell), {field.name: cell}, field, sop=sop).correct
        for field, cell, sop in rows
    ]

    assert 400 < len(rows) == sum(right)
