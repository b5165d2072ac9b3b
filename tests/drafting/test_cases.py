"""Rows that are searched for: both sides of cut-offs that no column states."""

from __future__ import annotations

import pytest
from drafting_model import POLICY, SOP, TOOLS

from pytest_sopbench._drafting.cards import policy_cards
from pytest_sopbench._drafting.cases import try_out, unreached
from pytest_sopbench._drafting.policies import Texts, run_policy
from pytest_sopbench._drafting.shape import read_shape
from pytest_sopbench._drafting.worlds import Worlds

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


def test_an_answer_that_is_no_label_is_a_failure_of_the_policy_and_becomes_a_card() -> None:
    texts = Texts(sop=SOP, shape=SHAPE)
    rows = Worlds(SHAPE, [POLICY]).draw(60)
    shouting = POLICY.replace('"nothing"', '"NOTHING"')

    right, wrong = (run_policy(texts, one, rows) for one in (POLICY, shouting))

    (card,) = policy_cards(rows, right, wrong, (POLICY, shouting))
    assert "3.1" == card.clause
    assert "fails: decision is 'NOTHING', which is no value of it" == card.readings["b"]


def test_a_policy_that_never_ends_fails_and_the_others_go_on() -> None:
    texts = Texts(sop=SOP, shape=SHAPE)
    rows = Worlds(SHAPE, [POLICY]).draw(3)
    endless = POLICY.replace("    try:", "    while True:\n        pass\n    try:", 1)

    ran = run_policy(texts, endless, rows)

    assert {"fails: timed_out"} == {one.told for one in ran}
