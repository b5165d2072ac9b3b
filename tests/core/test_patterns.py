"""Patterns of users: what Python's own engine finds is found, and nothing explodes."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_sopbench._core.values.patterns import PatternError, linear_pattern

USUAL = [
    r"sk-[0-9a-f]{4,}",
    r"(?i)bearer\s+\S+",
    r"\d{3}-\d{2}-\d{4}",
    r"[\w.+-]+@[\w-]+\.[a-z]{2,}",
    r"(?:red|green|blue)(?: light)?",
    r"[^,;\s]+",
    r"[\S\d]x*?",
    r"[^\W]+",
    r"a(?:bc)*?d|e{0,2}f",
    r"(?s)a.b",
    r"(?m)^x$",
    r"\Ax\Z",
    r"(?x) a  b  # a comment",
    r"(?a)\w+\s",
    r"[\]^-]+",
    r"\u00e4+\x41",
    r"(?P<name>a)(?i:B)(?-i:c)",
]
TEXTS = st.text(
    st.sampled_from("abcdexAB 019-@.,;:^]\u00e4\u0391\u0661\u00b2_\t\n\x1c\x85\u2003"), max_size=12
)


@pytest.mark.parametrize("source", USUAL)
@given(text=TEXTS)
@example(text="")
@example(text="red light")
@example(text="abcbcd")
@example(text="Bearer x1")
@example(text="123-45-6789")
def test_it_matches_what_python_matches(source: str, text: str) -> None:
    assert (re.fullmatch(source, text) is not None) is linear_pattern(source).fullmatch(text)
    assert re.sub(source, "***", text) == linear_pattern(source).sub("***", text)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param("(?=x)a", "it looks ahead or behind", id="ahead"),
        pytest.param("(?<!x)a", "it looks ahead or behind", id="behind"),
        pytest.param(r"(a)\1", "it refers back to a group", id="back"),
        pytest.param("(a)?(?(1)b|c)", "it refers back to a group", id="conditional"),
        pytest.param("a++", "it has a possessive quantifier", id="possessive"),
        pytest.param("(?>a)", "it has an atomic group", id="atomic"),
        pytest.param(r"[^\W\d]", "the opposite of a class", id="class"),
        pytest.param("\\b\u00e4", "letters beyond ASCII", id="word-boundary"),
        pytest.param("a{99999999999}", "it repeats something too often", id="overflow"),
        pytest.param("a{5000}", "repetition", id="too-large"),
        pytest.param("(" * 2_000 + ")" * 2_000, "nested too deeply", id="deep"),
        pytest.param("a" * 20_000, "more than 10,000 characters", id="long"),
        pytest.param("(", "unterminated subpattern", id="syntax"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused(source: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        linear_pattern(source)


@pytest.mark.parametrize("source", ["(a+)+$", "(a|aa)*b", "(.*)*x", "(?:a?){40}a{40}"])
def test_a_pattern_that_explodes_elsewhere_ends(source: str) -> None:
    text = "a" * 50_000 + "!"

    assert not linear_pattern(source).fullmatch(text)
    assert linear_pattern(source).sub("", text).endswith("!")


def test_half_a_surrogate_pair_is_no_obstacle() -> None:
    assert "\ufffd ***" == linear_pattern("k[0-9]").sub("***", "\ud83d k1")
    assert "\ud83d k" == linear_pattern("k[0-9]").sub("***", "\ud83d k")


def test_a_replacement_is_taken_word_for_word() -> None:
    assert r"\1 \g<0>" == linear_pattern("(a)").sub(r"\1 \g<0>", "a")
