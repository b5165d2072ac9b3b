"""By which prices costs were reckoned, and which models have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted

NAMED = 5
"""Models that are named; of the rest the number is told."""


@dataclass(slots=True)
class Priced:
    """The tables of prices that runs name, and the runs of models that have no price there."""

    tables: Counter[str] = field(default_factory=Counter[str])
    unpriced: Counter[str] = field(default_factory=Counter[str])

    def watch(self, record: RunRecord) -> None:
        """Look at one more run."""
        usage = record.usage
        if usage.priced_by is not None:
            self.tables[usage.priced_by] += 1
        elif usage.model is not None and usage.cost_usd is None:
            self.unpriced[usage.model] += 1


def price_lines(priced: Priced) -> Iterator[str]:
    """Yield what there is to say, 80 columns wide."""
    for table, runs in priced.tables.items():
        yield f"prices {one_line(table)}, for {counted(runs, 'run')}"
    if priced.unpriced:
        names = [
            f"{one_line(model)} ({counted(runs, 'run')})"
            for model, runs in priced.unpriced.most_common(NAMED)
        ]
        more = len(priced.unpriced) - len(names)
        parts = with_commas([*names, *([f"{counted(more, 'more model')}"] if more else [])])
        parts[-1] += ";"
        told = "sop_prices may name a file of prices"
        first = "prices no cost is known of"
        yield from packed(first, [*parts, *told.split()], gap=" ", indent=7)
