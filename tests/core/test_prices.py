"""What reports of a run cost: tokens of each kind at their own price, and unknown is never 0."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import ModelPrice, PriceTable, Reckoning

PRICE = ModelPrice(input=1.0, cached=0.1, cache_write=1.25, output=10.0)
TABLE = PriceTable(label="mine of 2026-11-01", models={"openai/a": PRICE, "b": PRICE})
USAGE = Usage(input_tokens=100, output_tokens=20, model="openai/a")


@pytest.mark.parametrize(
    ("usage", "millionths"),
    [
        pytest.param(USAGE, 100 + 200, id="plain"),
        pytest.param(replace(USAGE, cached_tokens=40), 60 + 4 + 200, id="cached"),
        pytest.param(
            replace(USAGE, cached_tokens=40, cache_write_tokens=8), 52 + 4 + 10 + 200, id="written"
        ),
        pytest.param(replace(USAGE, reasoning_tokens=5), 100 + 200, id="reasoning-is-output"),
        pytest.param(
            replace(USAGE, input_tokens=0, output_tokens=0), 0, id="nothing-costs-nothing"
        ),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, millionths: float) -> None:
    assert pytest.approx(millionths / 1_000_000) == TABLE.cost(usage, "")


def test_what_has_no_price_of_its_own_costs_what_others_do() -> None:
    price = ModelPrice(input=1.0, output=10.0, reasoning=3.0)
    usage = replace(USAGE, cached_tokens=40, cache_write_tokens=8, reasoning_tokens=5)

    assert pytest.approx((100 + 150 + 15) / 1_000_000) == price.cost(usage)


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param(replace(USAGE, input_tokens=None), id="no-input"),
        pytest.param(replace(USAGE, output_tokens=None), id="no-output"),
        pytest.param(replace(USAGE, cached_tokens=101), id="more-cached-than-there-are"),
        pytest.param(replace(USAGE, reasoning_tokens=21), id="more-reasoning-than-there-is"),
        pytest.param(replace(USAGE, model="openai/unknown"), id="unknown-model"),
        pytest.param(replace(USAGE, model=None), id="no-model"),
        pytest.param(replace(USAGE, input_tokens=10**400), id="beyond-all"),
    ],
)
def test_what_cannot_be_known_has_no_cost(usage: Usage) -> None:
    assert TABLE.cost(usage, "") is None


def test_a_model_without_a_provider_has_the_price_of_every_provider() -> None:
    asked = [replace(USAGE, model=model) for model in ("b", "openai/b", "bedrock/b")]

    assert 1 == len({TABLE.cost(one, "") for one in asked} - {None})


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
def test_reports_cost_together_what_they_cost_alone(counts: list[int]) -> None:
    usages = [replace(USAGE, input_tokens=count, output_tokens=count) for count in counts]
    reckoning = Reckoning(TABLE)

    for usage in usages:
        reckoning.add(usage)

    alone = [TABLE.cost(usage, "") or 0.0 for usage in usages]
    assert pytest.approx(sum(alone)) == reckoning.priced(Usage()).cost_usd


def test_one_report_without_a_price_leaves_the_whole_unknown() -> None:
    reckoning = Reckoning(TABLE)

    reckoning.add(USAGE)
    reckoning.add(replace(USAGE, model="openai/unknown"))

    assert reckoning.priced(USAGE) == USAGE


def test_a_cost_that_was_told_stands() -> None:
    told = replace(USAGE, cost_usd=0.5)
    reckoning = Reckoning(TABLE)

    reckoning.add(told)
    reckoning.add(USAGE)

    assert told == reckoning.priced(told)


def test_a_cost_says_by_which_prices() -> None:
    reckoning = Reckoning(TABLE)

    reckoning.add(USAGE)

    assert (0.0003, "mine of 2026-11-01") == (
        reckoning.priced(USAGE).cost_usd,
        reckoning.priced(USAGE).priced_by,
    )


@pytest.mark.parametrize("usages", [[], [Usage()], [Usage(model="openai/a")]])
def test_without_a_report_nothing_is_known_of_the_cost(usages: list[Usage]) -> None:
    reckoning = Reckoning(TABLE)

    for usage in usages:
        reckoning.add(usage)

    assert Usage() == reckoning.priced(Usage())
