"""The parts of a page: overview, charts, tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, log10
from typing import Final
from urllib.parse import quote

from pytest_sopbench._core.comparing import Leaderboard
from pytest_sopbench._core.comparison import (
    ComparisonResult,
    GroupComparison,
    NotCompared,
    SessionComparison,
)
from pytest_sopbench._core.contract import Severity
from pytest_sopbench._core.fields.comparison import NOT_A_NUMBER, number_kind, off_by
from pytest_sopbench._core.gates.conditions import GateState
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.metrics.counts import Confusion, RuleTally
from pytest_sopbench._core.metrics.metric import METRICS, Metric, run_metrics
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.metrics.trials import TrialBounds
from pytest_sopbench._core.model.task import domain_of
from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.values.text import as_words
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.html.runs import Rows, agent_labels, run_name
from pytest_sopbench._reports.terminal.comparison import (
    change_text,
    changed_texts,
    difference_text,
    leaderboard_cells,
    mean_of,
    p_value,
    setup_text,
)
from pytest_sopbench._reports.terminal.gate import ungated_failures
from pytest_sopbench._reports.terminal.summary import trials_per_task
from pytest_sopbench._reports.text import (
    NOT_AVAILABLE,
    amount,
    as_percent,
    counted,
    interval,
    money,
    of_runs,
    seconds,
    unavailable,
    unneeded_words,
    value_text,
)

# Charts as numbers: where the marks of an inline picture stand, and what its words are.

BINS: Final = 24
"""Columns of a histogram."""

_WIDE: Final = 20
"""How many times the median the largest value is from which on columns grow by a factor."""

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate with its interval, on a scale from 0 to 100.

    `before` is that of the baseline over the paired tasks, `change` the difference in words.
    """

    name: str
    label: str
    text: str
    bounds: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    before: float | None = None
    change: str = ""
    note: str = ""


def rate_of(name: str, label: str, value: float | None, bounds: tuple[float, float] | None) -> Rate:
    low, high = bounds or (None, None)
    return Rate(
        name=name,
        label=label,
        text=as_percent(value),
        bounds=interval(bounds),
        value=_points(value),
        low=_points(low),
        high=_points(high),
    )


def histogram(
    title: str, values: Sequence[float], runs: int, words: Callable[[float], str]
) -> Mapping[str, object] | None:
    """Count values in columns; `None` if there are too few to show anything.

    A bar is its place, width and height in per cent, and what it counts. `marks` are named values
    with their places.

    Columns are equally wide. If a few values are far above the others, each column is wider
    than the one before by a factor instead, which the chart says.
    """
    known = sorted(values)
    if len(known) < 2 or known[0] == known[-1]:  # noqa: PLR2004 - one value has no distribution
        return None
    middle, p95 = known[len(known) // 2], known[ceil(0.95 * len(known)) - 1]
    is_wide = known[0] > 0 and known[-1] > _WIDE * middle
    scale: Callable[[float], float] = log10 if is_wide else float
    first, last = scale(known[0]), scale(known[-1])
    counts = [0] * BINS
    for one in known:
        counts[min(int((scale(one) - first) / (last - first) * BINS), BINS - 1)] += 1

    def at(number: float) -> float:
        return round((scale(number) - first) / (last - first) * 100, 2)

    def edge(place: int) -> float:
        between = first + (last - first) * place / BINS
        return float(10**between) if is_wide else between

    bars = [
        (
            round(place * 100 / BINS, 2),
            round(100 / BINS, 2),
            max(round(count / max(counts) * 100, 1), 2),
            f"{words(edge(place))} to {words(edge(place + 1))}: {count}",
        )
        for place, count in enumerate(counts)
        if count
    ]
    return {
        "title": title,
        "bars": bars,
        "first": words(known[0]),
        "last": words(known[-1]),
        "marks": (("median", words(middle), at(middle)), ("p95", words(p95), at(p95))),
        "known": len(known),
        "runs": runs,
        "note": "columns grow by a factor" if is_wide else "",
    }


def share(part: float, whole: float) -> float:
    """Return a width in per cent; whatever is there at all can be seen."""
    return max(round(part / whole * 100, 2), _HALF) if part and whole else 0.0


def _points(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 100, 2)


def or_dash(text: str) -> str:
    """Return a text for a cell of a table, where what is unknown is a dash."""
    return "–" if text == NOT_AVAILABLE else text  # noqa: RUF001 - a dash is what is meant


# What became of the tasks since a baseline, as the first screen of a page says it.

HOLDS, FAILS, OPEN = "holds", "fails", "open"
"""What a verdict comes to; the page shows each by a sign, a word and a colour."""


def verdicts_since(compared: SessionComparison | None) -> Iterator[tuple[str, GroupComparison]]:
    """Yield one comparison, or with several agents one for each: two have no common verdict.

    Beside it stands the domain or agent, if there are several.
    """
    if compared is None:
        return
    if not compared.has_agents:
        yield "", compared.pooled
    if compared.has_agents or len(compared.groups) > 1:
        yield from compared.groups.items()


def state_since(one: GroupComparison) -> str:
    """Return what the verdict of a comparison comes to."""
    states = {ComparisonResult.REGRESSION: FAILS, ComparisonResult.IMPROVEMENT: HOLDS}
    return states.get(one.tier, OPEN)


def p_since(one: GroupComparison) -> str:
    """Return how likely so many changes are by chance; nothing if tasks were not compared."""
    told = one.tier is not ComparisonResult.NOT_COMPARABLE and one.paired
    return p_value(one.test.p) if told else ""


def setups_of(compared: SessionComparison | None) -> Sequence[str]:
    """Return what differs in the agents themselves."""
    return [setup_text(one) for one in compared.setups] if compared else ()


def changes_of(compared: SessionComparison | None) -> Sequence[str]:
    """Return what agents were given of domains that is another one now."""
    return [*changed_texts(compared.changed)] if compared else ()


def aside_lines(compared: SessionComparison | None) -> Iterator[str]:
    """Yield how many tasks were not compared, and why."""
    if compared is None:
        return
    pooled = compared.pooled
    for reason in NotCompared:
        number = sum(why is reason for why in pooled.aside.values())
        if number:
            yield f"not compared, {reason}: {counted(number, 'task')}"
    if pooled.not_correct:
        yield f"not compared, and not correct now: {counted(len(pooled.not_correct), 'task')}"
    if pooled.may_fail:
        yield f"not compared, may fail: {counted(len(pooled.may_fail), 'task')}"
    if pooled.doubt:
        yield f"nothing to rely on: {pooled.doubt}"


# The first screen: the verdict, the rates, and what a run took.

SIGNS: Final = {
    GateState.HOLDS: HOLDS,
    GateState.FAILS: FAILS,
    GateState.INCONCLUSIVE: OPEN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A number with its name; `was` is that of the baseline, `more` what it is made of."""

    name: str
    value: str
    more: str = ""
    was: str = ""


def state_of(page: SessionPage) -> str:
    """Return what the verdict comes to."""
    states = {one.state for one in page.gates}
    if GateState.FAILS in states or page.failures:
        return FAILS
    if not states and not page.not_evaluated and ungated_failures(page):
        return FAILS
    if page.not_evaluated or GateState.INCONCLUSIVE in states or not states:
        return OPEN
    return HOLDS


def remark_lines(page: SessionPage) -> Iterator[str]:
    """Yield what must not go unsaid beside the gates."""
    if page.not_evaluated:
        yield f"not evaluated: {page.not_evaluated}"
    if page.failures:
        yield f"{counted(page.failures, 'test')} failed that no gate forgives"
    if page.apart:
        asked = page.without
        correct = of_runs(asked.correct, asked)
        yield f"without answers that may be wrong: TSR {as_percent(asked.tsr)}, {correct}"
    yield from page.remarks


def domains_of(page: SessionPage) -> Sequence[str]:
    return [*dict.fromkeys(map(domain_of, page.summaries))]


def rates(summary: Summary, compared: GroupComparison | None = None) -> Sequence[Rate]:
    """Return TSR, ECR and C-TSR, with what they were over the paired tasks."""
    ecr = summary.interval(summary.completed, summary.runs)
    c_tsr = summary.interval(summary.correct, summary.completed)
    found = (
        rate_of("tsr", "TSR", summary.tsr, summary.tsr_bounds),
        rate_of("ecr", "ECR", summary.ecr, ecr),
        rate_of("c_tsr", "C-TSR", summary.c_tsr, c_tsr),
    )
    counts = {
        "tsr": f"{summary.correct} of {summary.runs} runs correct",
        "ecr": f"{summary.completed} of {summary.runs} completed",
        "c_tsr": f"{summary.correct} of {summary.completed} completed correct",
    }
    away = f"; {unavailable(summary)}" if summary.unavailable else ""
    return [_with_before(replace(one, note=f"{counts[one.name]}{away}"), compared) for one in found]


def facts_of(summary: Summary, compared: GroupComparison | None = None) -> Sequence[Fact]:
    """Return what a run took: tokens, cost, time and calls."""
    was = compared.baseline if compared is not None and compared.paired else None
    cost = summary.usage.get("cost_usd")
    total = f"{money(cost.total)} in {counted(cost.known, 'run')}" if cost else ""
    each = money(summary.cost_per_correct)
    p95, took = seconds(summary.latency_p95), seconds(sum(summary.durations))
    return [
        Fact(
            name="time of a run, median",
            value=seconds(summary.latency_median),
            more=f"p95 {p95}, all {took}" if summary.durations else "",
            was=_was(was, lambda one: seconds(one.latency_median)),
        ),
        Fact(
            name="tokens of a run",
            value=_tokens(summary),
            more=_token_parts(summary),
            was=_was(was, _tokens),
        ),
        Fact(
            name="cost of a run",
            value=money(mean_of(summary, "cost_usd")),
            more=f"{total}; {each} per correct run" if total else "",
            was=_was(was, lambda one: money(mean_of(one, "cost_usd"))),
        ),
        Fact(
            name="tool calls of a run",
            value=amount(summary.calls_per_run),
            more=_calls(summary),
            was=_was(was, lambda one: amount(one.calls_per_run)),
        ),
        *_procedure(summary, was),
    ]


def _procedure(summary: Summary, was: Summary | None) -> Iterator[Fact]:
    """Yield how the runs kept to the procedure, and what a guess would come to, if known."""
    told: tuple[tuple[str, Callable[[Summary], str], str], ...] = (
        (
            "tool accuracy",
            lambda one: as_percent(one.calls.accuracy) if one.calls.calls else NOT_AVAILABLE,
            f"{summary.calls.calls - summary.calls.bad} of {counted(summary.calls.calls, 'call')}",
        ),
        (
            "expected calls",
            lambda one: as_percent(METRICS["expected_calls"].rate(one)),
            f"all made in {summary.unmade.made} of {counted(summary.unmade.runs, 'run')}",
        ),
        (
            "unneeded calls",
            lambda one: str(one.unneeded.unneeded) if one.unneeded.affected else NOT_AVAILABLE,
            " ".join(unneeded_words(summary)),
        ),
        (
            "contract",
            lambda one: as_percent(one.contract_rate),
            f"{summary.contract.held} of {counted(summary.contract.runs, 'run')}",
        ),
    )
    for name, words, more in told:
        if words(summary) != NOT_AVAILABLE:
            yield Fact(name=name, value=words(summary), more=more, was=_was(was, words))
    for metric in run_metrics():
        if metric.name in summary.measured:
            measured = metric.measured(summary)
            yield Fact(
                name=metric.label,
                value=_value(metric, summary),
                more=measured.lacks or metric.counted(measured.total, measured.known),
                was=_was(was, partial(_value, metric)),
            )
    if summary.chance is not None:
        # The right answers alone decide it, so no baseline had another one.
        yield Fact(name="chance", value=as_percent(summary.chance), more="one answer to every task")


def _value(metric: Metric, summary: Summary) -> str:
    return value_text(metric.name, metric.rate(summary))


def endings_of(page: SessionPage) -> Iterator[tuple[str, int, float, float]]:
    """Yield how many runs ended in which outcome, in the order of the glossary.

    Behind that stand the width of its part of a line, and where the part begins.
    """
    counts = Counter(one.outcome for one in page.records)
    begin = 0.0
    for outcome in Outcome:
        if counts[outcome]:
            width = share(counts[outcome], len(page.records))
            yield outcome.value, counts[outcome], width, round(begin, 2)
            begin += width


def pooled_of(page: SessionPage) -> Summary:
    """Return what all runs of a session with one agent came to."""
    values = [*page.summaries.values()]
    return values[0] if len(values) == 1 else total_of(page.summaries).pooled


def _with_before(rate: Rate, compared: GroupComparison | None) -> Rate:
    change = compared.changes.get(rate.name) if compared is not None else None
    if change is None or change.before is None or change_text(change) == NOT_AVAILABLE:
        return rate
    return replace(
        rate,
        before=round(change.before * 100, 2),
        change=f"was {as_percent(change.before)}, {change_text(change)}",
    )


def _was(before: Summary | None, words: Callable[[Summary], str]) -> str:
    if before is None:
        return ""
    text = words(before)
    return "" if text == NOT_AVAILABLE else text


def _tokens(summary: Summary) -> str:
    sent, written = mean_of(summary, "input_tokens"), mean_of(summary, "output_tokens")
    return amount(None if sent is None or written is None else sent + written)


def _token_parts(summary: Summary) -> str:
    if _tokens(summary) == NOT_AVAILABLE:
        return ""
    parts = {"in": "input_tokens", "cached": "cached_tokens", "out": "output_tokens"}
    known = {word: mean_of(summary, name) for word, name in parts.items()}
    return ", ".join(f"{word} {amount(one)}" for word, one in known.items() if one is not None)


def _calls(summary: Summary) -> str:
    calls = summary.calls
    if not calls.calls:
        return ""
    return f"{calls.bad} bad, {calls.failed} failed of {calls.calls}"


# How often each output field is right, for the page.


def field_rows(summaries: Mapping[str, Summary]) -> Sequence[tuple[str, Rate, str]]:
    """Return for each field of each domain that has several of how many runs it is right."""
    return [
        (
            f"{domain}: {name}" if len(summaries) > 1 else name,
            rate_of(
                name,
                name,
                summary.rate(one.right, one.runs),
                summary.interval(one.right, one.runs),
            ),
            f"{one.right} of {one.runs}",
        )
        for domain, summary in summaries.items()
        if len(summary.by_field) > 1
        for name, one in summary.by_field.items()
    ]


# Tables of the page: domains, agents, broken rules, confusion, and the plain list of runs.

LISTED: Final = 5_000
"""Runs that the plain list names; of a larger session it has those that are not correct first."""

NOTICEABLE: Final = 0.01
"""Seconds that the longest run takes at least if times are shown: the rest is the machine's."""

LABELS: Final = 12
"""Labels on a side of a confusion table."""


GroupRow = tuple[str, Rate, Mapping[str, str]]
"""A domain, or an agent, with its rate and its numbers by column."""


def domain_rows(summaries: Mapping[str, Summary]) -> Sequence[GroupRow]:
    """Return the domains (and agents) of a session; nothing if it has one domain."""
    if len({domain_of(title) for title in summaries}) == 1:
        # What it came to stands above, or in the leaderboard.
        return ()
    return [_domain_row(title, one) for title, one in summaries.items()]


def board_of(board: Leaderboard | None) -> Mapping[str, object] | None:
    """Return the leaderboard, and which of its differences are more than chance."""
    if board is None:
        return None
    rows = [
        (one.label, rates(one.summary)[0], _board_cells(one.summary)) for one in board.standings
    ]
    stars = any("*" in cell for *_, cells in rows for cell in cells.values())
    return {"rows": rows, "pairs": difference_text(board), "has_stars": stars}


def heads_of(rows: Sequence[GroupRow]) -> Sequence[str]:
    """Return the columns of all rows; one of them may have some that another lacks."""
    return [*dict.fromkeys(name for *_, cells in rows for name in cells)]


def rule_rows(page: SessionPage, rows: Rows) -> Sequence[tuple[str, RuleTally]]:
    """Return the broken rules: those that must hold first, then by how many runs broke them.

    Before each stands its domain, if there are several.
    """
    found = [
        (title if len(page.summaries) > 1 else "", one)
        for title, summary in page.summaries.items()
        for one in summary.rules
        if one.broken
    ]
    for _, one in found:
        rows.rule(one.id)
    return sorted(found, key=lambda row: (row[1].severity is not Severity.MUST, -row[1].broken))


def confusion_tables(page: SessionPage, rows: Rows) -> Sequence[Mapping[str, object]]:
    """Return a table for each field of few labels; see `number_lines` for numbers."""
    labels = agent_labels(page)
    return [
        _confusion(title, table, rows, labels, several=len(page.summaries) > 1)
        for title, summary in page.summaries.items()
        for table in summary.confusions
        if (domain_of(title), table.field) in rows.confused
    ]


def number_lines(page: SessionPage, rows: Rows) -> Sequence[tuple[str, str, str]]:
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
        (
            ": ".join(filter(None, (domain if several else "", agent, field))),
            field,
            _off_words(found),
        )
        for (domain, agent, field), found in groups.items()
    ]


def histograms(page: SessionPage) -> Sequence[Mapping[str, object]]:
    """Return the distributions of time and cost, agent by agent."""
    labels = agent_labels(page) or {"": ""}
    found: list[Mapping[str, object] | None] = []
    for agent, label in labels.items():
        runs = [one for one in page.records if not label or one.agent == agent]
        by = f", {label}" if label else ""
        times = [one.duration_s for one in runs if one.duration_s is not None]
        costs = [one.usage.cost_usd for one in runs if one.usage.cost_usd is not None]
        if max(times, default=0) >= NOTICEABLE:
            found.append(histogram(f"time of a run{by}", times, len(runs), seconds))
        found.append(histogram(f"cost of a run{by}", costs, len(runs), money))
    return [one for one in found if one is not None]


def list_lines(page: SessionPage, rows: Rows) -> tuple[Sequence[Mapping[str, str]], int]:
    """Return the runs of the plain list, and how many it leaves out."""
    labels = agent_labels(page)
    records = page.records
    if len(records) > LISTED:
        # Nobody reads so many; what went wrong is what is looked for.
        records = sorted(records, key=lambda one: one.outcome is Outcome.CORRECT)[:LISTED]
    lines = [
        {
            "name": (name := rows.masked(run_name(one, labels))),
            # As it stands behind the `#` of a link.
            "id": quote(name.encode("utf-8", "surrogatepass"), safe="/@+"),
            "outcome": one.outcome.value,
            "why": rows.why(one),
            "change": rows.change(one),
        }
        for one in records
    ]
    return lines, len(page.records) - len(lines)


def _domain_row(title: str, summary: Summary) -> GroupRow:
    # A bootstrap over the tasks, which gives all intervals of trials at once.
    bounds = summary.trial_bounds if summary.trials_by else None
    tsr = bounds.tsr if bounds else summary.interval(summary.correct, summary.runs)
    rate = rate_of("tsr", "TSR", summary.tsr, tsr)
    return title, rate, _domain_cells(summary, bounds)


def _domain_cells(summary: Summary, bounds: TrialBounds | None) -> Mapping[str, str]:
    cells = {
        "correct": of_runs(summary.correct, summary),
        "ECR": as_percent(summary.ecr),
        "C-TSR": as_percent(summary.c_tsr),
        "contract": as_percent(summary.contract_rate),
        "chance": as_percent(summary.chance),
        "median": seconds(summary.latency_median),
    }
    if bounds is not None:
        cells["trials"] = trials_per_task(summary.trials)
        cells["pass any"] = f"{as_percent(summary.pass_any)} {interval(bounds.pass_any)}"
        cells["pass all"] = f"{as_percent(summary.pass_all)} {interval(bounds.pass_all)}"
    return {name: or_dash(text) for name, text in cells.items()}


_SHARES: Final = frozenset({"ECR", "C-TSR", "contract"})


def _board_cells(summary: Summary) -> Mapping[str, str]:
    known = leaderboard_cells(summary)
    cells = {name: text for name, text in known.items() if name not in {"TSR", "95 %"}}
    return {
        "correct": of_runs(summary.correct, summary),
        **{
            name: or_dash(f"{text}{' %' if name in _SHARES and text[:1].isdigit() else ''}")
            for name, text in cells.items()
        },
    }


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
) -> Mapping[str, object]:
    """Expected labels as rows, given ones as columns; a cell counts how often both came."""
    expected = table.expected[:LABELS]
    given = [*expected, *table.unexpected][:LABELS]
    most = max(table.pairs.values())
    shown = {(one, other) for one in expected for other in given}

    def cell(one: str, other: str) -> Mapping[str, object]:
        count = table.pairs.get((one, other), 0)
        return {
            "count": count,
            "expected": rows.label(one),
            "actual": rows.label(other),
            "right": one == other,
            # How dark it is, from 0 to 4.
            "level": 1 + min(int(count / most * 4), 3) if count else 0,
        }

    return {
        "place": rows.table(domain_of(title), table.field),
        "title": f"{title}: {table.field}" if several else table.field,
        "agent": labels.get(title.removeprefix(domain_of(title)).strip()[1:-1], ""),
        "heads": given,
        "rows": [(one, [cell(one, other) for other in given]) for one in expected],
        "left_out": sum(number for pair, number in table.pairs.items() if pair not in shown),
    }
