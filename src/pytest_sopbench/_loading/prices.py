"""Prices of models: a file of the user's, or a library."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, date, datetime
from functools import cached_property
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.model.usage import ModelPrice, PriceTable
from pytest_sopbench.errors import LoadingError

from .files import did_you_mean, read_toml, shown

# Read a file of prices.

KEYS: Final = ("date", "models")
PRICES: Final = tuple(one.name for one in fields(ModelPrice))
NEEDED: Final = ("input", "output")

_EXAMPLE: Final = (
    'write date = 2030-01-31 and, for each model, [models."PROVIDER/MODEL"] with input = 0.25 and '
    "output = 2.00: US dollars for a million tokens"
)


def read_price_file(path: Path) -> PriceTable:
    """Read the prices of models in a TOML file.

    Raises:
        LoadingError: it cannot be read or is no TOML; it has no date, or no model; a model lacks a
            price; a key is not known; a price is no number of 0 or more. Names the key.
    """
    data = read_toml(path)
    _check_keys(path, data, KEYS, "")
    day, models = data.get("date"), data.get("models")
    if not isinstance(day, date) or isinstance(day, datetime):
        told = "it is missing" if day is None else f"{shown(day)} is no date"
        _refuse(path, "date", told, "write the day of the prices: date = 2030-01-31")
    if not isinstance(models, Mapping) or not models:
        _refuse(path, "models", "no model has a price", _EXAMPLE)
    prices = cast("Mapping[str, object]", models)
    return PriceTable(
        label=f"{path.name} of {day.isoformat()}",
        models={name: _price(path, name, one) for name, one in prices.items()},
    )


def _price(path: Path, name: str, table: object) -> ModelPrice:
    place = f'models."{name}"'
    if not isinstance(table, Mapping):
        _refuse(path, place, f"{shown(table)} is no table of prices", _EXAMPLE)
    held = cast("Mapping[str, Any]", table)
    if held and all(isinstance(one, Mapping) for one in held.values()):
        # Without quotes TOML splits a name at its dots.
        _refuse(path, place, "a table in a table", f"quote the name of the model; {_EXAMPLE}")
    _check_keys(path, held, PRICES, f"{place}.")
    for key in NEEDED:
        if key not in held:
            _refuse(path, f"{place}.{key}", "it is missing", _EXAMPLE)
    return ModelPrice(**{key: _number(path, f"{place}.{key}", one) for key, one in held.items()})


def _number(path: Path, place: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:
        hint = "a price is a number, 0 or more: US dollars for a million tokens"
        _refuse(path, place, f"{shown(value)} is no price", hint)
    return float(value)


def _check_keys(path: Path, data: Mapping[str, object], known: tuple[str, ...], place: str) -> None:
    for key in data:
        if key not in known:
            hint = did_you_mean(key, known) or f"it may be {', '.join(known)}"
            _refuse(path, f"{place}{key}", "unknown key", hint)


def _refuse(path: Path, key: str, problem: str, hint: str) -> NoReturn:
    raise LoadingError(path, f"{key}: {problem}", hint=hint)


# Prices of the library genai-prices, which is imported when something has a price to be asked.

NAME: Final = "genai-prices"
_MODULE: Final = "genai_prices"

PROVIDERS: Final = {"openai-responses": "openai", "bedrock": "aws"}
"""Providers of models that the library calls by another name."""


INSTALL: Final = install_hint(NAME, extra="prices")


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
        library: Any = import_module(_MODULE)
        try:
            known = library.Usage(**counts)
            found = library.calc_price(known, model if slash else provider, **by)
            return float(found.total_price)
        except (LookupError, ValueError, ArithmeticError):
            # There is no such model, or the counts contradict each other.
            return None

    def _days(self) -> list[date]:
        providers: Any = import_module(f"{_MODULE}.data").providers
        # A model has one price, or a list of those that hold from some day on.
        prices: list[Any] = [model.prices for one in providers for model in one.models]
        dated = [one for some in prices for one in ([*some] if hasattr(some, "__iter__") else [])]
        days = [getattr(one.constraint, "start_date", None) for one in dated]
        return [day for day in days if isinstance(day, date)]
