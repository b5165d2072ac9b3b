"""The tasks that are not correct, in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.failure.task import headline
from pytest_sopbench._reports.text.layout import WIDTH, columns, cut, heading, one_line
from pytest_sopbench._reports.text.numbers import counted

LIMIT = 20
"""Misses that are printed; the saved session holds all of them."""


def miss_lines(
    misses: Sequence[RunRecord], total: int | None = None, *, limit: int = LIMIT
) -> Iterator[str]:
    """Yield the section of misses, which pytest has none for; nothing without a miss.

    Args:
        misses: at least the first `limit` of them.
        total: how many there are, where `misses` are not all.
        limit: how many are printed.
    """
    count = len(misses) if total is None else total
    if not count:
        return
    yield heading(f"SOP: {counted(count, 'miss', 'misses')}")
    printed = list(islice(misses, limit))
    for miss in printed:
        yield miss_line(miss)
    if count > len(printed):
        yield f"and {count - len(printed)} more; the saved session holds all of them"


def miss_line(miss: RunRecord) -> str:
    """Return one miss: its task, and what came of it."""
    trial = f" (trial {miss.key.trial})" if miss.key.trial > 1 else ""
    task = f"/{one_line(miss.key.task)}{trial}"
    # The task says more than its domain, and is what is looked for.
    domain = cut(one_line(miss.key.domain), max(WIDTH // 2 - columns(task), len("...")))
    return cut(f"{domain}{task} {headline(miss)}", WIDTH)
