"""A slow, plain reference finder, with which the real one agrees.

It knows nothing of linear time: every stretch of the text that could be something is cut out and
given to the standard library, or to `str.partition`.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.answers.find import find_answer
from pytest_sopbench._core.answers.forms import bare_dicts
from pytest_sopbench._core.fields.values import value_key
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm, Returned, ReturnedKind
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import last_object, read_list

PAIR = (
    OutputField(name="berth", type=FieldType.TEXT),
    OutputField(name="fee due", type=FieldType.TEXT),
)
NAMES = tuple(field.name for field in PAIR)

Hit = tuple[AnswerForm, Mapping[str, Any]] | None
Part = tuple[AnswerForm, int, int, Mapping[str, Any]]


def _object(text: str, dialect: Dialect) -> dict[str, Any] | None:
    found = _last_object(text, dialect, lambda value: not NAMES_SET.isdisjoint(value))
    return found and found[2]


def _last_object(
    text: str, dialect: Dialect, wanted: Callable[[dict[str, Any]], bool]
) -> tuple[int, int, dict[str, Any]] | None:
    ends = [place for place, mark in enumerate(text) if mark == "}"]
    for end in reversed(ends):
        for start in (place for place in range(end) if text[place] == "{"):
            found = _read(text[start : end + 1], dialect)
            if isinstance(found, dict) and wanted(found):
                return start, end + 1, found
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


def _elements(text: str, name: str) -> list[tuple[int, int, str]]:
    """The elements of that name with where they start and end; each ends before the next."""
    opening, closing = f"<{name}>", f"</{name}>"
    found: list[tuple[int, int, str]] = []
    starts = [place for place in range(len(text)) if text.startswith(opening, place)]
    for start, following in pairwise([*starts, len(text)]):
        inner = start + len(opening)
        if closing in text[inner:following]:
            end = text.index(closing, inner)
            found.append((start, end + len(closing), text[inner:end]))
            continue
        after = text[inner:]
        cut = min((after.find(tag) for tag in TAGS if tag in after), default=len(after))
        line = after[:cut].lstrip().split("\n")[0]
        if _bare(line):
            found.append((start, text.index(line, inner) + len(line), line))
    return found


TAGS = [f"<{slash}{name}>" for name in (*NAMES, "final_output") for slash in ("", "/")]


def _tag_values(text: str) -> list[Part]:
    last = {name: _elements(text, name)[-1:] for name in NAMES}
    hits = {name: several[0] for name, several in last.items() if several}
    if not hits:
        return []
    alone = [
        (AnswerForm.FIELD_TAGS, start, end, {name: _tag_value(name, inside)})
        for name, (start, end, inside) in hits.items()
    ]
    together = {name: _tag_value(name, inside) for name, (_, _, inside) in hits.items()}
    start = min(start for start, _, _ in hits.values())
    end = max(end for _, end, _ in hits.values())
    return [(AnswerForm.FIELD_TAGS, start, end, together), *alone]


def _tag_value(name: str, inside: str) -> Any:
    value = _bare(inside)
    several = [values for _, _, _, values in _objects(value)] if value.startswith("{") else []
    best = [*filter(_is_whole, several), *several]
    return best[0][name] if best and name in best[0] else value


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
        if name.strip() in NAMES and _bare(value):
            values[name.strip()] = _bare(value)
    return values


def _is_whole(values: Mapping[str, Any]) -> bool:
    return values.keys() >= NAMES_SET


def _is_part(values: Mapping[str, Any]) -> bool:
    return not _is_whole(values) and not NAMES_SET.isdisjoint(values)


def _objects(text: str) -> list[Part]:
    forms = ((AnswerForm.JSON, Dialect.JSON), (AnswerForm.PYTHON, Dialect.PYTHON))
    found = [
        (form, *last)
        for form, dialect in forms
        for wanted in (_is_whole, _is_part)
        if (last := _last_object(text, dialect, wanted)) is not None
    ]
    # Dicts of bare words have a table of their own; here every word would have to be quoted.
    bare = [one for one in bare_dicts(text) if NAMES_SET.isdisjoint(one.bare)]
    for wanted in (_is_whole, _is_part):
        several = [(one.start, one.end, one.value) for one in bare if wanted(one.value)]
        found += [(AnswerForm.PYTHON, *one) for one in several[-1:]]
    return found


def _final_outputs(text: str) -> list[Part]:
    found: list[Part] = []
    for start, end, inside in _elements(text, "final_output"):
        several = [values for _, _, _, values in _objects(inside)]
        best = [*filter(_is_whole, several), *several]
        found += [(AnswerForm.FINAL_OUTPUT, start, end, values) for values in best[:1]]
    whole = [one for one in found if _is_whole(one[3])]
    return [*whole[-1:], *[one for one in found if one not in whole][-1:]]


def _differs(one: Any, other: Any) -> bool:
    return value_key(PAIR[0], one) != value_key(PAIR[0], other)


def _reference(text: str) -> Hit:
    """The last whole answer, unless a later part of one says otherwise; lines come after all."""
    marked = [*_final_outputs(text), *_tag_values(text), *_objects(text)]
    whole = [one for one in marked if _is_whole(one[3])]
    lines = _line_values(text)
    if whole:
        form, _, end, values = max(whole, key=lambda one: one[2])
    elif _is_whole(lines):
        form, end, values = AnswerForm.FIELD_LINES, _end_of_lines(text), lines
    else:
        return None
    for _, start, _, said in marked:
        if start >= end and any(_differs(said[name], values[name]) for name in NAMES_SET & {*said}):
            return None
    return form, {name: values[name] for name in NAMES}


def _end_of_lines(text: str) -> int:
    """Where the last line ends that gives a field its value."""
    ends: dict[str, int] = {}
    end = 0
    for line in text.split("\n"):
        name, _, value = line.partition(":")
        end += len(line)
        if name.strip() in NAMES and _bare(value):
            ends[name.strip()] = end
        end += 1
    return max(ends.values())


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
