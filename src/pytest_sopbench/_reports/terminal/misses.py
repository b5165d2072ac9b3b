"""The tasks that are not correct, in one line each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._reports.failure.task import value_line
from pytest_sopbench._reports.text.layout import (
    WIDTH,
    columns,
    cut,
    heading,
    one_line,
    packed,
)
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted

LIMIT = 20
"""Misses that are printed; the saved session holds all of them."""


def miss_lines(
    misses: Sequence[RunRecord],
    total: int | None = None,
    *,
    limit: int = LIMIT,
    labels: Mapping[str, str] = MappingProxyType({}),
    full: Callable[[RunRecord], str] | None = None,
    after: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the section of misses, which pytest has none for; nothing without a miss.

    A miss is one line, or with `full` all that it returns of it.

    Args:
        misses: at least the first `limit` of them.
        total: how many there are, where `misses` are not all.
        limit: how many are printed.
        labels: of the agents, where the session has several.
        full: returns all that is to be said of a miss.
        after: lines that say what to do next, where no miss says so itself.
    """
    count = len(misses) if total is None else total
    if not count:
        return
    yield heading(f"SOP: {counted(count, 'miss', 'misses')}")
    printed = list(islice(misses, limit))
    for number, miss in enumerate(printed):
        if full is None:
            yield miss_line(miss, labels.get(miss.agent))
            continue
        yield from ("",) if number else ()
        yield from full(miss).splitlines()
    if count > len(printed):
        yield f"and {count - len(printed)} more; the saved session holds all of them"
    if full is None:
        yield from after


def miss_line(miss: RunRecord, label: str | None = None) -> str:
    """Return one miss: its task, with several agents that of the run, and what came of it."""
    trial = f" (trial {miss.key.trial})" if miss.key.trial > 1 else ""
    by = {} if label is None else {miss.agent: label}
    task = f"/{one_line(miss.key.task)}{_by(miss, by)}{trial}"
    # The task says more than its domain, and is what is looked for.
    domain = cut(one_line(miss.key.domain), max(WIDTH // 2 - columns(task), len("...")))
    return cut(f"{domain}{task} {value_line(miss)}", WIDTH)


def short_miss_lines(
    misses: Sequence[RunRecord], total: int, labels: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Yield the names of the misses, for a summary of one line for each domain."""
    if misses:
        several = len({miss.domain for miss in misses}) > 1
        named = (
            one_line(f"{miss.domain}/{miss.task}" if several else miss.task) + _by(miss, labels)
            for miss in misses[:LIMIT]
        )
        left = total - len(misses)
        names = [*dict.fromkeys(named), *([f"and {left} more"] if left > 0 else ())]
        yield from packed("missed", with_commas(names), gap=" ", indent=len("missed "))


def _by(miss: RunRecord, labels: Mapping[str, str]) -> str:
    return f"[{one_line(labels[miss.agent])}]" if miss.agent in labels else ""
