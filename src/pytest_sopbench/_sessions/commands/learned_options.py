"""Options that a session learns with its first run, of which parts of a session may differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_sopbench._core.model.usage import listed
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._sessions.file.setups import LATE, PRICES
from pytest_sopbench._sessions.reading.reader import SavedSession


def unlike(
    one: Mapping[str, JsonValue], other: Mapping[str, JsonValue]
) -> tuple[Mapping[str, JsonValue], Mapping[str, JsonValue]]:
    """Return in which options two shards differ that one session cannot differ in.

    What a shard without a run could not learn is left out, and so are the prices of its runs.
    """
    unknown = {PRICES, *(name for name in LATE if name not in one or name not in other)}
    same = {name for name in (*one, *other) if one.get(name) == other.get(name)}
    return (
        {name: value for name, value in one.items() if name not in unknown | same},
        {name: value for name, value in other.items() if name not in unknown | same},
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
