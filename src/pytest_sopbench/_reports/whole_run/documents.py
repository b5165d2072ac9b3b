"""An answer that is a JSON document, path by path."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_sopbench._core.metrics.counts.document_counts import wrong_of
from pytest_sopbench._core.records.document import DocumentRecord
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import COMPLETED
from pytest_sopbench._reports.text.layout import shown

from .blocks import Page


def path_lines(document: DocumentRecord, record: RunRecord, page: Page) -> Iterator[str]:
    """Yield each path that differs, expected and actual, and those that are right by name."""
    if record.outcome not in COMPLETED:
        return
    for one in record.mismatches:
        yield from page.text("path", f"{one.field}: {one.why}")
        yield from page.text("asked", shown(one.expected))
        yield from page.text("given", shown(one.actual))
    wrong = wrong_of(document, record)
    right = [path for path in document.paths if path not in wrong]
    every = len(wrong.union(document.paths))
    yield from page.text("right", f"{len(right)} of {every} paths: {', '.join(right) or 'none'}")
