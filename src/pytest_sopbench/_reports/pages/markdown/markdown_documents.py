"""Answers that are JSON documents, on the page: tiers, worst paths, classes of domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total, classes_of
from pytest_sopbench._reports.terminal.summary.documents import path_parts
from pytest_sopbench._reports.text.numbers import percent

from .markdown_blocks import escaped, table


def documents_block(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield the tiers of each domain that has them, and of each class its means and its runs."""
    found = {name: one for name, one in summaries.items() if one.documents.runs}
    if not found:
        return
    yield "## Documents"
    yield ""
    heads = ("domain", "tier score", "match", "mismatch", "invalid", "worst paths")
    yield from table(heads, (_row(name, one) for name, one in found.items()))
    classes = classes_of(summaries)
    if classes:
        yield ""
        names = ("class", "domains", "mean TSR", "mean tier", "runs", "pooled TSR", "pooled tier")
        yield from table(names, (_class_row(name, total) for name, total in classes.items()))


def _row(name: str, summary: Summary) -> tuple[str, ...]:
    counts = summary.documents
    score = percent(summary.rate(*counts.fifths))
    numbers = (counts.matches, counts.mismatches, counts.invalid)
    worst = escaped(", ".join(path_parts(counts))) or "all right"
    return (escaped(name), score, *(f"{one}" for one in numbers), worst)


def _class_row(name: str, total: Total) -> tuple[str, ...]:
    pooled = total.pooled
    return (
        escaped(name),
        f"{total.domains}",
        percent(total.means.get("tsr")),
        percent(total.means.get("tier_score")),
        f"{pooled.runs}{f', {pooled.unavailable} unavailable' if pooled.unavailable else ''}",
        percent(pooled.tsr),
        percent(pooled.rate(*pooled.documents.fifths)),
    )
