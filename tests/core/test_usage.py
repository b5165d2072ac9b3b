"""What agents tell of their consumption, in the words of providers' clients and of frameworks."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import (
    ModelPrice,
    PriceTable,
    Reckoning,
    add_usage,
    fill_unknown,
    listed,
    read_usage,
)
from pytest_sopbench._core.records.record import told

COUNTS = st.none() | st.integers(0, 10_000)
NAMES = st.none() | st.sampled_from(["openai/a", "bedrock/b", "openai/a, c"])
USAGES = st.builds(
    Usage,
    input_tokens=COUNTS,
    cached_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    output_tokens=COUNTS,
    reasoning_tokens=COUNTS,
    model_calls=COUNTS,
    model=NAMES,
    priced_by=NAMES,
)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        pytest.param(
            {
                "prompt_tokens": 100,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens": 20,
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(input_tokens=100, cached_tokens=40, output_tokens=20, reasoning_tokens=5),
            id="chat-completions",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 40},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
            },
            Usage(input_tokens=100, cached_tokens=40, output_tokens=20, reasoning_tokens=5),
            id="responses",
        ),
        pytest.param(
            {
                "inputTokens": 50,
                "cacheReadInputTokens": 40,
                "cacheWriteInputTokens": 10,
                "outputTokens": 20,
            },
            Usage(input_tokens=100, cached_tokens=40, cache_write_tokens=10, output_tokens=20),
            id="bedrock",
        ),
        pytest.param(
            {
                "inputTokens": 50,
                "cacheReadInputTokens": 40,
                "cacheWriteInputTokens": 10,
                "outputTokens": 20,
                "totalTokens": 120,
            },
            Usage(input_tokens=100, cached_tokens=40, cache_write_tokens=10, output_tokens=20),
            id="bedrock-with-its-total",
        ),
        pytest.param(
            {
                "inputTokens": 100,
                "cacheReadInputTokens": 40,
                "outputTokens": 20,
                "totalTokens": 120,
            },
            Usage(input_tokens=100, cached_tokens=40, output_tokens=20),
            id="strands-on-openai",
        ),
        pytest.param(
            {
                "input_tokens": 50,
                "cache_read_input_tokens": 40,
                "cache_creation_input_tokens": 10,
                "output_tokens": 20,
            },
            Usage(input_tokens=100, cached_tokens=40, cache_write_tokens=10, output_tokens=20),
            id="anthropic",
        ),
        pytest.param(
            {
                "prompt_tokens": 100,
                "cache_read_input_tokens": 40,
                "prompt_tokens_details": {"cached_tokens": 40},
                "completion_tokens": 20,
            },
            Usage(input_tokens=100, cached_tokens=40, output_tokens=20),
            id="litellm",
        ),
        pytest.param(
            {
                "input_tokens": 100,
                "output_tokens": 20,
                "input_token_details": {"cache_read": 40, "cache_creation": 10},
                "output_token_details": {"reasoning": 5},
            },
            Usage(
                input_tokens=100,
                cached_tokens=40,
                cache_write_tokens=10,
                output_tokens=20,
                reasoning_tokens=5,
            ),
            id="langchain",
        ),
        pytest.param(
            {"input_tokens": 100, "cache_read_tokens": 40, "cache_write_tokens": 0, "requests": 2},
            Usage(input_tokens=100, cached_tokens=40, cache_write_tokens=0, model_calls=2),
            id="pydantic-ai",
        ),
        pytest.param(
            {"model": " openai/gpt-5-mini\n", "input_tokens": 7},
            Usage(input_tokens=7, model="openai/gpt-5-mini"),
            id="model",
        ),
        pytest.param({"model": 7, "cached_tokens": -1, "reasoning_tokens": True}, Usage(), id="no"),
        pytest.param({"input_tokens": 10**400, "cost_usd": 1e308}, Usage(), id="without end"),
    ],
)
def test_usage_is_read_as_clients_write_it(told: dict[str, Any], read: Usage) -> None:
    as_object = json.loads(json.dumps(told), object_hook=lambda one: SimpleNamespace(**one))

    assert read == read_usage(told) == read_usage(as_object)


def test_a_model_that_no_utf8_can_hold_is_escaped() -> None:
    assert "m\\ud800" == read_usage({"model": "m\ud800"}).model


@given(USAGES)
def test_what_was_written_is_read_back(usage: Usage) -> None:
    assert usage == Usage(**json.loads(json.dumps(told(usage))))


def test_a_line_of_before_reads_as_unknown() -> None:
    before = {"input_tokens": 3, "output_tokens": None, "model_calls": 1, "cost_usd": None}

    assert Usage(input_tokens=3, model_calls=1) == Usage(**before)
    assert before == told(Usage(**before))


@given(USAGES)
def test_nothing_is_added_by_what_is_unknown(usage: Usage) -> None:
    assert (
        usage
        == add_usage(usage, Usage())
        == add_usage(Usage(), usage)
        == fill_unknown(Usage(), usage)
    )


@given(USAGES, USAGES)
def test_counts_add_and_names_are_kept_once(one: Usage, other: Usage) -> None:
    both = add_usage(one, other)

    assert both.reasoning_tokens == (
        None
        if one.reasoning_tokens is None and other.reasoning_tokens is None
        else (one.reasoning_tokens or 0) + (other.reasoning_tokens or 0)
    )
    names = (both.model or "").split(", ")
    assert len(names) == len({*names})


def test_models_without_end_are_not_all_kept() -> None:
    names = None
    for number in range(1_000):
        names = listed(names, f"m{number}")

    assert 8 == len((names or "").split(", "))


# What reports of a run cost: tokens of each kind at their own price, and unknown is never 0.

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
