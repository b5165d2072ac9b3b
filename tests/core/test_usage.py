"""What agents tell of their consumption, in the words of providers' clients and of frameworks."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import (
    add_usage,
    fill_unknown,
    listed,
    read_usage,
    usage_to_json,
)

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
    ],
)
def test_usage_is_read_as_clients_write_it(told: dict[str, Any], read: Usage) -> None:
    as_object = json.loads(json.dumps(told), object_hook=lambda one: SimpleNamespace(**one))

    assert read == read_usage(told) == read_usage(as_object)


def test_a_model_that_no_utf8_can_hold_is_escaped() -> None:
    assert "m\\ud800" == read_usage({"model": "m\ud800"}).model


@given(USAGES)
def test_what_was_written_is_read_back(usage: Usage) -> None:
    assert usage == Usage(**json.loads(json.dumps(usage_to_json(usage))))


def test_a_line_of_before_reads_as_unknown() -> None:
    before = {"input_tokens": 3, "output_tokens": None, "model_calls": 1, "cost_usd": None}

    assert Usage(input_tokens=3, model_calls=1) == Usage(**before)
    assert before == usage_to_json(Usage(**before))


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
