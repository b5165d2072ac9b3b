"""Noise: an SOP keeps all it has, in its order, and gets paragraphs of others between."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.variants import PARAGRAPHS, prose, with_noise
from pytest_sopbench._loading.variants import bundled_sops

BLOCKS = st.lists(
    st.sampled_from(["# Head", "1. One.", "Text of\ntwo lines", "| a | b |", "```\nx = 1\n```"]),
    min_size=1,
    max_size=9,
)
OTHERS = tuple(bundled_sops("reservation_desk"))


@given(BLOCKS)
def test_the_procedure_itself_is_whole_and_in_order(blocks: list[str]) -> None:
    added = {one for text in OTHERS for one in prose(text)}

    mixed = with_noise("desk", "\n\n".join(blocks), OTHERS)

    found = mixed.strip().split("\n\n")
    assert blocks == [one for one in found if one not in added]
    assert PARAGRAPHS == len(found) - len(blocks)


@given(st.integers(0, 6))
def test_no_fence_is_broken(lines: int) -> None:
    code = "```\n" + "a = 1\n\n" * lines + "```"

    mixed = with_noise("desk", f"Before.\n\n{code}\n\nAfter.", OTHERS)

    assert re.sub(r"\n\s*\n", "\n\n", code) in mixed


def test_noise_is_the_same_each_time_and_another_for_another_domain() -> None:
    sop = "1. Greet.\n\n2. Leave.\n"

    assert with_noise("desk", sop, OTHERS) == with_noise("desk", sop, OTHERS)
    assert with_noise("desk", sop, OTHERS) != with_noise("lab", sop, OTHERS)


def test_a_bundled_domain_gets_no_paragraph_of_its_own() -> None:
    own = {one for text in bundled_sops("stay_packages") for one in prose(text)}
    others = {one for text in OTHERS for one in prose(text)}

    assert len(own & others) > PARAGRAPHS
    assert own - others
