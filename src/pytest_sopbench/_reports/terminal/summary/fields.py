"""How often each output field is right, in a summary; nothing where there is but one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_sopbench._core.metrics.counts.field_counts import FieldCounts
from pytest_sopbench._core.metrics.metric import METRICS
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.layout import cut, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import interval, percent

LABEL: Final = 7
SHOWN: Final = 6
_NAME: Final = 30


def field_lines(summary: Summary, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the mean share of right fields and the worst fields; closer up a line for each."""
    if len(summary.by_field) < 2:  # noqa: PLR2004 - of one field TSR tells
        return
    share = f"{percent(METRICS['fields'].rate(summary))} right"
    if verbosity <= 0 or summary.unmeasured:
        if summary.unmeasured:
            yield f"fields {share}"
            return
        yield from packed(f"fields {share}:", list(_worst(summary)), gap=" ", indent=LABEL)
        return
    yield f"fields {share}, on average"
    width = max(len(_name(name)) for name in summary.by_field)
    for name, one in summary.by_field.items():
        counts = f"{one.right} of {one.runs}"
        bounds = interval(summary.interval(one.right, one.runs))
        rate = percent(summary.rate(one.right, one.runs))
        start = f"{'':{LABEL}}{_name(name):<{width}} {rate:>6}"
        yield f"{start}, {counts:<12} {bounds}".rstrip()


def worst_first(summary: Summary) -> list[tuple[str, FieldCounts]]:
    """Return the fields by how seldom they are right."""
    return sorted(summary.by_field.items(), key=lambda item: item[1].rate or 0.0)


def _worst(summary: Summary) -> Iterator[str]:
    fields = worst_first(summary)
    parts = [f"{_name(name)} {percent(one.rate)}" for name, one in fields[:SHOWN]]
    more = len(fields) - SHOWN
    yield from with_commas([*parts, f"and {more} more"] if more > 0 else parts)


def _name(name: str) -> str:
    return cut(one_line(name), _NAME)
