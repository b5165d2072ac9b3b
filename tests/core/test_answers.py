"""Finding the answer: laws for every form, a slow reference finder, and texts meant to hang."""

from __future__ import annotations

import functools
import html
import json
import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench import Answer, OutputField
from tests.builders.judged import (
    AnswerForm,
    Compare,
    FieldType,
    Returned,
    ReturnedKind,
    find_answer,
    read_returned,
)

PAIR = (
    OutputField(name="berth", type=FieldType.TEXT),
    OutputField(name="fee due", type=FieldType.TEXT),
)
LABELS = OutputField(name="berth", type=FieldType.ENUM, values=("North Quay", "South Quay"))


def find(value: object, fields: tuple[OutputField, ...] = PAIR) -> Answer:
    return find_answer(read_returned(value), fields)


def test_a_mapping_is_the_answer_and_other_names_are_noted() -> None:
    answer = find({"Berth": "N", "fee_due": 3, "note": "x"})

    assert AnswerForm.MAPPING is answer.form
    assert ({"berth": "N", "fee due": 3}, ("note",), None) == (
        answer.values,
        answer.extra,
        answer.position,
    )


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param(None, "the agent returned None", id="none"),
        pytest.param(3, "the agent returned a value of type int", id="number"),
        pytest.param({}, "the mapping that was returned is empty", id="empty-mapping"),
        pytest.param(
            {"a": 1}, "the mapping that was returned has none of the output fields", id="other"
        ),
        pytest.param(
            {"berth": 1}, "the mapping that was returned gave no fee due", id="mapping-lacks-one"
        ),
        pytest.param(
            {"bearth": 1},
            "the mapping that was returned has none of the output fields; "
            "is 'bearth' meant as 'berth'?",
            id="misspelled",
        ),
        pytest.param(
            {"berth": 1, "fee_dve": 2},
            "the mapping that was returned gave no fee due; is 'fee_dve' meant as 'fee due'?",
            id="one-misspelled",
        ),
        pytest.param(
            {"output": ""},
            "the mapping that was returned has none of the output fields",
            id="empty-output",
        ),
        pytest.param([""], "the text is empty", id="empty-block"),
    ],
)
def test_why_nothing_was_found_is_said(value: object, why: str) -> None:
    answer = find(value)

    assert (False, why) == (answer.complete, answer.why)


def test_the_best_form_says_what_is_missing() -> None:
    answer = find('{"berth": 1}\nnothing: else')

    assert (("fee due",), {"berth": 1}) == (answer.missing, answer.values)


def test_a_mapping_with_messages_answers_before_what_was_said() -> None:
    said = {"role": "assistant", "content": "<berth>S</berth><fee_due>2</fee_due>"}

    assert "N" == find({"berth": "N", "fee due": 1, "messages": [said]}).values["berth"]
    assert "S" == find({"step": 3, "messages": [said]}).values["berth"]


def test_a_text_that_is_wrapped_answers_before_its_wrapper() -> None:
    wrapped = {"output": "<status>open</status>", "status": "completed", "success": True}
    field = (OutputField(name="status", type=FieldType.TEXT),)

    assert "open" == find(wrapped, field).values["status"]
    assert "completed" == find({**wrapped, "output": "no tag"}, field).values["status"]


def test_a_field_may_be_called_output() -> None:
    field = (OutputField(name="output", type=FieldType.TEXT),)

    assert "x" == find({"output": "x"}, field).values["output"]


def test_an_ignored_field_is_never_missing() -> None:
    ignored = OutputField(name="note", type=FieldType.TEXT, compare=Compare.IGNORE)

    answer = find("<final_decision>North Quay</final_decision>", (LABELS, ignored))

    assert (AnswerForm.FINAL_DECISION, {"berth": "North Quay"}) == (answer.form, answer.values)
    assert "x" == find({"berth": 1, "note": "x"}, (LABELS, ignored)).values["note"]


def test_the_position_counts_characters_that_nobody_sees() -> None:
    text = "\u200b\u200bso\u200b <berth>N\u200b</berth> \u200b<fee due>1</fee due>"

    answer = find(text)

    assert answer.position is not None
    assert text[answer.position :].startswith("<berth>")


NAMES = {"berth", "fee due"}
WORDS = (
    st.text(st.sampled_from("abcXYZ 019.\u00e9\u4e2d#%:;/()"), min_size=1, max_size=12)
    .map(lambda text: " ".join(text.split()))
    .filter(bool)
    # A field that is left blank answers nothing; other tests ask for that.
    .filter(lambda text: text != "...")
)
ANSWERS = st.fixed_dictionaries({"berth": WORDS, "fee due": WORDS})
# Prose has no answer of its own; a stray brace, quote or bracket it may have.
PROSE = st.text(st.sampled_from("abc .,\n{}[]\"'`<>=&*-_\u00a0\u200b"), max_size=30)

Rendering = Callable[[Mapping[str, str]], str]


def _tags(answer: Mapping[str, str]) -> str:
    return "".join(f"<{name}>{html.escape(value)}</{name}>" for name, value in answer.items())


def _lines(answer: Mapping[str, str]) -> str:
    return "\n".join(f"**{name}**: {value}" for name, value in answer.items())


RENDERINGS: dict[AnswerForm, Rendering] = {
    AnswerForm.FINAL_OUTPUT: lambda answer: f"<final_output>{json.dumps(answer)}</final_output>",
    AnswerForm.FIELD_TAGS: _tags,
    AnswerForm.JSON: json.dumps,
    AnswerForm.PYTHON: lambda answer: repr(dict(answer)),
    AnswerForm.FIELD_LINES: _lines,
}


@given(st.sampled_from(list(RENDERINGS)), ANSWERS)
def test_an_answer_is_found_in_its_own_rendering(form: AnswerForm, said: dict[str, str]) -> None:
    answer = find(RENDERINGS[form](said))

    assert (form, said) == (answer.form, answer.values)


@given(st.sampled_from(list(RENDERINGS)), ANSWERS, PROSE)
def test_prose_before_an_answer_changes_nothing(
    form: AnswerForm, said: dict[str, str], prose: str
) -> None:
    answer = find(f"{prose}\n{RENDERINGS[form](said)}")

    assert (form, said) == (answer.form, answer.values)


@given(st.sampled_from(LABELS.values), PROSE)
def test_prose_before_a_final_decision_changes_nothing(said: str, prose: str) -> None:
    answer = find(f"{prose}\n<final_decision>{said}</final_decision>", (LABELS,))

    assert (AnswerForm.FINAL_DECISION, said) == (answer.form, answer.values["berth"])


@pytest.mark.parametrize("dots", ["...", "\u2026"])
def test_a_field_that_is_left_blank_answers_nothing(dots: str) -> None:
    blank = f"<final_decision>{dots}</final_decision>"

    assert not find(blank, (LABELS,)).values
    assert (
        "North Quay"
        == find(f"<final_decision>North Quay</final_decision>. As in {blank}", (LABELS,)).values[
            "berth"
        ]
    )


@given(st.sampled_from(list(RENDERINGS)), ANSWERS, ANSWERS)
def test_the_last_answer_wins(
    form: AnswerForm, first: dict[str, str], last: dict[str, str]
) -> None:
    answer = find(f"{RENDERINGS[form](first)}\nor rather\n{RENDERINGS[form](last)}")

    assert last == answer.values


@given(st.sampled_from(["thinking", "Think", "ANALYSIS", "scratchpad"]), ANSWERS)
def test_reasoning_is_never_an_answer(tag: str, said: dict[str, str]) -> None:
    everything = "\n".join(render(said) for render in RENDERINGS.values())

    assert not find(f"<{tag}>{everything}</{tag}>").complete
    assert not find(f"<{tag}>{everything}").complete


ALPHABET = st.sampled_from(
    ["{", "}", "[", "]", "(", ")", ":", ",", '"', "'", "\\", "<", ">", "/", "`", "*", "&", "\n",
     " ", "berth", "fee due", "fee_due", "<berth>", "</berth>", '"berth"', "'berth'", "1", "-",
     "true", "None", '"a": ', "think", "<think>", "</thinking>", "final_output", "&amp;", "\u200b",
     "<![CDATA[", "]]>", "```", "output", "<final_decision>", "null", "\u00e9"]
)  # fmt: skip
NOISE = st.lists(ALPHABET, max_size=40).map("".join)


@settings(max_examples=300)
@given(NOISE)
def test_no_text_raises_and_every_answer_is_whole(text: str) -> None:
    answer = find(text)

    assert answer.complete == (not answer.missing)
    assert answer.complete == (NAMES <= answer.values.keys())
    assert bool(answer.why) != answer.complete


@given(st.text(), st.binary())
def test_finding_is_a_function_of_the_text(text: str, more: bytes) -> None:
    said = Returned(kind=ReturnedKind.TEXT, text=text)

    assert find_answer(said, PAIR) == find_answer(said, PAIR)
    find(more)


CountSteps = Callable[[Callable[[], object]], int]

HANGING = [
    "<", "{", "[", '"', "'", "`", "<a", "&", "<berth>", "</berth>", "<berth ", "<berth x=",
    "<berth x=y ", "<think>", "</think>", "<think></analysis>", '{"berth":', '{"berth":[',
    "{'berth':", '{"a":"{', '{"a":"\\"', '{"\\"', "*", "* ", "berth:", "- ", "\n", " ", "&#",
    "&lt;", "<![CDATA[", "\u200b", "\u00a0", "_", "berth ", "\\u", '{"berth":1}', "``", "***a",
    "<!--", "<think></think>", "<plan>", "<plan></plan>", "~~", "~~a", "> ", "# ", "1. ", "|a|b|\n",
    "    a\n\n", "- a\n  - b\n", "\\boxed{", "<|channel|>a<|message|>", "&lt;berth&gt;", "not ",
    " e.g. <berth>N</berth>", "-->", "<berth>x</berth>", "<final_output>{",
    '<final_decision>{"berth":', "<answer>", '{"berth":{"berth":', "{berth: North Quay}",
    "{berth:", "berth: North Quay\n", "Answer:\n", "\\boxed{{a}", "\\boxed{North Quay}",
    "| berth | x |\n", "For livestock that is always the quay in ",
    '{"berth": "North Quay", "ship": "TX-00000"}',
]  # fmt: skip


FRAMES = ("{}", '{}"}}', "<berth>{}", "<final_output>{}}}</final_output>")


@pytest.mark.parametrize("part", [pytest.param(part, id=repr(part)) for part in HANGING])
def test_steps_grow_with_the_length_of_the_text_and_no_faster(
    part: str, count_steps: CountSteps
) -> None:
    short, long = part * (2_000 // len(part)), part * (4_000 // len(part))

    for frame in FRAMES:
        steps = [count_steps(functools.partial(find, frame.format(text))) for text in (short, long)]
        # A hundred calls are made whatever the text.
        assert steps[1] <= 2.2 * steps[0] + 100, frame


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("part", [pytest.param(part, id=repr(part)) for part in HANGING])
def test_a_long_text_of_one_part_is_read_to_its_end(part: str) -> None:
    """A pattern or parser that goes back over the text needs hours for this."""
    text = part * (12_000 // len(part))

    for frame in FRAMES:
        find(frame.format(text))


def test_deep_nesting_neither_recurses_nor_hangs() -> None:
    def nested(depth: int) -> str:
        return '{"output":' * depth + '{"berth": "N", "fee due": "1"}' + "}" * depth

    assert {"berth": "N", "fee due": "1"} == find(nested(5_000)).values
    # Of this one the beginning is cut off, and the rest is under no key that is known.
    assert not find(nested(100_000)).complete
    deep = '{"fee due": 1, "berth": ' + "[" * 25_000 + "]" * 25_000 + "}"
    assert find(deep).complete


class TestByName:
    """What a test reads of an answer: `sop_run.answer["reason"]`."""

    def test_a_field_is_found_by_its_name(self) -> None:
        assert 3 == find({"Berth": "N", "fee_due": 3})["fee due"]

    @pytest.mark.parametrize(
        "returned",
        [
            pytest.param({"berth": "N", "fee due": 3, "reason": "clause 4"}, id="mapping"),
            pytest.param('So: {"berth": "N", "fee due": 3, "reason": "clause 4"}', id="text"),
        ],
    )
    def test_what_stands_beside_the_fields_is_found_too(self, returned: object) -> None:
        answer = find(returned)

        assert "clause 4" == answer["reason"]
        assert {"berth", "fee due", "reason"} == {*answer}
        assert "reason" in answer

    def test_a_name_that_is_not_there_is_an_error_that_lists_those_that_are(self) -> None:
        with pytest.raises(KeyError, match="verdict: the answer has 'berth', 'reason'"):
            find({"berth": "N", "reason": "clause 4"})["verdict"]

    def test_a_name_in_an_empty_answer_is_an_error(self) -> None:
        with pytest.raises(KeyError, match="verdict: the answer has nothing"):
            find("I do not know.")["verdict"]


@pytest.mark.parametrize(
    ("said", "is_loaded"),
    [
        pytest.param({"berth": "North Quay"}, False, id="mapping"),
        pytest.param("So:\n<berth>North Quay</berth>", False, id="tag"),
        pytest.param('```json\n{"berth": "North Quay"}\n```', False, id="json"),
        pytest.param("North Quay", False, id="value"),
        pytest.param("I do not know.", False, id="prose"),
        pytest.param("Berth: North Quay", True, id="line"),
    ],
)
def test_markdown_is_loaded_only_where_lines_have_to_be_read(said: object, is_loaded: bool) -> None:
    program = (
        "import sys\n"
        "from pytest_sopbench._core.answers.find import find_answer, read_returned\n"
        "from pytest_sopbench._core.model.task import FieldType, OutputField\n"
        "fields = (OutputField(name='berth', type=FieldType.ENUM, values=('North Quay',)),)\n"
        f"find_answer(read_returned({said!r}), fields)\n"
        "print('markdown_it' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert str(is_loaded) == done.stdout.strip()


DECISION = (OutputField(name="decision", type=FieldType.ENUM, values=("refund", "decline")),)
RIGHT = '{"decision": "refund"}'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"decision": "refund", "success": false}', id="success is false"),
        pytest.param('{"decision": "refund", "Error": "the bank is away"}', id="an error"),
        pytest.param(f'{{"output": {RIGHT}, "error": "the bank is away"}}', id="around it"),
        pytest.param(f'```json\n{{"output": {RIGHT}, "success": "false"}}\n```', id="in a fence"),
        pytest.param(f'loading\n{{"output": {RIGHT}, "error": "away"}}', id="behind a log line"),
        pytest.param(f'{RIGHT}\n{{"error": "away"}}', id="in the next line"),
        pytest.param(f'data: {{"output": {RIGHT}}}\n\ndata: {{"error": "away"}}', id="events"),
        pytest.param(f'{{"output": {RIGHT}, "error": "away", "usage": {{', id="cut off behind it"),
        pytest.param(f'{{"output": {RIGHT}', id="cut off"),
        pytest.param(f'{{"output":\n{" " * 200}{RIGHT}', id="cut off, far from its name"),
        pytest.param('{"decision": "refund", "error": "away", "Error": null}', id="said twice"),
        pytest.param('{"decision": "refund", "success": false, "Success": true}', id="and denied"),
        pytest.param(f'{{"success": false, "answer": {RIGHT}', id="cut off, failure before it"),
    ],
)
def test_a_text_that_says_that_its_run_failed_or_is_cut_off_is_no_answer(text: str) -> None:
    answer = find(text, DECISION)

    assert not answer.complete
    assert not answer.values


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"decision": "refund", "success": true, "error": null}', id="none"),
        pytest.param(f'{{"output": {RIGHT}, "error": ""}}', id="empty"),
        pytest.param(
            f'{{"error": "not found"}}\n\nI asked again.\n\n{RIGHT}', id="of a call before"
        ),
        pytest.param(f'"answer": {RIGHT}', id="under a name, without an object around it"),
    ],
)
def test_a_text_that_tells_of_no_failure_of_its_run_is_read(text: str) -> None:
    assert {"decision": "refund"} == find(text, DECISION).values


def test_a_field_that_is_called_error_is_no_failure() -> None:
    fields = (*DECISION, OutputField(name="error", type=FieldType.TEXT))

    answer = find('{"decision": "decline", "error": "E-17", "success": false}', fields)

    assert {"decision": "decline", "error": "E-17"} == answer.values


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param({"output": {"decision": "refund"}, "success": "false"}, "success is False"),
        pytest.param({"output": {"decision": "refund"}, "success": 0}, "success is False"),
        pytest.param({"decision": "refund", "Error": "away"}, "away"),
        pytest.param({"decision": "refund", "success": False, "error": "away"}, "away"),
        pytest.param({"decision": "refund", "success": "yes", "error": "none"}, None),
    ],
)
def test_a_mapping_says_that_its_run_failed_however_it_is_written(
    said: Mapping[str, object], why: str | None
) -> None:
    assert why == read_returned(said).declared_error


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"decision": "refund", "status": "preliminary"}, id="a draft"),
        pytest.param({"decision": "refund", "final": False}, id="not final"),
    ],
)
def test_a_mapping_that_says_it_is_a_draft_is_no_answer(said: Mapping[str, object]) -> None:
    answer = find(said, DECISION)

    assert not answer.complete
    assert "beside the answer stands" in answer.why


@pytest.mark.parametrize("open_", ["...", "<summary>", "TBD", "???"])
def test_what_is_still_to_be_filled_in_is_not_present(open_: str) -> None:
    field = OutputField(name="summary", type=FieldType.TEXT, compare=Compare.PRESENT)

    answer = find({"summary": open_}, (field,))

    assert not answer.complete
    assert "still to be filled in" in answer.why
