"""A slow, plain reference finder of objects, with which the real one agrees.

It knows nothing of linear time: every stretch of the text that could be an object is cut out and
given to the standard library.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Callable
from contextlib import suppress
from itertools import chain, pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import Found, objects, read_list

NAMES_SET = {"berth", "fee due"}


def _found(text: str, dialect: Dialect) -> Found | None:
    """Return the object that ends last; of one and another inside it the outer one does."""
    named = (one for one in objects(text, dialect) if not NAMES_SET.isdisjoint(one.value))
    return max(named, key=lambda one: one.end, default=None)


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
    found = _found(text, Dialect.JSON)

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
    found = _found(text, Dialect.PYTHON)
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
