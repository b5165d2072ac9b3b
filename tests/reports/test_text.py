"""Text that fits on a terminal, whatever an agent wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports import text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 100))
def test_a_cut_text_fits(words: str, width: int) -> None:
    assert text.columns(text.cut(words, width)) <= width


@given(st.text("ab", max_size=20))
def test_a_short_text_is_not_cut(words: str) -> None:
    assert words == text.cut(words, 20)


@pytest.mark.parametrize(
    ("words", "width", "cut"),
    [
        pytest.param("abcdefgh", 7, "abcd...", id="letters"),
        pytest.param("日本語日本語", 8, "日本...", id="wide letters"),
        pytest.param("abcdefgh", 2, "..", id="no room for more"),
        pytest.param("abcdefgh", -1, "", id="no room"),
    ],
)
def test_a_cut_text_says_so(words: str, width: int, cut: str) -> None:
    assert cut == text.cut(words, width)


@settings(max_examples=60)
@given(TEXTS)
def test_one_line_moves_no_cursor(words: str) -> None:
    assert text.one_line(words).isprintable()


@settings(max_examples=60)
@given(TEXTS, st.integers(0, 40))
def test_padded_text_is_exactly_as_wide(words: str, width: int) -> None:
    line = text.padded(text.one_line(words), width)

    assert width == text.columns(line)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("1", "'1'", id="text"),
        pytest.param(1, "1", id="number"),
        pytest.param(None, "None", id="null"),
        pytest.param(True, "True", id="boolean"),
        pytest.param({"a": ["é"]}, '{"a": ["é"]}', id="mapping"),
        pytest.param("two\nlines\x1b[31m", r"'two\nlines\x1b[31m'", id="control characters"),
    ],
)
def test_a_value_shows_its_type(value: JsonValue, shown: str) -> None:
    assert shown == text.shown(value)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        pytest.param({"a": 1, "b\n": "x"}, "a=1, b ='x'", id="mapping"),
        pytest.param({"a": "y" * 50}, "a='yyyyyy...", id="long value"),
        pytest.param(["a", 1], '["a", 1]', id="no mapping"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_named_values(values: JsonValue, line: str) -> None:
    assert line == text.named(values, 10)


def test_a_heading_is_that_of_the_interface() -> None:
    line = "==================== SOP: dangerous_goods, agent mypkg:agent ==================="

    assert line == text.heading("SOP: dangerous_goods, agent mypkg:agent")


@pytest.mark.parametrize("length", [0, 1, 20, 74, 75, 300])
def test_a_heading_is_80_columns_wide(length: int) -> None:
    assert len(text.heading("x" * length)) == 80


def test_a_label_stands_beside_its_lines() -> None:
    lines = list(text.labelled("inputs", "one two three four", width=19))

    assert lines == ["inputs   one two", "         three four"]


def test_labelled_text_is_cut_after_its_lines() -> None:
    lines = list(text.labelled("inputs", "one two three four five", width=19, lines=2))

    assert lines == ["inputs   one two", "         three f..."]


def test_a_label_without_text_is_a_line() -> None:
    assert list(text.labelled("inputs", "")) == ["inputs"]


def test_parts_that_find_no_room_follow_below() -> None:
    lines = list(text.packed("C-TSR", ["a" * 40, "b" * 40, "c" * 90], gap="  ", indent=7))

    assert lines == [f"C-TSR  {'a' * 40}", f"       {'b' * 40}", f"       {'c' * 70}..."]
