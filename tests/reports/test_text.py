"""Text that fits on a terminal, whatever an agent wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports import text
from pytest_sopbench._reports import text as numbers

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


# Numbers as people read them.


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        pytest.param(None, "n/a", id="nothing to divide"),
        pytest.param(0.0, "0.0%", id="none"),
        pytest.param(1.0, "100.0%", id="all"),
        pytest.param(258 / 274, "94.2%", id="of the interface"),
        pytest.param(2410 / 2411, "99.9%", id="nearly all is not all"),
        pytest.param(1 / 9999, "0.1%", id="nearly none is not none"),
    ],
)
def test_a_rate_reads(rate: float | None, text: str) -> None:
    assert text == numbers.as_percent(rate)


@given(st.integers(0, 10_000), st.integers(1, 10_000))
def test_only_all_reads_as_all_and_only_none_as_none(part: int, n: int) -> None:
    part = min(part, n)

    text = numbers.as_percent(part / n)

    assert (text == "100.0%") is (part == n)
    assert (text == "0.0%") is (part == 0)


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        pytest.param(None, "", id="no bounds"),
        pytest.param((0.9071, 0.9641), "[90.7, 96.4]", id="of the interface"),
        pytest.param((0.98, 1.0), "[98.0, 100.0]", id="up to all"),
    ],
)
def test_an_interval_reads(bounds: tuple[float, float] | None, text: str) -> None:
    assert text == numbers.interval(bounds)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0.0, "<1 ms", id="nothing"),
        pytest.param(0.2309, "230 ms", id="milliseconds"),
        pytest.param(0.9999, "999 ms", id="nearly a second"),
        pytest.param(1.39, "1.3 s", id="seconds"),
        pytest.param(59.99, "59.9 s", id="nearly a minute"),
        pytest.param(125.9, "2 min 5 s", id="minutes"),
    ],
)
def test_a_duration_reads(duration: float | None, text: str) -> None:
    assert text == numbers.seconds(duration)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0, "0", id="none"),
        pytest.param(5, "5", id="a count"),
        pytest.param(5.0, "5", id="a mean that is whole"),
        pytest.param(4.04, "4.0", id="calls"),
        pytest.param(812.4, "812", id="hundreds"),
        pytest.param(5_234, "5.2k", id="thousands"),
    ],
)
def test_an_amount_reads(number: float | None, text: str) -> None:
    assert text == numbers.amount(number)


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        pytest.param(None, "n/a", id="unknown"),
        pytest.param(0.0, "$0.00", id="free"),
        pytest.param(29.655, "$29.66", id="dollars"),
        pytest.param(0.25, "$0.25", id="cents"),
        pytest.param(0.0123, "$0.012", id="less than two cents"),
        pytest.param(0.0000031, "$0.0000031", id="next to nothing"),
        pytest.param(1e-12, "$0.000000000", id="less than anything has a price"),
    ],
)
def test_money_reads(dollars: float | None, text: str) -> None:
    assert text == numbers.money(dollars)


def test_counted_things_are_one_or_many() -> None:
    assert numbers.counted(1, "task") == "1 task"
    assert numbers.counted(0, "task") == "0 tasks"
    assert numbers.counted(2, "miss", "misses") == "2 misses"
