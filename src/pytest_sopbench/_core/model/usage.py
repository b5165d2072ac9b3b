"""Read what an agent tells of its consumption, in the names that providers' clients use."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, Final

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.values.foreign import get_member
from pytest_sopbench._core.values.plain import escape_surrogates

from .trace import UNKNOWN_USAGE, Usage

INPUT_TOKENS: Final = ("input_tokens", "prompt_tokens", "inputTokens", "request_tokens")
OUTPUT_TOKENS: Final = ("output_tokens", "completion_tokens", "outputTokens", "response_tokens")
CACHED_TOKENS: Final = (
    "cached_tokens",
    "cache_read_tokens",
    "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens",
    "input_token_details.cache_read",
)
CACHE_WRITE_TOKENS: Final = ("cache_write_tokens", "input_token_details.cache_creation")
REASONING_TOKENS: Final = (
    "reasoning_tokens",
    "completion_tokens_details.reasoning_tokens",
    "output_tokens_details.reasoning_tokens",
    "output_token_details.reasoning",
    "details.reasoning_tokens",
)
MODEL_CALLS: Final = ("model_calls", "requests")
COST_USD: Final = ("cost_usd", "total_cost_usd", "cost")
MODEL: Final = ("model", "model_name")

BESIDE: Final = {
    "input_tokens": ("cache_read_input_tokens", "cache_creation_input_tokens"),
    "inputTokens": ("cacheReadInputTokens", "cacheWriteInputTokens"),
}
"""Names of Anthropic and Bedrock: what was read from a cache and written to it, which they do not
count among the tokens of the input."""

COUNTS: Final = (
    "input_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "model_calls",
    "cost_usd",
)
"""The fields of `Usage` that add up."""

_ALWAYS: Final = frozenset({"input_tokens", "output_tokens", "model_calls", "cost_usd"})
_NAMES: Final = tuple(one.name for one in fields(Usage))
_ALWAYS_IN_ORDER: Final = tuple(name for name in _NAMES if name in _ALWAYS)
_MODEL_LIMIT: Final = 200
_MODELS_LIMIT: Final = 8


def read_usage(told: object, model: object = None) -> Usage:
    """Read a mapping or an object; what it does not say, or says as nonsense, is unknown.

    Args:
        told: what an agent tells.
        model: the name of the model, where the agent tells it beside.
    """
    if told is None and model is None:
        return UNKNOWN_USAGE
    tokens, cached, written = _input(told)
    return Usage(
        input_tokens=tokens,
        cached_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_count(told, OUTPUT_TOKENS),
        reasoning_tokens=_count(told, REASONING_TOKENS),
        model_calls=_count(told, MODEL_CALLS),
        cost_usd=_amount(told, COST_USD),
        model=_text({"model": model}, MODEL) or _text(told, MODEL),
    )


def server_of(told: object) -> str:
    """Return the address of the server that was asked, where an agent tells it of a report."""
    return _text(told, ("server",)) or ""


def usage_to_json(usage: Usage) -> dict[str, Any]:
    """Return what `Usage(**data)` reads; what younger sessions tell is left out where unknown."""
    if usage is UNKNOWN_USAGE:
        # As nearly all agents have it that ask no model.
        return dict.fromkeys(_ALWAYS_IN_ORDER)
    held = {name: getattr(usage, name) for name in _NAMES}
    return {name: one for name, one in held.items() if one is not None or name in _ALWAYS}


def listed(*texts: str | None) -> str | None:
    """Put names together that stand with commas between them, each once, and not without end."""
    names = dict.fromkeys(name for text in texts if text for name in text.split(", "))
    return ", ".join([*names][:_MODELS_LIMIT]) or None


def add_usage(one: Usage, other: Usage) -> Usage:
    """Add two usages; what is unknown in both stays unknown."""
    if one is UNKNOWN_USAGE and other is UNKNOWN_USAGE:
        return UNKNOWN_USAGE
    counts = {name: _sum(getattr(one, name), getattr(other, name)) for name in COUNTS}
    return Usage(
        **counts,
        model=listed(one.model, other.model),
        priced_by=listed(one.priced_by, other.priced_by),
    )


def fill_unknown(known: Usage, further: Usage) -> Usage:
    """Return `known`, with what it does not know taken from `further`."""
    if further is UNKNOWN_USAGE:
        return known
    if known is UNKNOWN_USAGE:
        return further
    return Usage(**{name: _first(getattr(known, name), getattr(further, name)) for name in _NAMES})


def _sum(one: Any, other: Any) -> Any:
    return _first(one, other) if one is None or other is None else one + other


def _first(one: Any, other: Any) -> Any:
    return other if one is None else one


def _input(told: object) -> tuple[int | None, int | None, int | None]:
    """Return the tokens of the whole input, and those of it from and for a cache."""
    cached, written = _count(told, CACHED_TOKENS), _count(told, CACHE_WRITE_TOKENS)
    total, out = _count(told, ("totalTokens",)), _count(told, OUTPUT_TOKENS)
    for name in INPUT_TOKENS:
        tokens = _count(told, (name,))
        if tokens is None:
            continue
        read, wrote = (_count(told, (beside,)) for beside in BESIDE.get(name, ("", "")))
        # Strands takes over Bedrock's names for models of others, whose input has all in it.
        is_whole = total is not None and total == tokens + (out or 0)
        whole = tokens if is_whole else tokens + (read or 0) + (wrote or 0)
        return whole, cached if read is None else read, written if wrote is None else wrote
    return None, cached, written


def _count(told: object, names: tuple[str, ...]) -> int | None:
    amount = _amount(told, names)
    return int(amount) if amount is not None and amount == int(amount) else None


def _amount(told: object, names: tuple[str, ...]) -> float | None:
    for name in names:
        value = _said(told, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if math.isfinite(value) and value >= 0 else None
    return None


def _text(told: object, names: tuple[str, ...]) -> str | None:
    for name in names:
        value = _said(told, name)
        if isinstance(value, str) and value.strip():
            return ready_to_cut(escape_surrogates(" ".join(value.split())))[:_MODEL_LIMIT]
    return None


def _said(told: object, path: str) -> object:
    for name in path.split("."):
        told = get_member(told, name)
        if told is None:
            return None
    return told
