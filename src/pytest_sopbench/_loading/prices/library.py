"""Prices of the library genai-prices, which is imported when something has a price to be asked."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Final

from pytest_sopbench._core.model.trace import Usage

NAME: Final = "genai-prices"
_MODULE: Final = "genai_prices"

PROVIDERS: Final = {"openai-responses": "openai", "bedrock": "aws"}
"""Providers of models that the library calls by another name."""


def has_library() -> bool:
    """Whether the library is installed; nothing is imported."""
    return find_spec(_MODULE) is not None


class LibraryPrices:
    """The prices that came with the installed version of the library; no network is asked."""

    @property
    def label(self) -> str:
        """The version, and the day of the newest price in it that holds already."""
        return self._label

    @cached_property
    def _label(self) -> str:
        today = datetime.now(UTC).date()
        held = [day for day in self._days() if day <= today]
        return f"{NAME} {version(NAME)}{f' of {max(held).isoformat()}' if held else ''}"

    def cost(self, usage: Usage, server: str) -> float | None:
        """Return what a report costs; another server than the provider's has prices of its own."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        provider, slash, model = (usage.model or "").partition("/")
        by = {"provider_api_url": server} if server else {}
        if slash and not server:
            by = {"provider_id": PROVIDERS.get(provider, provider)}
        counts = {
            "input_tokens": usage.input_tokens,
            "cache_read_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "output_tokens": usage.output_tokens,
        }
        try:
            known = self._library.Usage(**counts)
            found = self._library.calc_price(known, model if slash else provider, **by)
            return float(found.total_price)
        except (LookupError, ValueError, ArithmeticError):
            # There is no such model, or the counts contradict each other.
            return None

    @cached_property
    def _library(self) -> Any:
        return import_module(_MODULE)

    def _days(self) -> list[date]:
        providers: Any = import_module(f"{_MODULE}.data").providers
        # A model has one price, or a list of those that hold from some day on.
        prices: list[Any] = [model.prices for one in providers for model in one.models]
        dated = [one for some in prices for one in _as_list(some)]
        days = [getattr(one.constraint, "start_date", None) for one in dated]
        return [day for day in days if isinstance(day, date)]


def _as_list(value: Any) -> list[Any]:
    return [*value] if hasattr(value, "__iter__") else []
