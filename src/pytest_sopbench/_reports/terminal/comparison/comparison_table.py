"""Several sessions beside one another: one line for each, compared with the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_sopbench._core.comparing.comparison import ComparisonResult, GroupComparison
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._reports.text.layout import WIDTH, columns, one_line, padded
from pytest_sopbench._reports.text.numbers import counted, interval, money, percent, unavailable

from .comparison import p_value

_COLUMNS = (
    f"{'TSR':>6} {'':13}  {'ECR':>6}  {'lost':>5}  {'gained':>6}  {'p':>8}  {'cost/correct':>12}"
)
# One column for the space behind the name, one for the mark behind the cost.
_NAMES = WIDTH - len(_COLUMNS) - 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One session: all of its runs, and how it compares; the first is compared with nothing."""

    name: str
    summary: Summary
    comparison: GroupComparison | None = None


def session_table_lines(rows: Sequence[SessionRow]) -> Iterator[str]:
    """Yield a table, 80 columns wide; a cost that not every run told is marked and explained.

    A name that finds no room beside its numbers stands on a line of its own, whole.
    """
    yield f"{padded('session', _NAMES)} {_COLUMNS}".rstrip()
    remarks: list[str] = []
    for row in rows:
        name = one_line(row.name)
        if columns(name) > _NAMES:
            yield name
            name = ""
        yield f"{padded(name, _NAMES)} {_cells(row)}".rstrip()
        untold = _untold(row.summary)
        if untold:
            runs = f"{untold} of {counted(row.summary.runs, 'run')}"
            remarks.append(f"* {one_line(row.name)}: {runs} did not tell their cost")
        if row.summary.unavailable:
            remarks.append(f"{one_line(row.name)}: {unavailable(row.summary)}")
        if row.comparison is not None and row.comparison.tier is ComparisonResult.NOT_COMPARABLE:
            remarks.append(f"{one_line(row.name)}: {row.comparison.why}")
    yield from remarks


def _cells(row: SessionRow) -> str:
    summary = row.summary
    bounds = interval(summary.tsr_bounds)
    mark = "*" if _untold(summary) else " "
    lost, gained, p = _against(row.comparison)
    cost = money(summary.cost_per_correct)
    rates = f"{percent(summary.tsr):>6} {bounds:13}  {percent(summary.ecr):>6}"
    return f"{rates}  {lost:>5}  {gained:>6}  {p:>8}  {cost:>12}{mark}"


def _against(comparison: GroupComparison | None) -> tuple[str, str, str]:
    if (
        comparison is None
        or comparison.tier is ComparisonResult.NOT_COMPARABLE
        or not comparison.paired
    ):
        return "-", "-", "-"
    p = p_value(comparison.test.p).removeprefix("p ").removeprefix("= ")
    return f"{len(comparison.lost)}", f"{len(comparison.gained)}", p


def _untold(summary: Summary) -> int:
    """Count the runs that took time and did not tell a cost, where others did."""
    cost = summary.usage.get("cost_usd")
    return max(0, len(summary.durations) - cost.known) if cost else 0
