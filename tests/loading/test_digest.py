from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_sopbench._loading.files.document import canonical, digest, text_digest, unordered_digest


def test_a_digest_is_known_and_short() -> None:
    assert '{"a":[1,"\\u00e9"],"b":null}' == canonical({"b": None, "a": [1, "é"]})
    assert "44136fa355b3678a" == digest({})


def test_what_json_has_no_word_for_has_no_digest() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(float("nan"))


@settings(max_examples=40)
@given(st.lists(st.text(), max_size=5).flatmap(lambda v: st.tuples(st.just(v), st.permutations(v))))
def test_order_does_not_count_where_it_means_nothing(pair: tuple[list[str], list[str]]) -> None:
    values, shuffled = pair

    assert unordered_digest(values) == unordered_digest(shuffled)


def test_a_value_more_counts() -> None:
    assert unordered_digest(["a"]) != unordered_digest(["a", "a"])


def test_white_space_at_line_ends_does_not_count() -> None:
    assert text_digest("a\nb") == text_digest("a  \r\nb\n\n")
    assert text_digest("a\nb") != text_digest("a\n b")
