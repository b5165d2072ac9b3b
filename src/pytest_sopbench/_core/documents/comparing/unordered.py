"""Pair the items of two lists whose order does not count, each item once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pytest_sopbench._core.trajectory.assignment import assigned

PAIRED_LIMIT: Final = 100
"""Items of either list that are compared with each other, once those of one spelling are paired.

Only items with extra keys are equal in two spellings, and a list may have thousands of others.
"""


def unpaired(
    expected: Sequence[str],
    actual: Sequence[str],
    equal: Callable[[int, int], bool],
    *,
    all_or_none: bool = False,
) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Return the positions that stay without a partner on both sides, and the pairs.

    Args:
        expected: the one spelling of each item.
        actual: the same of the other list.
        equal: compares two items of different spellings, by their positions.
        all_or_none: whether the pairs count only where every item has a partner; else the search
            ends with the first item that has none.
    """
    pairs = _alike(expected, actual)
    left = sorted(set(range(len(expected))) - {one for one, _ in pairs})
    over = sorted(set(range(len(actual))) - {other for _, other in pairs})
    if left and over and not (all_or_none and len(left) != len(over)):
        candidates = over[:PAIRED_LIMIT]
        partners: dict[int, list[int]] = {}
        for one in left[:PAIRED_LIMIT]:
            partners[one] = [other for other in candidates if equal(one, other)]
            if all_or_none and not partners[one]:
                return left, over, pairs
        found = assigned(partners)
        pairs += found.items()
        left = [one for one in left if one not in found]
        over = sorted(set(over) - set(found.values()))
    return left, over, pairs


def _alike(expected: Sequence[str], actual: Sequence[str]) -> list[tuple[int, int]]:
    waiting: dict[str, list[int]] = {}
    for place, item in reversed(list(enumerate(actual))):
        waiting.setdefault(item, []).append(place)
    pairs: list[tuple[int, int]] = []
    for place, item in enumerate(expected):
        same = waiting.get(item)
        if same:
            pairs.append((place, same.pop()))
    return pairs
