"""Prices of genai-prices: asked for what it knows, by the names that the library has."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from genai_prices import Usage as LibraryUsage
from genai_prices import calc_price

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._loading.prices import LibraryPrices

PRICES = LibraryPrices()
USAGE = Usage(input_tokens=1_000, cached_tokens=400, output_tokens=200, model="openai/gpt-4o-mini")
OWN = "http://127.0.0.1:8000/v1"


@pytest.mark.parametrize(
    ("model", "provider", "name"),
    [
        ("openai/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("openai-responses/gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("bedrock/amazon.nova-pro-v1:0", "aws", "amazon.nova-pro-v1:0"),
        ("gpt-4o-mini", None, "gpt-4o-mini"),
    ],
)
def test_a_model_costs_what_the_library_says(model: str, provider: str | None, name: str) -> None:
    counts = LibraryUsage(input_tokens=1_000, cache_read_tokens=400, output_tokens=200)

    wanted = calc_price(counts, name, provider_id=provider).total_price

    assert wanted > 0
    assert float(wanted) == PRICES.cost(replace(USAGE, model=model), "")


@pytest.mark.parametrize(
    ("usage", "server"),
    [
        pytest.param(replace(USAGE, model="openai/no-such-model"), "", id="unknown-model"),
        pytest.param(replace(USAGE, model="nobody/gpt-4o-mini"), "", id="unknown-provider"),
        pytest.param(USAGE, OWN, id="server-of-ones-own"),
        pytest.param(replace(USAGE, cached_tokens=1_001), "", id="nonsense"),
        pytest.param(replace(USAGE, output_tokens=None), "", id="unknown-output"),
        pytest.param(replace(USAGE, model=None), "", id="no-model"),
    ],
)
def test_what_the_library_cannot_know_has_no_cost(usage: Usage, server: str) -> None:
    assert PRICES.cost(usage, server) is None


def test_another_providers_address_has_its_prices() -> None:
    """A model of the same name may cost something else there."""
    assert PRICES.cost(USAGE, "https://api.openai.com/v1") == PRICES.cost(USAGE, "")


def test_the_label_has_version_and_day() -> None:
    assert re.fullmatch(r"genai-prices [\d.]+ of 20\d\d-\d\d-\d\d", PRICES.label)
