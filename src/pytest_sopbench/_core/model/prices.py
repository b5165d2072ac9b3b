"""What tokens cost: prices of models, and what the reports of one run come to by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from .trace import UNKNOWN_USAGE, Usage

MILLION: Final = 1_000_000
DIGITS: Final = 12
"""Decimals that the cost of one run keeps; its requests may cost fractions of a cent."""


class Prices(Protocol):
    """A table of prices; `label` names it with its date."""

    @property
    def label(self) -> str: ...

    def cost(self, usage: Usage, server: str, /) -> float | None:
        """Return the US dollars of one report, or `None` where they cannot be known.

        Args:
            usage: what was consumed, and the model that was asked.
            server: the address of the server where that is not the provider's own.
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
        """Return the dollars of a report; `None` where its tokens are unknown, or make no sense.

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
