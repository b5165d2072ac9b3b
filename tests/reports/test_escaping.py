"""Text as Markdown shows it, and tables of it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._reports.pages.markdown import escaped, table

SIGNS = set("\\`*[]|~@")
TAG = re.compile(r"<(?![= ])")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("lab/T_01", "lab/T_01", id="nothing to escape"),
        pytest.param("a|b", "a&#124;b", id="the wall of a cell"),
        pytest.param("**bold**", "&#42;&#42;bold&#42;&#42;", id="bold"),
        pytest.param("<img>", "&#60;img>", id="a tag"),
        pytest.param("p <= 0.05, p < 1", "p <= 0.05, p < 1", id="a bound"),
        pytest.param("<", "&#60;", id="what may become a tag by what follows"),
        pytest.param("_a_", "&#95;a&#95;", id="underlines around a word"),
        pytest.param("snake_case", "snake_case", id="an underline inside a word"),
        pytest.param("a\nb", "a b", id="two lines"),
        pytest.param("@team #7", "&#64;team &#35;7", id="whom a site would call, and an issue"),
        pytest.param("http://a.example", "http&#8288;://a.example", id="an address"),
        pytest.param("www.a.example", "www&#8288;.a.example", id="an address without a scheme"),
        pytest.param("&lt;", "&#38;lt;", id="an entity"),
    ],
)
def test_what_markdown_would_take_for_more_than_text(text: str, shown: str) -> None:
    assert shown == escaped(text)


@given(st.text(max_size=60))
def test_no_sign_is_left_and_no_line_ends(text: str) -> None:
    assert SIGNS.isdisjoint(escaped(text))
    assert TAG.search(escaped(text)) is None
    assert "\n" not in escaped(text)


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_a_reader_sees_what_was_there(text: str) -> None:
    """But for a joiner that has no width."""
    assert text == html.unescape(escaped(text)).replace("\u2060", "")


def test_a_table_has_text_on_the_left_and_numbers_on_the_right() -> None:
    assert [
        "| domain | lost | p |",
        "| --- | ---: | ---: |",
        "| lab | 2 | 0.5 |",
    ] == list(table(("domain", "lost", "p"), [("lab", "2", "0.5")]))


def test_a_table_without_rows_keeps_its_head() -> None:
    assert 2 == len(list(table(("a", "b"), [])))
