"""Read what an agent tells of its consumption, in the names that providers' clients use."""

from __future__ import annotations

import math
from typing import Final

from pytest_sopbench._core.values.foreign import said

from .trace import UNKNOWN_USAGE, Usage

INPUT_TOKENS: Final = ("input_tokens", "prompt_tokens", "inputTokens", "request_tokens")
OUTPUT_TOKENS: Final = ("output_tokens", "completion_tokens", "outputTokens", "response_tokens")
MODEL_CALLS: Final = ("model_calls", "requests")
COST_USD: Final = ("cost_usd", "total_cost_usd", "cost")


def read_usage(told: object) -> Usage:
    """Read a mapping or an object; what it does not say, or says as nonsense, is unknown."""
    if told is None:
        return UNKNOWN_USAGE
    return Usage(
        input_tokens=_count(told, INPUT_TOKENS),
        output_tokens=_count(told, OUTPUT_TOKENS),
        model_calls=_count(told, MODEL_CALLS),
        cost_usd=_amount(told, COST_USD),
    )


def _count(told: object, names: tuple[str, ...]) -> int | None:
    amount = _amount(told, names)
    return int(amount) if amount is not None and amount == int(amount) else None


def _amount(told: object, names: tuple[str, ...]) -> float | None:
    for name in names:
        value = said(told, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if math.isfinite(value) and value >= 0 else None
    return None
