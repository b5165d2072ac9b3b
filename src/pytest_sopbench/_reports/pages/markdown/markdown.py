"""A session on one page of Markdown, verdict first: for a pull request, a wiki, a step summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.hiding.harmless import without_commands
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS, MetricSpec
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import total_of
from pytest_sopbench._core.model.keys import domain_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure.task import value_line
from pytest_sopbench._reports.terminal.page_verdict import page_verdict
from pytest_sopbench._reports.text.judge import report_lines
from pytest_sopbench._reports.text.layout import cut
from pytest_sopbench._reports.text.numbers import (
    amount,
    counted,
    interval,
    money,
    of_runs,
    percent,
    rate_of_runs,
    seconds,
    tokens_text,
)

from .markdown_agents import leaderboard_block, pooled_by_agent
from .markdown_blocks import escaped, table
from .markdown_comparison import comparison_block
from .markdown_documents import documents_block
from .markdown_fields import fields_block
from .markdown_trials import trials_block
from .markdown_variants import variants_block

MISSES = 20
SLOWEST = 5
RULES = 20
_REASON = 160


def markdown(page: SessionPage) -> str:
    """Return the page, with its last line ended."""
    blocks = [
        [f"# SOP: {', '.join(map(escaped, _domains(page)))}, agent {escaped(page.agent)}"],
        list(_verdict_lines(page)),
        list(leaderboard_block(page.leaderboard)),
        list(comparison_block(page.comparison)),
        list(_rate_lines(page.summaries)),
        list(documents_block(page.summaries)),
        list(fields_block(page.summaries)),
        list(_judge_lines(page)),
        list(trials_block(page.summaries, page.records)),
        list(variants_block(page.variants)),
        list(_outcome_lines(page)),
        list(_miss_lines("Not correct", page.asked, by=page.leaderboard is not None)),
        list(_miss_lines("Not correct, and may fail", page.apart, by=page.leaderboard is not None)),
        list(_rule_lines(page.summaries)),
        list(_slow_lines(page.records, by=page.leaderboard is not None)),
        list(_cost_lines(page)),
        list(_fact_lines(page.facts)),
    ]
    text = "".join("\n".join(block) + "\n\n" for block in blocks if block).rstrip("\n")
    return f"{without_commands(text)}\n"


def _domains(page: SessionPage) -> Sequence[str]:
    return [*dict.fromkeys(map(domain_of, page.summaries))]


def _verdict_lines(page: SessionPage) -> Iterator[str]:
    if page.leaderboard is None:
        total = total_of(page.summaries).pooled
        rate = rate_of_runs(total.tsr, total)
        few = bool(total.unavailable) and not total.unmeasured
        away = f" ({total.unavailable} unavailable)" if few else ""
        runs = f"{total.correct} of {counted(total.runs, 'run')} correct{away}"
        yield f"**{page_verdict(page)}**: TSR {rate}, {runs}{_without(page)}"
    else:
        yield f"**{page_verdict(page)}**"
    if page.gates or page.not_evaluated or page.remarks or page.failures:
        yield ""
    for one in page.gates:
        where = f"{escaped(one.where)}: " if one.where else ""
        why = f": {escaped(one.why)}" if one.why else ""
        yield f"- {where}{escaped(one.asked)} {escaped(one.found)}{why}"
    if page.not_evaluated:
        yield f"- not evaluated: {escaped(page.not_evaluated)}"
    if page.failures:
        yield f"- {counted(page.failures, 'test')} failed that no gate forgives"
    yield from (f"- {escaped(one)}" for one in page.remarks)


def _without(page: SessionPage) -> str:
    if not page.apart:
        return ""
    asked = page.without
    share = percent(asked.tsr)
    return f"; without answers that may be wrong {share}, {of_runs(asked.correct, asked)}"


def _rate_lines(summaries: Mapping[str, Summary]) -> Iterator[str]:
    tsr, *others = _columns()
    heads = ("domain", "correct", tsr.heading, "95 %", *(one.heading for one in others), CHANCE)
    rows = [_rate_row(escaped(name), one, one.chance) for name, one in summaries.items()]
    for name, mine in pooled_by_agent(summaries).items():
        total = total_of(mine)
        rows.append(_rate_row(escaped(name), total.pooled, total.chance))
    yield from table(heads, rows)


def _rate_row(name: str, summary: Summary, chance: float | None) -> Sequence[str]:
    tsr, *others = _columns()
    return (
        name,
        of_runs(summary.correct, summary),
        percent(tsr.rate(summary)),
        interval(summary.tsr_bounds),
        *(percent(one.rate(summary)) for one in others),
        percent(chance),
    )


def _columns() -> list[MetricSpec]:
    """Return the metrics of the table; the first is TSR, which alone has an interval."""
    return [metric for metric in METRICS.values() if metric.heading and metric.table]


def _judge_lines(page: SessionPage) -> Iterator[str]:
    lines = list(report_lines(page.judge))
    if lines:
        yield "## Judge"
        yield ""
        yield from (f"- {escaped(line)}" for line in lines)


def _outcome_lines(page: SessionPage) -> Iterator[str]:
    standings = page.leaderboard.standings if page.leaderboard is not None else ()
    counts = Counter((one.agent if standings else "", one.outcome) for one in page.records)
    agents = {one.agent: escaped(one.label) for one in standings} or {"": "runs"}
    known = [one for one in Outcome if any(counts[agent, one] for agent in agents)]
    yield "## Outcomes"
    yield ""
    rows = ([one.value, *(f"{counts[agent, one]}" for agent in agents)] for one in known)
    yield from table(("outcome", *agents.values()), rows)


def _miss_lines(what: str, records: Sequence[RunRecord], *, by: bool) -> Iterator[str]:
    # What never started is counted above; a list of it would bury what went wrong.
    silent = {Outcome.CORRECT, Outcome.NOT_RUN}
    misses = [one for one in records if one.outcome not in silent]
    if not misses:
        return
    yield f"## {what}: {len(misses)}"
    yield ""
    yield "| task | what came of it |"
    yield "| --- | --- |"
    for one in misses[:MISSES]:
        yield f"| {_task(one, by=by)} | {escaped(cut(value_line(one), _REASON))} |"
    if len(misses) > MISSES:
        yield ""
        yield f"and {len(misses) - MISSES} more; the saved session holds all of them"


def _rule_lines(summaries: Mapping[str, Summary]) -> Iterator[str]:
    broken = [(name, rule) for name, one in summaries.items() for rule in one.rules if rule.broken]
    if not broken:
        return
    yield "## Broken rules"
    yield ""
    rows = (
        (
            escaped(f"{name}: {rule.id}" if len(summaries) > 1 else rule.id),
            escaped(rule.clause),
            rule.severity.value,
            f"{rule.exercised - rule.held} of {rule.exercised}",
        )
        for name, rule in broken[:RULES]
    )
    yield from table(("rule", "clause", "severity", "broken in runs"), rows)
    if len(broken) > RULES:
        yield ""
        yield f"and {counted(len(broken) - RULES, 'more rule')}"


def _slow_lines(records: Sequence[RunRecord], *, by: bool) -> Iterator[str]:
    known = [(one.duration_s, one) for one in records if one.duration_s is not None]
    if not known:
        return
    slowest = sorted(known, key=lambda pair: -pair[0])[:SLOWEST]
    yield "## Slowest"
    yield ""
    rows = ((_task(one, by=by), seconds(took), f"{len(one.calls)}") for took, one in slowest)
    yield from table(("task", "time", "tool calls"), rows)


def _cost_lines(page: SessionPage) -> Iterator[str]:
    if page.leaderboard is not None:
        # Of two agents together a mean says nothing; the leaderboard has that of each.
        return
    total = total_of(page.summaries).pooled
    mean = {name: one.mean for name, one in total.usage.items()}
    cost = total.usage.get("cost_usd")
    yield "## A run"
    yield ""
    times = f"median {seconds(total.latency_median)}, p95 {seconds(total.latency_p95)}"
    yield f"- time: {times}"
    yield f"- tool calls {amount(total.calls_per_run)}, {tokens_text(mean)}"
    each = f"{money(total.cost_per_correct)} per correct run"
    spent = f", {money(cost.total)} in {counted(cost.known, 'run')}, {each}" if cost else ""
    yield f"- cost: {money(mean.get('cost_usd'))}{spent}"


def _fact_lines(facts: Mapping[str, str]) -> Iterator[str]:
    said = [f"{escaped(name)} {escaped(value)}" for name, value in facts.items() if value]
    if said:
        yield ", ".join(said)


def _task(record: RunRecord, *, by: bool = False) -> str:
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    agent = f" by {record.agent}" if by else ""
    return escaped(f"{record.domain}/{record.task}{trial}{agent}")
