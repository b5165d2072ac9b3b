"""A session as Markdown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pytest_sopbench._core.comparing import Leaderboard
from pytest_sopbench._core.comparison import (
    ComparisonResult,
    GroupComparison,
    NotCompared,
    SessionComparison,
)
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.hiding import without_commands
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS, Metric, run_metrics
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total, classes_of, total_of
from pytest_sopbench._core.metrics.trials import disagreements
from pytest_sopbench._core.model.task import TaskKey, agent_of, domain_of
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.text import first_of
from pytest_sopbench._core.variants import VariantFinding
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure import value_line
from pytest_sopbench._reports.terminal.comparison import (
    change_text,
    changed_texts,
    difference_text,
    leaderboard_cells,
    moved_path_parts,
    p_value,
    setup_text,
)
from pytest_sopbench._reports.terminal.gate import page_verdict, variant_text
from pytest_sopbench._reports.terminal.summary import LIMIT, path_parts, trials_per_task
from pytest_sopbench._reports.text import (
    NOT_AVAILABLE,
    amount,
    as_percent,
    counted,
    cut,
    interval,
    measured_text,
    money,
    of_runs,
    one_line,
    rate_of_runs,
    report_lines,
    seconds,
    tokens_text,
    unneeded_words,
    value_text,
)

# Text as Markdown shows it, and tables of it.

_SIGNS = re.compile(
    r"[\\`*\[\]|~&@#]|<(?![= ])|(?<![^\W_])_|_(?![^\W_])|(?<=\w)(?=://)|\bwww(?=\.)"
)
"""What Markdown, or the site that shows it, would take for more than text."""


def escaped(text: str) -> str:
    """Return a text on one line that Markdown shows as it is, in a cell of a table too."""
    return _SIGNS.sub(_as_entity, one_line(text))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table whose cells are escaped already; the first column is text, others numbers."""
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield lines under a heading; nothing without a line."""
    for number, line in enumerate(lines):
        if not number:
            yield f"## {title}"
            yield ""
        yield line


def _as_entity(found: re.Match[str]) -> str:
    sign = found[0]
    # Empty between a scheme and its colon: a joiner that is not seen keeps it from being a link.
    return "".join(f"&#{ord(one)};" for one in sign) if len(sign) == 1 else f"{sign}&#8288;"


# The agents of a session, as parts of a page of Markdown.


def leaderboard_block(board: Leaderboard | None) -> Iterator[str]:
    """Yield a section on the agents, best first, or nothing if there is one agent."""
    if board is None:
        return
    rows = {one.label: leaderboard_cells(one.summary) for one in board.standings}
    yield "## Leaderboard"
    yield ""
    heads = (f"{head}, %" if head in _RATES else head for head in next(iter(rows.values())))
    cells = ((escaped(name), *map(_cell, row.values())) for name, row in rows.items())
    yield from table(("agent", *heads), cells)
    yield ""
    yield f"Pairs: {escaped(difference_text(board))}"
    if any("*" in cell for row in rows.values() for cell in row.values()):
        yield ""
        yield escaped("* a mean over the runs that reported it, and not over all")


def _cell(text: str) -> str:
    # A number with its mark; intervals stand in their brackets as in the table of domains.
    return escaped(text) if "*" in text else text


def pooled_by_agent(summaries: Mapping[str, Summary]) -> Mapping[str, Mapping[str, Summary]]:
    """Return the groups that are pooled, by what they are called together: those of one agent."""
    agents = dict.fromkeys(map(agent_of, summaries))
    mine = {
        agent: {name: one for name, one in summaries.items() if agent_of(name) == agent}
        for agent in agents
    }
    return {
        f"pooled ({agent})" if len(agents) > 1 else "pooled": groups
        for agent, groups in mine.items()
        if len(groups) > 1
    }


_RATES = frozenset({"TSR", "ECR", "C-TSR", "contract"})


# A comparison with a baseline, as a part of a page of Markdown.

NAMED = 20
"""Tasks of one list that are named; the saved sessions hold all of them."""


def comparison_block(compared: SessionComparison | None) -> Iterator[str]:
    """Yield a section on what became of the tasks, or nothing if nothing was compared."""
    if compared is None:
        return
    pooled = compared.pooled
    yield f"## Compared with {escaped(pooled.name)}"
    yield ""
    if compared.has_agents:
        # Of two agents together nothing is true: a verdict on each, and lists of tasks by name.
        for title, one in {**compared.groups, **_pooled(compared)}.items():
            yield f"- **{escaped(title)}**: {_verdict(one)}"
    else:
        yield f"**{_verdict(pooled)}**"
    yield ""
    yield from (f"- {escaped(text)}" for text in changed_texts(compared.changed))
    if compared.setups:
        yield f"- setup: {', '.join(escaped(setup_text(one)) for one in compared.setups)}"
    yield from _task_lines("lost", pooled.lost, pooled)
    yield from _task_lines("gained", pooled.gained, pooled)
    for reason in NotCompared:
        keys = [key for key, why in pooled.aside.items() if why is reason]
        yield from _task_lines(f"not compared, {reason}", keys, pooled)
    yield from _task_lines("not compared, and not correct now", pooled.not_correct, pooled)
    yield from _task_lines("not compared, may fail", pooled.may_fail, pooled)
    yield from _path_lines(compared)
    yield from _group_lines(compared)
    if not compared.has_agents:
        yield from _change_lines(pooled)
        yield from _field_lines(pooled)


def _field_lines(one: GroupComparison) -> Iterator[str]:
    """Yield a row for each output field that changed, and a line for each score."""
    rows = [
        (
            escaped(field.field),
            f"{field.before} of {field.of_before}",
            f"{field.now} of {field.of_now}",
            f"{field.lost}",
            f"{field.gained}",
        )
        for field in one.fields
        if field.lost or field.gained
    ]
    if rows:
        yield ""
        yield from table(("field", "right before", "right now", "lost", "gained"), rows)
    if one.scores:
        yield ""
    for score in one.scores:
        means = f"{score.before:.3g} before, {score.now:.3g} now"
        tasks = counted(score.tasks, "task")
        yield f"- score of {escaped(score.field)}: {means}, {p_value(score.test.p)} ({tasks})"


def _path_lines(compared: SessionComparison) -> Iterator[str]:
    for name, one in compared.groups.items():
        moved = moved_path_parts(one)
        if moved:
            yield f"- paths of {escaped(name)}: {escaped(' '.join(moved))}"


def _pooled(compared: SessionComparison) -> Mapping[str, GroupComparison]:
    return {
        f"{one.groups} domains, pooled ({agent})": one for agent, one in compared.agents.items()
    }


def _verdict(one: GroupComparison) -> str:
    if one.tier is ComparisonResult.NOT_COMPARABLE:
        return f"not comparable: {escaped(one.why)}"
    if not one.paired:
        return f"{one.tier}: no task can be compared"
    counts = f"lost {len(one.lost)}, gained {len(one.gained)}"
    of = f"of {counted(one.paired, 'paired task')}"
    more = (
        f"; p < 0.05 takes at least {one.needed}" if one.tier is ComparisonResult.NOT_ENOUGH else ""
    )
    return f"{one.tier}: {counts} {of}, {p_value(one.test.p)}{more}"


def _task_lines(what: str, keys: Sequence[TaskKey], one: GroupComparison) -> Iterator[str]:
    if not keys:
        return
    names = [_name(key) if one.groups > 1 else key.task for key in keys]
    yield f"- {what} {len(names)}: {first_of(map(escaped, names), NAMED)}"


def _name(key: TaskKey) -> str:
    return f"{key.domain}/{key.task}{f' by {key.agent}' if key.agent else ''}"


def _group_lines(compared: SessionComparison) -> Iterator[str]:
    if len(compared.groups) == 1:
        return
    yield ""
    rows = [
        (escaped(name), str(len(one.lost)), str(len(one.gained)), p_value(one.test.p))
        for name, one in compared.groups.items()
    ]
    yield from table(("domain", "lost", "gained", "p"), rows)


def _change_lines(one: GroupComparison) -> Iterator[str]:
    rows = [
        (
            escaped(METRICS[name].label),
            escaped(value_text(name, change.before)),
            escaped(value_text(name, change.after)),
            # The brackets of an interval are no link; a unit is the text of a package.
            escaped(change_text(change, name)) if METRICS[name].unit else change_text(change),
        )
        for name, change in one.changes.items()
        if change_text(change) != NOT_AVAILABLE
    ]
    rows += [
        (escaped(METRICS[name].label), NOT_AVAILABLE, NOT_AVAILABLE, escaped(change.open))
        for name, change in one.changes.items()
        if change.open
    ]
    if rows:
        yield ""
        yield from table(("", "before", "now", "change, in points"), rows)


# Answers that are JSON documents, on the page: tiers, worst paths, classes of domains.


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
    score = as_percent(summary.rate(*counts.fifths))
    numbers = (counts.matches, counts.mismatches, counts.invalid)
    worst = escaped(", ".join(path_parts(counts))) or "all right"
    return (escaped(name), score, *(f"{one}" for one in numbers), worst)


def _class_row(name: str, total: Total) -> tuple[str, ...]:
    pooled = total.pooled
    return (
        escaped(name),
        f"{total.domains}",
        as_percent(total.means.get("tsr")),
        as_percent(total.means.get("tier_score")),
        f"{pooled.runs}{f', {pooled.unavailable} unavailable' if pooled.unavailable else ''}",
        as_percent(pooled.tsr),
        as_percent(pooled.rate(*pooled.documents.fifths)),
    )


# How often each output field is right, on a page; nothing if no domain has several.


def fields_block(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield a table with a row for each field of each domain that has several."""
    rows = [
        (
            escaped(f"{domain}: {name}" if len(summaries) > 1 else name),
            f"{one.right} of {one.runs}",
            as_percent(summary.rate(one.right, one.runs)),
            interval(summary.interval(one.right, one.runs)),
        )
        for domain, summary in summaries.items()
        if len(summary.by_field) > 1
        for name, one in summary.by_field.items()
    ]
    return section("Fields", table(("field", "right", "rate", "95 %"), rows) if rows else ())


# What several trials of a task say, on a page; nothing if each task has one.

_HEADS = ("domain", "trials per task", "pass any", "95 %", "pass all", "95 %")


def trials_block(summaries: Mapping[str, Summary], records: Sequence[RunRecord]) -> Iterator[str]:
    """Yield pass any and pass all by domain, and the tasks whose trials disagree."""
    rows = [_trials_row(escaped(name), one) for name, one in summaries.items() if one.trials_by]
    if not rows:
        return
    yield "## Trials"
    yield ""
    yield from table(_HEADS, rows)
    found = sorted(
        disagreements((one.key, one.outcome) for one in records), key=lambda one: one.rate
    )
    if not found:
        return
    yield ""
    tasks = [
        (escaped(f"{one.domain}/{one.task}"), f"{one.correct} of {one.trials}")
        for one in found[:LIMIT]
    ]
    yield from table(("trials disagree in", "correct"), tasks)
    if len(found) > LIMIT:
        yield ""
        yield f"and {len(found) - LIMIT} more"


def _trials_row(name: str, summary: Summary) -> Sequence[str]:
    bounds = summary.trial_bounds
    return (
        name,
        trials_per_task(summary.trials),
        as_percent(summary.pass_any),
        interval(bounds.pass_any),
        as_percent(summary.pass_all),
        interval(bounds.pass_all),
    )


# What variants of tasks tell, on the page.


def variants_block(found: Sequence[VariantFinding]) -> Iterator[str]:
    """Yield a row for each variant; none of it stands in any rate of the page."""
    heads = ("domain", "agent", "variant", "what it tells")
    rows = (map(escaped, (one.domain, one.agent, one.name, variant_text(one))) for one in found)
    return section("Variants", table(heads, [[*row] for row in rows]) if found else ())


# A session on one page of Markdown, verdict first: for a pull request, a wiki, a step summary.

MISSES = 20
SLOWEST = 5
RULES = 20
_REASON = 160


def markdown(page: SessionPage) -> str:
    """Return the page, with its last line ended."""
    known = [(name, value) for name, value in page.facts.items() if value]
    domains = ", ".join(map(escaped, dict.fromkeys(map(domain_of, page.summaries))))
    blocks = [
        [f"# SOP: {domains}, agent {escaped(page.agent)}"],
        list(_verdict_lines(page)),
        list(leaderboard_block(page.leaderboard)),
        list(comparison_block(page.comparison)),
        list(_rate_lines(page.summaries)),
        list(documents_block(page.summaries)),
        list(fields_block(page.summaries)),
        list(section("Judge", (f"- {escaped(line)}" for line in report_lines(page.judge)))),
        list(trials_block(page.summaries, page.records)),
        list(variants_block(page.variants)),
        list(_outcome_lines(page)),
        list(_miss_lines("Not correct", page.asked, by=page.leaderboard is not None)),
        list(_miss_lines("Not correct, and may fail", page.apart, by=page.leaderboard is not None)),
        list(_rule_lines(page.summaries)),
        list(_slow_lines(page.records, by=page.leaderboard is not None)),
        list(_cost_lines(page)),
        list(_metric_lines(page.summaries)),
        list(_unneeded_lines(page.summaries)),
        [", ".join(f"{escaped(name)} {escaped(value)}" for name, value in known)] if known else [],
    ]
    text = "".join("\n".join(block) + "\n\n" for block in blocks if block).rstrip("\n")
    return f"{without_commands(text)}\n"


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
    share = as_percent(asked.tsr)
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
        as_percent(tsr.rate(summary)),
        interval(summary.tsr_bounds),
        *(escaped(value_text(one.name, one.rate(summary))) for one in others),
        as_percent(chance),
    )


def _columns() -> list[Metric]:
    """Return the metrics of the table; the first is TSR, which alone has an interval."""
    return [metric for metric in METRICS.values() if metric.heading and metric.table]


def _outcome_lines(page: SessionPage) -> Iterator[str]:
    standings = page.leaderboard.standings if page.leaderboard is not None else ()
    counts = Counter((one.agent if standings else "", one.outcome) for one in page.records)
    agents = {one.agent: escaped(one.label) for one in standings} or {"": "runs"}
    known = [one for one in Outcome if any(counts[agent, one] for agent in agents)]
    rows = ([one.value, *(f"{counts[agent, one]}" for agent in agents)] for one in known)
    return section("Outcomes", table(("outcome", *agents.values()), rows))


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
    slowest = sorted(known, key=lambda pair: -pair[0])[:SLOWEST]
    rows = ((_task(one, by=by), seconds(took), f"{len(one.calls)}") for took, one in slowest)
    return section("Slowest", table(("task", "time", "tool calls"), rows) if known else ())


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


def _metric_lines(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield a line for each metric that is counted run by run, of each group of runs."""
    told = (
        f"- {escaped(name)}: {escaped(measured_text(metric, one))}"
        for name, one in summaries.items()
        for metric in run_metrics()
        if metric.name in one.measured
    )
    return section("Metrics", told)


def _unneeded_lines(summaries: Mapping[str, Summary]) -> Iterator[str]:
    """Yield a line on the tools that were called in vain, of each group of runs that has any."""
    told = (
        f"- {escaped(name)}: {escaped(' '.join(unneeded_words(one)))}"
        for name, one in summaries.items()
        if one.unneeded.affected
    )
    return section("Unneeded calls", told)


def _task(record: RunRecord, *, by: bool = False) -> str:
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    agent = f" by {record.agent}" if by else ""
    return escaped(f"{record.domain}/{record.task}{trial}{agent}")
