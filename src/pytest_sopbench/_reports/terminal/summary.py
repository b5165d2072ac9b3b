"""The block of a domain in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from pytest_sopbench._core.contract import Severity
from pytest_sopbench._core.metrics.counts import (
    Collapse,
    Confusion,
    DocumentCounts,
    RuleTally,
    RunCounts,
    ToolCounts,
)
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS, run_metrics
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total
from pytest_sopbench._core.metrics.trials import TaskTrials, TrialCounts
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._reports.failure import must_first, rule_name
from pytest_sopbench._reports.text import (
    WIDTH,
    amount,
    as_percent,
    columns,
    common_start,
    counted,
    cut,
    few,
    heading,
    interval,
    measured_text,
    money,
    of_runs,
    one_line,
    packed,
    padded,
    rate_of_runs,
    seconds,
    tokens_text,
    unavailable,
    unneeded_words,
    value_text,
    with_commas,
    wrong_parts,
)

# The rates of a summary, in plain words, each with the counts that it comes from.

LABEL: Final = 7
"""Columns of the label that a line of the summary begins with."""

GAP: Final = "   "

# Where the words of a rate begin: the label and the rate stand before them.
_TEXTS = 13
_INTERVAL = 13

_Counts = tuple[int, int]


def completed_word(scoring: Scoring) -> str:
    """Return what a completed run has done; the published scorer asks for no answer."""
    return "returned" if scoring is Scoring.PUBLISHED else "answered"


def rate_lines(
    summary: Summary, *, beside: str = "", scoring: Scoring = Scoring.EXACT
) -> Iterator[str]:
    """Yield how many runs are correct, and how many gave an answer at all.

    Args:
        summary: of the runs.
        beside: what stands behind the first rate.
        scoring: by whose rules the runs were judged.
    """
    n, k, c = summary.runs, summary.correct, summary.completed
    word = completed_word(scoring)
    # Columns that stay under one another whatever the counts are.
    longest = "undisputed" if summary.disputed.counts.runs else word
    column = len(f"{longest}, {max(n, 100)} of {max(n, 100)}")
    line = partial(_rate_line, summary=summary, column=column)
    yield line("TSR", "correct", (k, n), beside=beside)
    if summary.disputed.counts.runs:
        undisputed = summary.undisputed
        counts = undisputed.correct, undisputed.runs
        yield line("", "undisputed", counts)
        left_out = _left_out(summary).split()
        yield from packed(f"{'':{LABEL - 1}}", left_out, gap=" ", indent=LABEL)
    first = line("ECR", word, (c, n))
    yield from _with_endings(first, _endings(summary), _TEXTS + column + 2 + _INTERVAL)


def procedure_lines(summary: Summary) -> Iterator[str]:
    """Yield how good the answers and the tool calls are: what a closer look asks for."""
    k, c = summary.correct, summary.completed
    parts = [
        f"{'C-TSR':<6}{as_percent(summary.c_tsr):>6} correct of those that answered, {k} of {c}"
    ]
    if summary.grounded.required:
        grounded = f"{summary.grounded.grounded} of {summary.runs}"
        parts.append(f"grounded {as_percent(summary.grounded_tsr)}, {grounded}")
    yield from packed(parts[0], parts[1:], gap=GAP, indent=LABEL)
    if summary.calls.calls:
        first, *others = _call_parts(summary)
        yield from packed(f"{'calls':<{LABEL}}{first}", others, gap=GAP, indent=LABEL)


def silence_lines(summary: Summary) -> Iterator[str]:
    """Say it aloud if no tool was called: then no procedure was followed."""
    seen = len(summary.durations)
    if summary.calls.calls or not seen or summary.documents.runs == summary.runs:
        return
    where = "" if seen == summary.runs else f" in {seen} of {summary.runs} runs"
    yield f"{'calls':<{LABEL}}no tool was called{where}"


def _rate_line(
    label: str, word: str, counts: _Counts, *, summary: Summary, column: int, beside: str = ""
) -> str:
    successes, n = counts
    rate = as_percent(summary.rate(successes, n))
    bounds = summary.tsr_bounds if label == "TSR" else summary.interval(*counts)
    text = f"{word}, {successes} of {n}"
    if summary.unmeasured:
        text = f"({unavailable(summary)}); {text}"
    start = f"{label:<6}{rate:>6} {text:<{column}}  {interval(bounds):<{_INTERVAL}}"
    return f"{start}{GAP}{beside}".rstrip()


def _endings(summary: Summary) -> list[str]:
    return [
        f"{summary.outcomes[outcome]} {outcome.value}"
        # What stopped a run from outside comes first: it says nothing about answers.
        for outcome in reversed(Outcome)
        if outcome not in COMPLETED and summary.outcomes.get(outcome)
    ]


def _with_endings(line: str, endings: list[str], width: int) -> Iterator[str]:
    beside = f"{line:<{width}}{GAP}{', '.join(endings)}".rstrip()
    if len(beside) <= WIDTH:
        yield beside
        return
    yield line
    words = with_commas(endings)
    yield from packed(f"{'':{_TEXTS}}{words[0]}", words[1:], gap=" ", indent=_TEXTS)


def _left_out(summary: Summary) -> str:
    reasons = summary.disputed.reasons
    ordered = sorted(reasons, key=lambda reason: (-reasons[reason], reason))
    more = f" (and {counted(len(ordered) - 1, 'other reason')})" if len(ordered) > 1 else ""
    reason = cut(one_line(ordered[0]), 120) if ordered else "no reason is given"
    return f"{summary.disputed.counts.runs} left out: {reason}{more}"


def _call_parts(summary: Summary) -> Iterator[str]:
    calls = summary.calls
    good = calls.calls - calls.bad
    formed = "all well-formed" if good == calls.calls else f"{good} of them well-formed"
    # A failure of a tool is of a well-formed call; of bad calls the accuracy tells.
    of_these = " of these" if calls.bad else ""
    failed = f"; {calls.failed}{of_these} answered with an error" if calls.failed else ""
    yield f"{counted(calls.calls, 'call')}, {formed}{failed}"
    yield f"tool accuracy {as_percent(summary.tool_accuracy)}"
    if summary.without_calls:
        yield f"no call in {counted(summary.without_calls, 'run')}"


def expected_call_lines(summary: Summary) -> Iterator[str]:
    """Yield how many runs made every expected call, and what the others lack first."""
    unmade = summary.unmade
    if not unmade.runs:
        return
    rate = as_percent(summary.rate(unmade.made, unmade.runs))
    runs = f"{unmade.made} of {counted(unmade.runs, 'run')}"
    first, parts = (
        f"every expected call made in {runs}, {rate}{';' if unmade.first else ''}",
        list[str](),
    )
    worst = sorted(unmade.first.items(), key=lambda one: (-one[1], one[0]))
    if worst:
        told = [f"{one_line(name)} in {n}" for name, n in worst]
        parts = few([f"first to differ: {told[0]}", *told[1:]], WORST)
    yield from packed(f"{'calls':<{LABEL}}{first}", parts, gap=" ", indent=LABEL)


def unneeded_lines(summary: Summary) -> Iterator[str]:
    """Yield how often tools were called that no expected call names, and which ones."""
    if summary.unneeded.affected:
        calls, *tools = unneeded_words(summary)
        label = "" if summary.unmade.runs else "calls"
        yield from packed(f"{label:<{LABEL}}{calls}", tools, gap=" ", indent=LABEL)


# What a run took: time, calls, tokens and money.


def known_lines(summary: Summary) -> Iterator[str]:
    """Yield what is known of time, tokens and cost; nothing if nothing is."""
    parts = list(_known_parts(summary))
    if parts:
        first = f"{'a run':<{LABEL}}{parts[0]}"
        yield from packed(first, parts[1:], gap=GAP, indent=LABEL)


def all_lines(summary: Summary) -> Iterator[str]:
    """Yield the same with what is unknown, the slowest runs and the calls."""
    mean = {name: one.mean for name, one in summary.usage.items()}
    median, slowest = seconds(summary.latency_median), seconds(summary.latency_p95)
    parts = [
        f"tool calls {amount(summary.calls_per_run)}",
        f"model calls {amount(mean.get('model_calls'))}",
        tokens_text(mean),
        f"cost {money(mean.get('cost_usd'))}{_whole_cost(summary)}",
    ]
    first = f"{'a run':<{LABEL}}median {median}, p95 {slowest}"
    yield from packed(first, parts, gap=GAP, indent=LABEL)


def _known_parts(summary: Summary) -> Iterator[str]:
    if summary.latency_median is not None:
        yield f"median {seconds(summary.latency_median)}"
    for name, word in {"input_tokens": "tokens in", "output_tokens": "tokens out"}.items():
        found = summary.usage.get(name)
        if found is not None and found.known:
            # A mean over some of the runs must not read as one over all of them.
            part = f" (of {found.known} runs)" if found.known < summary.runs else ""
            yield f"{word} {amount(found.mean)}{part}"
    cost = summary.usage.get("cost_usd")
    if cost is not None and cost.known:
        yield f"cost {money(cost.mean)}{_whole_cost(summary)}"


def _whole_cost(summary: Summary) -> str:
    cost = summary.usage.get("cost_usd")
    if not cost:
        return ""
    each = f"{money(summary.cost_per_correct)} per correct run"
    if summary.correct and summary.cost_per_correct is None:
        each += f" ({summary.runs - cost.known} unknown)"
    return f" ({money(cost.total)} in {counted(cost.known, 'run')}), {each}"


# Metrics that are counted run by run, as those of other packages are.


def metric_lines(summary: Summary) -> Iterator[str]:
    """Yield a line for each such metric of which a run was asked."""
    for metric in run_metrics():
        if metric.name in summary.measured:
            words = measured_text(metric, summary).split()
            yield from packed(f"{'metric':<{LABEL - 1}}", words, gap=" ", indent=LABEL)


# Answers that are JSON documents: their tiers, their worst paths, and classes of domains.

WORST: Final = 5
"""Paths that a summary shows."""


def document_lines(summary: Summary) -> Iterator[str]:
    """Yield the tier score with what it is made of, and the paths that are wrong most often."""
    counts = summary.documents
    if not counts.runs:
        return
    tiers = f"{counts.matches} match, {counts.mismatches} mismatch, {counts.invalid} invalid"
    score = as_percent(summary.rate(*counts.fifths))
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
        mean = (
            f"mean TSR {as_percent(means.get('tsr'))}, tier {as_percent(means.get('tier_score'))}"
        )
        away = f", {pooled.unavailable} unavailable" if pooled.unavailable else ""
        runs = f"{pooled.correct} of {counted(pooled.runs, 'run')}{away}"
        score = as_percent(pooled.rate(*pooled.documents.fifths))
        parts = (
            f"{one_line(name)}:",
            f"{mean} ({counted(total.domains, 'domain')});",
            f"pooled TSR {as_percent(pooled.tsr)}, tier {score} ({runs})",
        )
        yield from packed(f"{'class':<{LABEL - 1}}", parts, gap=" ", indent=LABEL)


# How often each output field is right, in a summary; nothing if there is but one.

SHOWN: Final = 6
_NAME: Final = 30


def field_lines(summary: Summary, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the mean share of right fields and the worst fields; closer up a line for each."""
    if len(summary.by_field) < 2:  # noqa: PLR2004 - of one field TSR tells
        return
    share = f"{as_percent(METRICS['fields'].rate(summary))} right"
    if verbosity <= 0 or summary.unmeasured:
        if summary.unmeasured:
            yield f"fields {share}"
            return
        fields = sorted(summary.by_field.items(), key=lambda item: item[1].rate or 0.0)
        parts = [f"{_name(name)} {as_percent(one.rate)}" for name, one in fields]
        yield from packed(f"fields {share}:", few(parts, SHOWN), gap=" ", indent=LABEL)
        return
    yield f"fields {share}, on average"
    width = max(len(_name(name)) for name in summary.by_field)
    for name, one in summary.by_field.items():
        counts = f"{one.right} of {one.runs}"
        bounds = interval(summary.interval(one.right, one.runs))
        rate = as_percent(summary.rate(one.right, one.runs))
        start = f"{'':{LABEL}}{_name(name):<{width}} {rate:>6}"
        yield f"{start}, {counts:<12} {bounds}".rstrip()


def _name(name: str) -> str:
    return cut(one_line(name), _NAME)


# How the rules of a contract fared, in the summary and in a failure.


def contract_lines(summary: Summary, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the contract rate and a line for each broken rule, `must` first; others are counted.

    With a verbosity above 0 they stand beside one another. Nothing if no run has a contract.
    """
    tally = summary.contract
    if not (summary.rules or tally.runs):
        return
    held = [rule for rule in summary.rules if rule.exercised and not rule.broken]
    runs = f"{tally.held} of {tally.runs} runs{_unseen(summary)}"
    rate = f"contract {as_percent(summary.contract_rate)} ({runs})"
    many = [f"{counted(len(held), 'rule')} held"] if held and verbosity <= 0 else []
    yield from packed(f"{'rules':<{LABEL}}{rate}", many, gap="   ", indent=LABEL)
    for rule in must_first(summary.rules):
        if rule.broken:
            yield cut(f"{'':{LABEL}}{_breach(rule)}", WIDTH)
    if verbosity > 0:
        counts = [f"{rule_name(rule)} {rule.held} of {rule.exercised}" for rule in held]
        yield from _enumerated("held", counts)
        idle = [one_line(rule.id) for rule in summary.rules if not rule.exercised]
        yield from _enumerated("not exercised by any task:", idle)


def breach_lines(summary: Summary) -> Iterator[str]:
    """Yield the broken rules of severity `must` on one line; nothing if all of them hold."""
    must = (rule for rule in summary.rules if rule.severity is Severity.MUST and rule.broken)
    broken = [_breach(rule) for rule in must]
    if broken:
        yield from packed(f"{'':{LABEL - 1}}", with_commas(broken), gap=" ", indent=LABEL)


def _unseen(summary: Summary) -> str:
    """Return how many runs showed nothing of their contract, and why."""
    tally = summary.contract
    lost = sum(summary.outcomes.get(one, 0) for one in (Outcome.NOT_RUN, Outcome.CRASH))
    mute = tally.silent - min(lost, tally.silent)
    stopped = f", {counted(mute, 'run')} stopped before a call" if mute else ""
    return stopped + (f", {tally.silent - mute} never seen" if tally.silent - mute else "")


def _breach(rule: RuleTally) -> str:
    return f"{rule_name(rule)} broken in {rule.broken} of {rule.exercised}"


def _enumerated(word: str, parts: Sequence[str]) -> Iterator[str]:
    if parts:
        yield from packed(f"{'':{LABEL}}{word}", with_commas(parts), gap=" ", indent=LABEL)


# The tables under `-v`: confusion, breakdown by expected answer, tools.

ROWS = 20
"""Rows of a table; the rest is counted."""

FEW_ROWS = 5
"""Rows of the breakdown if there are more answers than `ROWS`."""

_SHORT = 13
_INDENT = "  "
_CORNER = "expected \\ given"
_OTHER = "other"
_NONE = "."


def confusion_lines(table: Confusion) -> Iterator[str]:
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
    if cell > _SHORT or len(_INDENT) + _side(names) + cell * len(heads) > WIDTH:
        numbers = [str(number) for number in range(1, len(labels) + 1)]
        heads = [*numbers, *other]
        names = [f"{number} {name}" for number, name in zip(numbers, names, strict=True)]
        cell = _cell(heads, table)
    side = min(_side(names), WIDTH - len(_INDENT) - cell * len(heads))
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


def expected_lines(groups: Mapping[str, RunCounts], *, measured: bool = True) -> Iterator[str]:
    """Yield the breakdown by expected answer, the most frequent first.

    Args:
        groups: the runs by what was expected.
        measured: whether so few runs were unavailable that there are rates.
    """
    if not groups:
        return
    ordered = sorted(groups.items(), key=lambda item: (-item[1].runs, item[0]))
    room = WIDTH - 36
    side = min(room, max(len("by expected answer"), *(columns(label) + 2 for label in groups)))
    yield f"{'by expected answer':<{side}}{'runs':>8}{'completed':>11}{'correct':>9}{'TSR':>8}"
    # If nearly every task has an answer of its own, rows of one run each say nothing.
    rows = ROWS if len(ordered) <= ROWS else FEW_ROWS
    for label, one in ordered[:rows]:
        tsr = as_percent(one.tsr if measured else None)
        numbers = f"{one.runs:>8}{one.completed:>11}{one.correct:>9}{tsr:>8}"
        yield f"  {padded(one_line(label), side - 2)}{numbers}"
    if len(ordered) > rows:
        yield f"  and {counted(len(ordered) - rows, 'more answer')}"


def tool_lines(tools: Mapping[str, ToolCounts]) -> Iterator[str]:
    """Yield the calls of each tool, the most called first."""
    if not tools:
        return
    ordered = sorted(tools.items(), key=lambda item: (-item[1].calls, item[0]))
    side = min(WIDTH - 36, max(len("tools"), *(len(name) + 2 for name in tools)))
    yield f"{'tools':<{side}}{'calls':>8}{'bad':>8}{'failed':>8}{'accuracy':>11}"
    for name, one in ordered[:ROWS]:
        numbers = f"{one.calls:>8}{one.bad:>8}{one.failed:>8}{as_percent(one.accuracy):>11}"
        yield f"  {padded(one_line(name), side - 2)}{numbers}"
    if len(ordered) > ROWS:
        yield f"  and {counted(len(ordered) - ROWS, 'more tool')}"


def table_lines(summary: Summary) -> Iterator[str]:
    """Yield every table that there is something to put into."""
    for table in summary.confusions:
        yield from confusion_lines(table)
    # Numbers and free texts hardly come twice, and a row for each would say nothing.
    groups = summary.by_class or summary.by_expected
    if len(groups) > 1:
        yield from expected_lines(groups, measured=not summary.unmeasured)
    yield from tool_lines(summary.tools)


# What several trials of a task say, in the summary; nothing if each task has one.

LIMIT = 20
"""Tasks that are listed; the saved session holds all of them."""


def trial_lines(summary: Summary) -> Iterator[str]:
    """Yield pass any and pass all, with intervals over tasks; nothing if trials are one."""
    if not summary.trials_by:
        return
    trials, bounds = summary.trials, summary.trial_bounds
    passes = {
        "pass any": (summary.pass_any, bounds.pass_any),
        "pass all": (summary.pass_all, bounds.pass_all),
    }
    parts = [
        f"{word} {as_percent(rate)} {interval(one)}".rstrip()
        for word, (rate, one) in passes.items()
    ]
    yield from packed(
        f"{'trials':<{LABEL}}{trials_per_task(trials)} per task", parts, gap=GAP, indent=LABEL
    )


def disagreement_lines(found: Sequence[TaskTrials]) -> Iterator[str]:
    """Yield the tasks whose trials disagree, the least reliable first; nothing without one."""
    if not found:
        return
    ordered = sorted(found, key=lambda one: one.rate)
    several = len({one.domain for one in found}) > 1
    agents = len({one.agent for one in found}) > 1
    parts = few([_task(one, domain=several, agent=agents) for one in ordered], LIMIT)
    start = f"{'':{LABEL}}trials disagree in {counted(len(ordered), 'task')}:"
    yield from packed(start, parts, gap=" ", indent=LABEL)


def _task(one: TaskTrials, *, domain: bool, agent: bool) -> str:
    name = f"{one.domain}/{one.task}" if domain else one.task
    by = f" by {one.agent}" if agent else ""
    lacking = {Outcome.UNAVAILABLE: "unavailable", Outcome.NOT_RUN: "not run"}
    known = one.outcomes
    said = ", ".join(f"{known[kind]} {word}" for kind, word in lacking.items() if known.get(kind))
    return one_line(f"{name}{by} {one.correct} of {one.trials}{f' ({said})' if said else ''}")


def trials_per_task(trials: TrialCounts) -> str:
    """Say how many trials each task has."""
    least, most = trials.least, trials.most
    return f"{most}" if least == most else f"{least} to {most}"


# The summary on a terminal: one block for each domain, and a total if there are several.

_ALWAYS: Final = frozenset({"tsr", "ecr"})
"""Of all metrics, those that every reader is shown."""


def domain_lines(
    domain: str,
    agent: str,
    summary: Summary,
    *,
    verbosity: int = 0,
    scoring: Scoring = Scoring.EXACT,
    disagreeing: Sequence[TaskTrials] = (),
) -> Iterator[str]:
    """Yield the block of one domain, 80 columns wide; below verbosity 0 it is one line.

    Args:
        domain: what the block is about.
        agent: as the session names it.
        summary: what its runs came to.
        verbosity: as pytest counts `-v` and `-q`.
        scoring: by whose rules the runs were judged.
        disagreeing: the tasks whose trials disagree.
    """
    if verbosity < 0:
        yield _short_line(domain, summary, scoring)
        yield from breach_lines(summary)
        yield from metric_lines(summary)
        return
    is_published = scoring is Scoring.PUBLISHED
    published = ", published scoring and extraction" if is_published else ""
    yield heading(f"SOP: {one_line(domain)}, agent {one_line(agent)}{published}")
    is_closer = verbosity > 0
    chance = f"chance {as_percent(summary.chance)}" if is_closer else ""
    yield from rate_lines(summary, beside=chance, scoring=scoring)
    yield from document_lines(summary)
    yield from procedure_lines(summary) if is_closer else ()
    yield from silence_lines(summary)
    yield from expected_call_lines(summary)
    yield from unneeded_lines(summary)
    yield from trial_lines(summary)
    yield from disagreement_lines(disagreeing)
    yield from _wrong_lines(summary)
    yield from field_lines(summary, verbosity=verbosity)
    yield from contract_lines(summary, verbosity=verbosity)
    for collapse in summary.collapses:
        several = len(summary.confusions) > 1
        yield from _collapse_lines(collapse, several=several, verbosity=verbosity)
    yield from _remarks(summary)
    yield from all_lines(summary) if is_closer else known_lines(summary)
    yield from metric_lines(summary)
    yield from table_lines(summary) if is_closer else ()


def total_lines(agent: str, total: Total, *, verbosity: int = 0, named: str = "") -> Iterator[str]:
    """Yield the block of several domains: the mean over domains, and all runs pooled.

    Args:
        agent: as the session names it.
        total: of its domains.
        verbosity: as pytest counts `-v` and `-q`.
        named: the agent if the session has others, for the one line below verbosity 0.
    """
    several = counted(total.domains, "domain")
    pooled = total.pooled
    if verbosity < 0:
        bounds = interval(pooled.tsr_bounds)
        mean, rate = as_percent(total.means.get("tsr")), rate_of_runs(pooled.tsr, pooled)
        rates = f"mean {mean}, pooled {rate} {bounds}".rstrip()
        by = f" ({one_line(named)})" if named else ""
        yield f"{several}{by}: TSR {rates} {of_runs(pooled.correct, pooled)}"
        return
    yield heading(f"SOP: {several}, agent {one_line(agent)}: mean, and pooled")
    means = _means(total, verbosity)
    yield from packed(f"{'mean':<{LABEL - len(GAP)}}", means, gap=GAP, indent=LABEL)
    is_closer = verbosity > 0
    yield from rate_lines(pooled, beside=f"chance {as_percent(total.chance)}" if is_closer else "")
    yield from document_lines(pooled)
    yield from class_lines(total.classes)
    yield from procedure_lines(pooled) if is_closer else ()
    yield from silence_lines(pooled)
    yield from expected_call_lines(pooled)
    yield from unneeded_lines(pooled)
    yield from trial_lines(pooled)
    yield from contract_lines(pooled, verbosity=verbosity)
    yield from all_lines(pooled) if is_closer else known_lines(pooled)
    yield from metric_lines(pooled)


def _means(total: Total, verbosity: int) -> Iterator[str]:
    shown = [metric for metric in METRICS.values() if metric.heading]
    if verbosity <= 0:
        shown = [metric for metric in shown if metric.name in _ALWAYS]
    always = [metric for metric in shown if not metric.optional]
    known = [one for one in shown if one.optional and total.means.get(one.name) is not None]
    for metric in (*always, *known):
        yield f"{metric.heading} {value_text(metric.name, total.means.get(metric.name))}"
    if verbosity > 0:
        yield f"{CHANCE} {as_percent(total.means.get(CHANCE))}"


def _wrong_lines(summary: Summary) -> Iterator[str]:
    wrong = summary.outcomes.get(Outcome.WRONG, 0)
    if wrong:
        state = f"{summary.wrong_states} by its state" if summary.wrong_states else ""
        more = f"{wrong} ({state})" if state else f"{wrong}"
        start = _row("wrong", f"{more}:" if summary.mismatched else more)
        parts = wrong_parts(summary, WIDTH - len(start) - 1)
        yield from packed(start, parts, gap=" ", indent=LABEL)


def _collapse_lines(collapse: Collapse, *, several: bool, verbosity: int) -> Iterator[str]:
    where = f"{one_line(collapse.field)}: " if several else ""
    for label, (given, expected, z) in collapse.favoured.items():
        shares = f"{as_percent(given)} of the answers, {as_percent(expected)} of the tasks"
        score = f" (z = {z:.1f})" if verbosity > 0 else ""
        yield from _said("alarm", f"{where}{one_line(label)}: {shares}{score}")
    if collapse.never:
        labels = (f"{one_line(label)} ({n} expect it)" for label, n in collapse.never.items())
        yield from _said("alarm", f"{where}never given: {', '.join(labels)}")


def _remarks(summary: Summary) -> Iterator[str]:
    if summary.only_published:
        runs = counted(summary.only_published, "run is", "runs are")
        yield _row("note", f"{runs} correct by the published scorer's rules only")
    if summary.reruns:
        runs = counted(summary.reruns, "run was", "runs were")
        yield _row("note", f"{runs} repeated; the first verdict counts")


def _short_line(name: str, summary: Summary, scoring: Scoring) -> str:
    wrong, silent = summary.outcomes.get(Outcome.WRONG, 0), summary.runs - summary.completed
    mark = " (published)" if scoring is Scoring.PUBLISHED else ""
    start = f"{mark}: TSR {rate_of_runs(summary.tsr, summary)}"
    counts = f" {summary.correct} of {summary.runs}, {wrong} wrong, {silent} not "
    few = bool(summary.unavailable) and not summary.unmeasured
    away = f" ({summary.unavailable} unavailable)" if few else ""
    end = f"{counts}{completed_word(scoring)}{away}"
    bounds = f" {interval(summary.tsr_bounds)}".rstrip()
    name = one_line(name)
    # Of a line that is too long, the interval is what a reader can do without.
    room = WIDTH - columns(name) - len(start) - len(end)
    rates = f"{start}{bounds if len(bounds) <= room else ''}{end}"
    # Behind a domain stands its agent, which must not look like another one.
    shown = name if " (" in name else cut(name, WIDTH - len(rates))
    return f"{shown}{rates}"


def _row(label: str, text: str) -> str:
    return f"{label:<{LABEL}}{text}"


def _said(label: str, text: str) -> Iterator[str]:
    return packed(f"{label:<{LABEL - 1}}", text.split(), gap=" ", indent=LABEL)
