"""Answers that are JSON documents: their tiers, their worst paths, and classes of domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pytest_sopbench._core.metrics.counts.document_counts import DocumentCounts
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total
from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, percent

from .rates import LABEL

WORST: Final = 5
"""Paths that a summary shows."""


def document_lines(summary: Summary) -> Iterator[str]:
    """Yield the tier score with what it is made of, and the paths that are wrong most often."""
    counts = summary.documents
    if not counts.runs:
        return
    tiers = f"{counts.matches} match, {counts.mismatches} mismatch, {counts.invalid} invalid"
    score = percent(summary.rate(*counts.fifths))
    yield f"{'tier':<6}{score:>6} score, {tiers}"
    worst = list(path_parts(counts))
    if worst:
        yield from packed(f"{'paths':<{LABEL - 1}}", with_commas(worst), gap=" ", indent=LABEL)


def path_parts(counts: DocumentCounts) -> Iterator[str]:
    """Yield the worst paths: `step 9 of 12 right`; the word stands once."""
    for number, (name, right, n) in enumerate(counts.worst(WORST)):
        yield f"{one_line(name)} {right} of {n}{'' if number else ' right'}"


def class_lines(classes: Mapping[str, Total]) -> Iterator[str]:
    """Yield for each class the mean over its domains and its pooled runs, each with its n."""
    for name, total in classes.items():
        pooled, means = total.pooled, total.means
        mean = f"mean TSR {percent(means.get('tsr'))}, tier {percent(means.get('tier_score'))}"
        away = f", {pooled.unavailable} unavailable" if pooled.unavailable else ""
        runs = f"{pooled.correct} of {counted(pooled.runs, 'run')}{away}"
        score = percent(pooled.rate(*pooled.documents.fifths))
        parts = (
            f"{one_line(name)}:",
            f"{mean} ({counted(total.domains, 'domain')});",
            f"pooled TSR {percent(pooled.tsr)}, tier {score} ({runs})",
        )
        yield from packed(f"{'class':<{LABEL - 1}}", parts, gap=" ", indent=LABEL)
