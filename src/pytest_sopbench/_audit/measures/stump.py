"""Decision stumps: how many labels a rule of one question about one column gets right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_sopbench._core.values.json import JsonValue

FEWEST_OF_A_CATEGORY: Final = 5
"""Rows that a value needs for a rule of its own; rarer values are one value together."""


def frozen(value: JsonValue) -> str:
    """A value as a text, which can be counted."""
    return json.dumps(value, sort_keys=True)


def leaves(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """A value itself, or, of a list or an object, its size and what lies in it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(f"{name}.{key}", part)
    elif isinstance(value, list):
        yield f"{name}.length", len(value)
        for place, part in enumerate(value):
            yield from leaves(f"{name}.{place}", part)
    else:
        yield name, value


def flat_columns(rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, list[JsonValue]]:
    """The columns of rows, laid out flat; what a row does not have is `None`."""
    found: dict[str, list[JsonValue]] = {}
    for number, row in enumerate(rows):
        for name, value in row.items():
            for leaf, part in leaves(name, value):
                found.setdefault(leaf, [None] * len(rows))[number] = part
    return found


def right_by_one_question(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    """Rows that the best rule of one question about these cells has right."""
    return max(right_by_category(cells, labels), right_by_cut_off(cells, labels))


def right_by_category(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    """Rows that the most frequent label of each value has right; rare values are one value."""
    texts = [frozen(cell) for cell in cells]
    sizes = Counter(texts)
    groups: dict[str, Counter[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        common = text if sizes[text] >= FEWEST_OF_A_CATEGORY else "rare"
        groups.setdefault(common, Counter())[label] += 1
    return sum(max(group.values()) for group in groups.values())


def right_by_cut_off(cells: Sequence[Any], labels: Sequence[str]) -> int:
    """Rows that the best cut-off has right: one label below it, one from it on, one for none."""
    pairs = list(zip(cells, labels, strict=True))
    without = Counter(label for cell, label in pairs if cell is None)
    present = [(cell, label) for cell, label in pairs if cell is not None]
    if len({type(cell) is str for cell, _ in present}) != 1:
        return 0
    present.sort(key=lambda pair: pair[0])
    below: Counter[str] = Counter()
    above = Counter(label for _, label in present)
    best = max(above.values())
    for number, (cell, label) in enumerate(present):
        if number and present[number - 1][0] != cell:
            best = max(best, max(below.values()) + max(above.values()))
        below[label] += 1
        above[label] -= 1
    return best + max(without.values(), default=0)
