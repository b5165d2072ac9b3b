"""What a clause says, found by its number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.contract.rules import clause_text

SOP = """# Refunds

## 2. Refund

2.1 The refund is 80 per cent of what was paid,
    in euros.
2.2 Never refund twice.
2.10 Tell the guest.

**3.1** Answer with the status.
- 3.2) Be polite.
Step 4: Close the case.
See 2.1 and 2.2 before that.
"""


@pytest.mark.parametrize(
    ("clause", "text"),
    [
        pytest.param(
            "2.1", "2.1 The refund is 80 per cent of what was paid, in euros.", id="two lines"
        ),
        pytest.param("2.2", "2.2 Never refund twice.", id="up to the next number"),
        pytest.param("2.10", "2.10 Tell the guest.", id="up to an empty line"),
        pytest.param("3.1", "**3.1** Answer with the status.", id="in bold"),
        pytest.param("3.2", "- 3.2) Be polite.", id="in a list"),
        pytest.param("2", "## 2. Refund", id="a heading"),
        pytest.param(
            "4", "Step 4: Close the case. See 2.1 and 2.2 before that.", id="with a word before"
        ),
        pytest.param("2.3", "", id="not there"),
        pytest.param("", "", id="no number"),
        pytest.param("1", "", id="only a part of others"),
    ],
)
def test_a_clause_is_found_by_its_number(clause: str, text: str) -> None:
    assert text == clause_text(SOP, clause)


def test_a_number_that_stands_twice_names_no_clause() -> None:
    assert "" == clause_text("1. Look.\n\nNotes\n1. Wait.\n", "1")


@given(st.text(max_size=200), st.text(max_size=8))
def test_whatever_is_asked_for_every_word_of_a_clause_is_of_the_sop(sop: str, clause: str) -> None:
    assert set(clause_text(sop, clause).split()) <= set(sop.split())
