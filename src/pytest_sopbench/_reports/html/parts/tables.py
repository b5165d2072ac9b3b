"""Tables of the page: domains, agents, broken rules, confusion, and the plain list of runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.comparing.leaderboard import Leaderboard
from pytest_sopbench._core.contract.rules import Severity
from pytest_sopbench._core.fields.comparison import NOT_A_NUMBER, number_kind, off_by
from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.metrics.counts.confusion import Confusion
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.trials import TrialBounds
from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.model.keys import domain_of
from pytest_sopbench._core.values.quantities import as_words
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.html.data.names import agent_labels, fragment, run_name
from pytest_sopbench._reports.html.data.rows import Rows
from pytest_sopbench._reports.terminal.comparison.leaderboard import (
    difference_text,
    leaderboard_cells,
)
from pytest_sopbench._reports.terminal.summary.trials import trials_per_task
from pytest_sopbench._reports.text.numbers import interval, money, of_runs, percent, seconds

from .charts import Histogram, Rate, histogram, or_dash, rate_of
from .overview import rates

LISTED: Final = 5_000
"""Runs that the plain list names; of a larger session it has those that are not correct first."""

NOTICEABLE: Final = 0.01
"""Seconds that the longest run takes at least where times are shown: the rest is the machine's."""

LABELS: Final = 12
"""Labels on a side of a confusion table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """A domain, or an agent, with its numbers by column."""

    name: str
    rate: Rate
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """The leaderboard, and which of its differences are more than chance."""

    rows: Sequence[GroupRow]
    pairs: str
    has_stars: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule that was broken: in how many of the runs that came to it."""

    place: int
    domain: str
    id: str
    clause: str
    severity: str
    broken: int
    exercised: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """How many runs gave a label where another, or the same, was expected."""

    count: int
    expected: int
    actual: int
    right: bool
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionTable:
    """Expected labels as rows, given ones as columns; `title` names what they are labels of."""

    place: int
    title: str
    agent: str
    heads: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLine:
    """A field of numbers: how many are off, and by how much."""

    title: str
    field: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLine:
    """A run in the plain list."""

    name: str
    id: str
    outcome: str
    why: str
    change: str


def domain_rows(summaries: Mapping[str, Summary]) -> Sequence[GroupRow]:
    """Return the domains (and agents) of a session; nothing where it has one domain."""
    if len({domain_of(title) for title in summaries}) == 1:
        # What it came to stands above, or in the leaderboard.
        return ()
    return [_domain_row(title, one) for title, one in summaries.items()]


def board_of(board: Leaderboard | None) -> Board | None:
    if board is None:
        return None
    rows = [
        GroupRow(
            name=one.label,
            rate=rates(one.summary)[0],
            cells=_board_cells(one.summary),
        )
        for one in board.standings
    ]
    stars = any("*" in cell for row in rows for cell in row.cells.values())
    return Board(rows=rows, pairs=difference_text(board), has_stars=stars)


def heads_of(rows: Sequence[GroupRow]) -> Sequence[str]:
    """Return the columns of all rows; one of them may have some that another lacks."""
    return [*dict.fromkeys(name for row in rows for name in row.cells)]


def rule_rows(page: SessionPage, rows: Rows) -> Sequence[RuleRow]:
    """Return the broken rules: those that must hold first, then by how many runs broke them."""
    found = [
        RuleRow(
            place=rows.rule(one.id),
            domain=title if len(page.summaries) > 1 else "",
            id=one.id,
            clause=one.clause,
            severity=one.severity.value,
            broken=one.broken,
            exercised=one.exercised,
        )
        for title, summary in page.summaries.items()
        for one in summary.rules
        if one.broken
    ]
    return sorted(found, key=lambda one: (one.severity != Severity.MUST, -one.broken))


def confusion_tables(page: SessionPage, rows: Rows) -> Sequence[ConfusionTable]:
    """Return a table for each field of few labels; see `number_lines` for numbers."""
    labels = agent_labels(page)
    return [
        _confusion(title, table, rows, labels, several=len(page.summaries) > 1)
        for title, summary in page.summaries.items()
        for table in summary.confusions
        if (domain_of(title), table.field) in rows.confused
    ]


def number_lines(page: SessionPage, rows: Rows) -> Sequence[NumberLine]:
    """Return how far each field of numbers is off, by domain and agent; of all right, nothing."""
    labels = agent_labels(page)
    groups: dict[tuple[str, str, str], list[Mismatch]] = {}
    for one in page.records:
        for mismatch in one.mismatches:
            if (one.domain, mismatch.field) in rows.numbers:
                agent = labels.get(one.agent, "")
                groups.setdefault((one.domain, agent, mismatch.field), []).append(mismatch)
    several = len({domain_of(title) for title in page.summaries}) > 1
    return [
        NumberLine(
            title=": ".join(filter(None, (domain if several else "", agent, field))),
            field=field,
            words=_off_words(found),
        )
        for (domain, agent, field), found in groups.items()
    ]


def histograms(page: SessionPage) -> Sequence[Histogram]:
    """Return the distributions of time and cost, agent by agent."""
    labels = agent_labels(page) or {"": ""}
    found: list[Histogram | None] = []
    for agent, label in labels.items():
        runs = [one for one in page.records if not label or one.agent == agent]
        by = f", {label}" if label else ""
        times = [one.duration_s for one in runs if one.duration_s is not None]
        costs = [one.usage.cost_usd for one in runs if one.usage.cost_usd is not None]
        if max(times, default=0) >= NOTICEABLE:
            found.append(histogram(f"time of a run{by}", times, len(runs), seconds))
        found.append(histogram(f"cost of a run{by}", costs, len(runs), money))
    return [one for one in found if one is not None]


def list_lines(page: SessionPage, rows: Rows) -> tuple[Sequence[ListLine], int]:
    """Return the runs of the plain list, and how many it leaves out."""
    labels = agent_labels(page)
    records = page.records
    if len(records) > LISTED:
        # Nobody reads so many; what went wrong is what is looked for.
        records = sorted(records, key=lambda one: one.outcome is Outcome.CORRECT)[:LISTED]
    lines = [
        ListLine(
            name=(name := rows.masked(run_name(one, labels))),
            id=fragment(name),
            outcome=one.outcome.value,
            why=rows.why(one),
            change=rows.change(one),
        )
        for one in records
    ]
    return lines, len(page.records) - len(lines)


def _domain_row(title: str, summary: Summary) -> GroupRow:
    # A bootstrap over the tasks, which gives all intervals of trials at once.
    bounds = summary.trial_bounds if summary.trials_by else None
    tsr = bounds.tsr if bounds else summary.interval(summary.correct, summary.runs)
    return GroupRow(
        name=title,
        rate=rate_of("tsr", "TSR", summary.tsr, tsr),
        cells=_domain_cells(summary, bounds),
    )


def _domain_cells(summary: Summary, bounds: TrialBounds | None) -> Mapping[str, str]:
    cells = {
        "correct": of_runs(summary.correct, summary),
        "ECR": percent(summary.ecr),
        "C-TSR": percent(summary.c_tsr),
        "contract": percent(summary.contract_rate),
        "chance": percent(summary.chance),
        "median": seconds(summary.latency_median),
    }
    if bounds is not None:
        cells["trials"] = trials_per_task(summary.trials)
        cells["pass any"] = f"{percent(summary.pass_any)} {interval(bounds.pass_any)}"
        cells["pass all"] = f"{percent(summary.pass_all)} {interval(bounds.pass_all)}"
    return {name: or_dash(text) for name, text in cells.items()}


def _board_cells(summary: Summary) -> Mapping[str, str]:
    known = leaderboard_cells(summary)
    cells = {name: text for name, text in known.items() if name not in {"TSR", "95 %"}}
    return {
        "correct": of_runs(summary.correct, summary),
        **{name: or_dash(f"{text}{_unit(name, text)}") for name, text in cells.items()},
    }


def _unit(name: str, text: str) -> str:
    return " %" if name in {"ECR", "C-TSR", "contract"} and text[:1].isdigit() else ""


def _off_words(found: Sequence[Mismatch]) -> str:
    """`12 off, by 0.5 to 250, median 3; 2 not a number`."""
    kinds = Counter(number_kind(one) for one in found)
    offs = sorted(filter(None, (off_by(one) for one in found)))
    parts: list[str] = []
    if offs:
        least, most, middle = (as_words(one) for one in (offs[0], offs[-1], offs[len(offs) // 2]))
        span = f"{least} to {most}, median {middle}" if least != most else least
        parts.append(f"{len(offs)} off, by {span}")
    if kinds[NOT_A_NUMBER]:
        parts.append(f"{kinds[NOT_A_NUMBER]} not a number")
    others = len(found) - len(offs) - kinds[NOT_A_NUMBER]
    return "; ".join([*parts, *([f"{others} otherwise wrong"] if others else ())])


def _confusion(
    title: str, table: Confusion, rows: Rows, labels: Mapping[str, str], *, several: bool
) -> ConfusionTable:
    expected = table.expected[:LABELS]
    given = [*expected, *table.unexpected][:LABELS]
    most = max(table.pairs.values())
    shown = {(one, other) for one in expected for other in given}
    return ConfusionTable(
        place=rows.table(domain_of(title), table.field),
        title=f"{title}: {table.field}" if several else table.field,
        agent=labels.get(title.removeprefix(domain_of(title)).strip()[1:-1], ""),
        heads=given,
        rows=[
            (
                one,
                [
                    Cell(
                        count=table.pairs.get((one, other), 0),
                        expected=rows.label(one),
                        actual=rows.label(other),
                        right=one == other,
                        level=_level(table.pairs.get((one, other), 0), most),
                    )
                    for other in given
                ],
            )
            for one in expected
        ],
        left_out=sum(number for pair, number in table.pairs.items() if pair not in shown),
    )


def _level(count: int, most: int) -> int:
    """Return how dark a cell is, from 0 to 4."""
    return 0 if not count else 1 + min(int(count / most * 4), 3)
