"""The tables under `-v`: confusion, breakdown by expected answer, tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_sopbench._core.metrics.counts.counts import RunCounts, ToolCounts
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.layout import WIDTH, columns, one_line, padded
from pytest_sopbench._reports.text.mismatches import common_start
from pytest_sopbench._reports.text.numbers import counted, percent

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.counts.confusion import Confusion

ROWS = 20
"""Rows of a table; the rest is counted."""

FEW_ROWS = 5
"""Rows of the breakdown where there are more answers than `ROWS`."""

_SHORT = 13
_INDENT = "  "
_CORNER = "expected \\ given"
_OTHER = "other"
_NONE = "."


def confusion_lines(table: Confusion, *, width: int = WIDTH) -> Iterator[str]:
    """Yield one field's table: a row for each expected label, a column for each label given.

    Labels that nothing expected share the column `other`. Long labels are numbered.
    """
    labels = table.expected
    yield f"confusion of {one_line(table.field)} ({counted(table.completed, 'completed run')})"
    other = [_OTHER] if table.unexpected else []
    start = common_start(labels)
    heads = [*(one_line(label.removeprefix(start)) for label in labels), *other]
    names = [one_line(label) for label in labels]
    cell = _cell(heads, table)
    if cell > _SHORT or len(_INDENT) + _side(names) + cell * len(heads) > width:
        numbers = [str(number) for number in range(1, len(labels) + 1)]
        heads = [*numbers, *other]
        names = [f"{number} {name}" for number, name in zip(numbers, names, strict=True)]
        cell = _cell(heads, table)
    side = min(_side(names), width - len(_INDENT) - cell * len(heads))
    if side < len(_CORNER):
        yield f"{_INDENT}{len(labels)} labels do not fit side by side"
        return
    yield f"{_INDENT}{_CORNER:<{side}}{''.join(f'{head:>{cell}}' for head in heads)}"
    for label, name in zip(labels, names, strict=True):
        row = [table.pairs.get((label, given), 0) for given in labels]
        if other:
            row.append(sum(table.pairs.get((label, given), 0) for given in table.unexpected))
        cells = "".join(f"{number or _NONE:>{cell}}" for number in row)
        yield f"{_INDENT}{padded(name, side)}{cells}"


def _side(names: Sequence[str]) -> int:
    return max(*map(columns, names), len(_CORNER))


def _cell(heads: Sequence[str], table: Confusion) -> int:
    return max(2, *map(columns, heads), len(str(table.completed))) + 1


def expected_lines(
    groups: Mapping[str, RunCounts], *, width: int = WIDTH, measured: bool = True
) -> Iterator[str]:
    """Yield the breakdown by expected answer, the most frequent first.

    Args:
        groups: the runs by what was expected.
        width: columns.
        measured: whether so few runs were unavailable that there are rates.
    """
    if not groups:
        return
    ordered = sorted(groups.items(), key=lambda item: (-item[1].runs, item[0]))
    room = width - 36
    side = min(room, max(len("by expected answer"), *(columns(label) + 2 for label in groups)))
    yield f"{'by expected answer':<{side}}{'runs':>8}{'completed':>11}{'correct':>9}{'TSR':>8}"
    # Where nearly every task has an answer of its own, rows of one run each say nothing.
    rows = ROWS if len(ordered) <= ROWS else FEW_ROWS
    for label, one in ordered[:rows]:
        tsr = percent(one.tsr if measured else None)
        numbers = f"{one.runs:>8}{one.completed:>11}{one.correct:>9}{tsr:>8}"
        yield f"  {padded(one_line(label), side - 2)}{numbers}"
    if len(ordered) > rows:
        yield f"  and {counted(len(ordered) - rows, 'more answer')}"


def tool_lines(tools: Mapping[str, ToolCounts], *, width: int = WIDTH) -> Iterator[str]:
    """Yield the calls of each tool, the most called first."""
    if not tools:
        return
    ordered = sorted(tools.items(), key=lambda item: (-item[1].calls, item[0]))
    side = min(width - 36, max(len("tools"), *(len(name) + 2 for name in tools)))
    yield f"{'tools':<{side}}{'calls':>8}{'bad':>8}{'failed':>8}{'accuracy':>11}"
    for name, one in ordered[:ROWS]:
        numbers = f"{one.calls:>8}{one.bad:>8}{one.failed:>8}{percent(one.accuracy):>11}"
        yield f"  {padded(one_line(name), side - 2)}{numbers}"
    if len(ordered) > ROWS:
        yield f"  and {counted(len(ordered) - ROWS, 'more tool')}"


def table_lines(summary: Summary, *, width: int = WIDTH) -> Iterator[str]:
    """Yield every table that there is something to put into."""
    for table in summary.confusions:
        yield from confusion_lines(table, width=width)
    # Numbers and free texts hardly come twice, and a row for each would say nothing.
    groups = summary.by_class or summary.by_expected
    if len(groups) > 1:
        yield from expected_lines(groups, width=width, measured=not summary.unmeasured)
    yield from tool_lines(summary.tools, width=width)
