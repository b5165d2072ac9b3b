"""A slow, plain reference finder, with which the real one agrees.

It knows nothing of linear time: every stretch of the text that could be something is cut out and
given to the standard library, or to `str.partition`.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.answers import find_answer
from pytest_sopbench._core.grammars import Dialect
from pytest_sopbench._core.literals import last_object, read_list
from pytest_sopbench._core.models import FieldType, OutputField
from pytest_sopbench._core.traces import Returned, ReturnedKind
from pytest_sopbench._core.verdicts import AnswerForm

PAIR = (
    OutputField(name="berth", type=FieldType.TEXT),
    OutputField(name="fee due", type=FieldType.TEXT),
)
NAMES = tuple(field.name for field in PAIR)

Hit = tuple[AnswerForm, Mapping[str, Any]] | None


def _object(text: str, dialect: Dialect) -> dict[str, Any] | None:
    ends = [place for place, mark in enumerate(text) if mark == "}"]
    for end in reversed(ends):
        for start in (place for place in range(end) if text[place] == "{"):
            found = _read(text[start : end + 1], dialect)
            if isinstance(found, dict) and not NAMES_SET.isdisjoint(found):
                return found
    return None


NAMES_SET = set(NAMES)


def _read(text: str, dialect: Dialect) -> Any:
    try:
        return json.loads(text, strict=False)
    except ValueError:
        if dialect is Dialect.JSON:
            return None
    # Unlike Python, agents break lines inside of strings: each break is tried as both.
    pieces = text.split("\n")
    for breaks in product((" ", "\\n"), repeat=len(pieces) - 1):
        whole = "".join(chain.from_iterable(zip(pieces, (*breaks, ""), strict=True)))
        with suppress(ValueError, SyntaxError, TypeError, tokenize.TokenError):
            if _is_data(whole):
                return ast.literal_eval(whole)
    return None


def _is_data(text: str) -> bool:
    """Python reads more than data: sets, sums, and strings that stand side by side."""
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    side_by_side = (tokenize.STRING, tokenize.STRING) in pairwise(kinds)
    nodes = list(ast.walk(ast.parse(text, mode="eval")))
    return not side_by_side and not any(isinstance(one, ast.Set | ast.BinOp) for one in nodes)


def _element(text: str, name: str, tags: list[str]) -> str | None:
    """The inside of the last tag of that name that holds anything."""
    before, opening, after = text.rpartition(f"<{name}>")
    if not opening:
        return None
    inside, closing, _ = after.partition(f"</{name}>")
    if closing:
        return inside
    cut = min((after.find(tag) for tag in tags if tag in after), default=len(after))
    line = after[:cut].lstrip().split("\n")[0].strip()
    return line or _element(before, name, [*tags, f"<{name}>"])


TAGS = [f"<{slash}{name}>" for name in (*NAMES, "final_output") for slash in ("", "/")]


def _tag_values(text: str) -> dict[str, str]:
    # The cut ends where the next tag begins, which may be one of the same name.
    found = {name: _element(text, name, TAGS) for name in NAMES}
    return {name: _bare(value) for name, value in found.items() if value is not None}


def _bare(value: str) -> str:
    stripped = value.strip()
    quoted = len(stripped) > 1 and stripped.count('"') == 2
    if quoted and stripped.startswith('"') and stripped.endswith('"'):
        return _bare(stripped[1:-1])
    return stripped


def _line_values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        if name.strip() in NAMES and value.strip():
            values[name.strip()] = _bare(value)
    return values


def _reference(text: str) -> Hit:
    output = _element(text, "final_output", TAGS)
    found = {
        AnswerForm.FINAL_OUTPUT: _object(output, Dialect.JSON) if output else None,
        AnswerForm.FIELD_TAGS: _tag_values(text),
        AnswerForm.JSON: _object(text, Dialect.JSON),
        AnswerForm.PYTHON: _object(text, Dialect.PYTHON),
        AnswerForm.FIELD_LINES: _line_values(text),
    }
    for form, values in found.items():
        if values is not None and NAMES_SET <= values.keys():
            return form, {name: values[name] for name in NAMES}
    return None


PIECES = st.sampled_from(
    ["<berth>", "</berth>", "<fee due>", "</fee due>", "<final_output>", "</final_output>", "\n",
     " ", "x", "y z", "berth: ", "fee due:", '{"berth": 1, "fee due": 2}', "{'berth': 'x', ",
     "'fee due': 'y'}", '{"berth": "x", ', '"fee due": [1]}', "}", "{", "<other>", '"', "a < b",
     "\nberth: x\n", "\nfee due: y\n", "<berth>x</berth>", "<fee due>y</fee due>"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_the_reference_finder_agrees_on_the_form_and_the_values(text: str) -> None:
    answer = find_answer(Returned(kind=ReturnedKind.TEXT, text=text), PAIR)

    hit = (answer.form, dict(answer.values)) if answer.complete else None
    # Which field came first is of no consequence.
    assert _reference(text) == hit


JSON_NOISE = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "\\", " ", '"berth"', '{"berth":', '{"a":', "1", "-0.5",
         "01", "true", "nul", '"x"', '\\"', "\n", "e", '"berth":"N"', "}}", '","', '{"berth":1}']
    ),
    max_size=25,
).map("".join)  # fmt: skip


def _same(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


@settings(max_examples=250, deadline=None)
@given(JSON_NOISE)
def test_the_reference_finder_agrees_on_json(text: str) -> None:
    found = last_object(text, Dialect.JSON, lambda value: not NAMES_SET.isdisjoint(value))

    assert _same(_object(text, Dialect.JSON), found and found.value)
    assert found is None or _same(
        json.loads(text[found.start : found.end], strict=False), found.value
    )


PYTHON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text(st.sampled_from("ab'\"\\{}\n\t ")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["berth", "a", "'", '"{']), inner, max_size=3)
    ),
    max_leaves=6,
)
PYTHON_NOISE = st.lists(
    PYTHON_VALUES.map(repr) | st.sampled_from(["{", "}", "'", '"', ",", "x", "{'berth': "]),
    max_size=6,
).map(" ".join)


@settings(max_examples=250, deadline=None)
@given(PYTHON_NOISE)
def test_the_reference_finder_agrees_on_python(text: str) -> None:
    found = last_object(text, Dialect.PYTHON, lambda value: not NAMES_SET.isdisjoint(value))
    reference = _object(text, Dialect.PYTHON)

    assert _same(reference, found and found.value)


@given(st.lists(PYTHON_VALUES, max_size=4))
def test_a_list_literal_is_read_back(values: list[Any]) -> None:
    assert values == read_list(repr(values))
    assert values == read_list(f"  {json.dumps(values)}\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a, b", id="no-brackets"),
        pytest.param("[1] [2]", id="two-lists"),
        pytest.param("[1", id="cut-off"),
        pytest.param("[1)", id="other-bracket"),
        pytest.param("[x]", id="name"),
        pytest.param("[-x]", id="sign-and-name"),
        pytest.param("[1 2]", id="no-comma"),
        pytest.param("[{'a' 1}]", id="no-colon"),
        pytest.param("['\\U000FFFFF', 1", id="cut-off-after-an-escape"),
        pytest.param("['\\U00110000']", id="no-such-character"),
        pytest.param("[{'\\U00110000': 1}]", id="no-such-character-in-a-key"),
    ],
)
def test_what_is_not_one_list_literal_is_none(text: str) -> None:
    assert read_list(text) is None


def test_numbers_of_any_size_are_read() -> None:
    long = "9" * 5_000

    assert [long, 1e300, float("inf"), -7] == read_list(f"[{long}, 1e300, 1e999, -7]")


def test_a_character_beyond_sixteen_bits_is_read() -> None:
    assert ["\U0001f600\U0010ffff"] == read_list("['\\U0001f600\\U0010FFFF']")
