"""What a run has used, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Protocol

from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.values.json import escape_surrogates, get_member

from .trace import UNKNOWN_USAGE, Usage

# Read what an agent tells of its consumption, in the names that providers' clients use.

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

ALWAYS_TOLD: Final = frozenset({"input_tokens", "output_tokens", "model_calls", "cost_usd"})
"""What is written of every usage; the rest is left out if it is unknown."""
_NAMES: Final = tuple(one.name for one in fields(Usage))
_MODEL_LIMIT: Final = 200
_LARGEST: Final = 10**15
"""More is nonsense, and would add up to what no file can hold."""
_MODELS_LIMIT: Final = 8


def read_usage(told: object, model: object = None) -> Usage:
    """Read a mapping or an object; what it does not say, or says as nonsense, is unknown.

    Args:
        told: what an agent tells.
        model: the name of the model, if the agent tells it beside.
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
    """Return the address of the server that was asked, if an agent tells it of a report."""
    return _text(told, ("server",)) or ""


def listed(*texts: str | None) -> str | None:
    """Put names together that stand with commas between them, each once, and not without end."""
    names = dict.fromkeys(name for text in texts if text for name in text.split(", "))
    return ", ".join([*names][:_MODELS_LIMIT]) or None


def add_usage(one: Usage, other: Usage) -> Usage:
    """Add two usages; what is unknown in both stays unknown."""
    if one is UNKNOWN_USAGE and other is UNKNOWN_USAGE:
        return UNKNOWN_USAGE
    counts: dict[str, Any] = {}
    for name in COUNTS:
        known = [n for n in (getattr(one, name), getattr(other, name)) if n is not None]
        counts[name] = sum(known) if known else None
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
    told = {name: getattr(known, name) for name in _NAMES}
    return replace(further, **{name: one for name, one in told.items() if one is not None})


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
            return value if 0 <= value <= _LARGEST else None
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


# What tokens cost: prices of models, and what the reports of one run come to by them.

MILLION: Final = 1_000_000
DIGITS: Final = 12
"""Decimals that the cost of one run keeps; its requests may cost fractions of a cent."""


class Prices(Protocol):
    """A table of prices; `label` names it with its date."""

    @property
    def label(self) -> str: ...

    def cost(self, usage: Usage, server: str, /) -> float | None:
        """Return the US dollars of one report, or `None` if they cannot be known.

        Args:
            usage: what was consumed, and the model that was asked.
            server: the address of the server if that is not the provider's own.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """US dollars for a million tokens of one model; what has no price of its own is `None`."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    reasoning: float | None = None

    def cost(self, usage: Usage) -> float | None:
        """Return the dollars of a report; `None` if its tokens are unknown, or make no sense.

        Cached tokens that have no price, or were not told, cost what others do; so does reasoning.
        """
        tokens_in, tokens_out = usage.input_tokens, usage.output_tokens
        if tokens_in is None or tokens_out is None:
            return None
        cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
        reasoning = usage.reasoning_tokens or 0
        fresh, said = tokens_in - cached - written, tokens_out - reasoning
        if fresh < 0 or said < 0:
            return None
        parts = (
            (fresh, self.input),
            (cached, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (said, self.output),
            (reasoning, self.output if self.reasoning is None else self.reasoning),
        )
        try:
            return sum(tokens * price for tokens, price in parts) / MILLION
        except OverflowError:
            # An agent may report any number.
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """Prices by the names of models: `PROVIDER/MODEL`, or `MODEL` of whichever provider."""

    label: str
    models: Mapping[str, ModelPrice]

    def cost(self, usage: Usage, _server: str) -> float | None:
        name = usage.model or ""
        price = self.models.get(name) or self.models.get(name.partition("/")[2])
        return None if price is None else price.cost(usage)


class Reckoning:
    """What the reports of a run cost by a table; unknown as soon as one of them is."""

    def __init__(self, prices: Prices | None) -> None:
        self._prices = prices
        self._usd = 0.0
        self._is_known = prices is not None
        self.has_reports = False

    def add(self, usage: Usage, server: str = "") -> None:
        """Add a report; request by request, since a long one may have a higher price."""
        if usage is UNKNOWN_USAGE or usage.cost_usd is not None:
            return
        if replace(usage, model=None) == UNKNOWN_USAGE:
            return
        self.has_reports = True
        if self._prices is None or not self._is_known:
            return
        cost = self._prices.cost(usage, server) if usage.model else None
        self._is_known = cost is not None
        self._usd += cost or 0.0

    def priced(self, told: Usage) -> Usage:
        """Return what was told, with its cost; one that the agent told itself stands."""
        if told.cost_usd is not None or self._prices is None:
            return told
        if not (self._is_known and self.has_reports):
            return told
        return replace(told, cost_usd=round(self._usd, DIGITS), priced_by=self._prices.label)
