"""Options that a session learns with its first run, of which parts of a session may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.file.setups import LATE, PRICES
from pytest_sopbench._sessions.reading.reader import SavedSession


def known_to_both(
    one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]
) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]:
    """Leave out what a shard without a run could not learn, and the prices of its runs."""
    unknown = {PRICES, *(name for name in LATE if name not in one or name not in other)}
    return (
        {name: value for name, value in one.items() if name not in unknown},
        {name: value for name, value in other.items() if name not in unknown},
    )


def learned(parts: Sequence[SavedSession]) -> Mapping[str, JsonValue]:
    """Return what shards have learned of agents and prices; several prices are all named."""
    told = {
        name: value
        for one in reversed(parts)
        for name, value in one.header.options.items()
        if name in LATE
    }
    prices = listed(*(str(one.header.options.get(PRICES) or "") for one in parts))
    return {**told, **({PRICES: prices} if prices else {})}
