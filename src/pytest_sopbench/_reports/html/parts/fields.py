"""How often each output field is right, for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.metrics.summary import Summary

from .charts import Rate, rate_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRow:
    """An output field: of how many runs it is right."""

    name: str
    rate: Rate
    right: str


def field_rows(summaries: Mapping[str, Summary]) -> Sequence[FieldRow]:
    """Return a row for each field of each domain that has several."""
    return [
        FieldRow(
            name=f"{domain}: {name}" if len(summaries) > 1 else name,
            rate=rate_of(
                name,
                name,
                summary.rate(one.right, one.runs),
                summary.interval(one.right, one.runs),
            ),
            right=f"{one.right} of {one.runs}",
        )
        for domain, summary in summaries.items()
        if len(summary.by_field) > 1
        for name, one in summary.by_field.items()
    ]
