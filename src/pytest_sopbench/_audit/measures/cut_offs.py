"""Cut-offs: the numbers of a column between which labels change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

PURE: Final = 0.95
"""Share of rows that a column has to put right before its cut-offs count."""

_FEWEST: Final = 100
"""Rows below which some column of many separates labels by accident."""

_RUN: Final = 0.02
_RUNS: Final = 8


@dataclass(frozen=True, slots=True)
class CutOff:
    """Between `below` and `above` the label changes from one to another."""

    below: Decimal
    above: Decimal
    before: str
    after: str


@dataclass(slots=True)
class _Run:
    label: str
    first: Decimal
    last: Decimal
    rows: int
    right: int


def cut_offs(cells: Sequence[JsonValue], labels: Sequence[str]) -> Iterator[CutOff]:
    """Yield the cut-offs of a column that gives the labels by ranges; else none."""
    counted: dict[Decimal, Counter[str]] = {}
    for cell, label in zip(cells, labels, strict=True):
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            continue
        counted.setdefault(Decimal(str(cell)), Counter())[label] += 1
    runs = _runs(counted)
    rows = sum(run.rows for run in runs)
    right = sum(run.right for run in runs)
    usual = max(Counter(labels).values(), default=0)
    if rows < max(_FEWEST, len(cells) / 2) or not 1 < len(runs) <= _RUNS:
        return
    # A label that comes twice is no range.
    if len({run.label for run in runs}) < len(runs):
        return
    # What is usual anyway is told by no cut-off.
    if right < PURE * rows or right - usual < (1 - PURE) * 2 * rows:
        return
    for one, other in pairwise(runs):
        if min(one.rows, other.rows) >= _RUN * rows:
            yield CutOff(one.last, other.first, one.label, other.label)


def _runs(counted: dict[Decimal, Counter[str]]) -> list[_Run]:
    runs: list[_Run] = []
    for value in sorted(counted):
        found = counted[value]
        label, right = found.most_common(1)[0]
        rows = sum(found.values())
        if runs and runs[-1].label == label:
            last = runs[-1]
            last.last, last.rows, last.right = value, last.rows + rows, last.right + right
        else:
            runs.append(_Run(label, value, value, rows, right))
    return runs
