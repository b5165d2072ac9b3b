"""How often each output field is right, on a page; nothing where no domain has several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.numbers import interval, percent

from .markdown_blocks import escaped, table


def fields_block(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield a table with a row for each field of each domain that has several."""
    rows = [
        (
            escaped(f"{domain}: {name}" if len(summaries) > 1 else name),
            f"{one.right} of {one.runs}",
            percent(summary.rate(one.right, one.runs)),
            interval(summary.interval(one.right, one.runs)),
        )
        for domain, summary in summaries.items()
        if len(summary.by_field) > 1
        for name, one in summary.by_field.items()
    ]
    if rows:
        yield "## Fields"
        yield ""
        yield from table(("field", "right", "rate", "95 %"), rows)
