"""Rows that are searched for: both sides of cut-offs that no column states."""

from __future__ import annotations

import pytest
from drafting_model import POLICY, SOP, TOOLS

from pytest_sopbench._drafting.cases import try_out, unreached
from pytest_sopbench._drafting.running import Texts
from pytest_sopbench._drafting.shape import read_shape

SHAPE = read_shape(TOOLS)


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        pytest.param("order['price'] * 2 <= 160", 80, id="met exactly"),
        pytest.param("order['price'] * 3 <= 200", 66.66, id="between two steps"),
    ],
)
def test_a_cut_off_that_is_reckoned_is_found_to_the_cent(condition: str, met: float) -> None:
    policy = POLICY.replace('order["price"] <= 80', condition)
    assert policy != POLICY

    tried = try_out(Texts(sop=SOP, shape=SHAPE), (policy, policy))

    prices = {row["price"] for row in tried.rows}
    assert {met, round(met + 0.01, 2)} <= prices
    left = unreached(tried.a, policy)
    assert ([] if met == 80 else ["equal"]) == [side for _, side in left]
