"""The summary on a terminal: one block for each domain, and a total where there are several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_sopbench._core.metrics.confusion import Collapse
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.statistics.intervals import wilson
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._reports.text.layout import WIDTH, cut, heading, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas, wrong_parts
from pytest_sopbench._reports.text.numbers import amount, counted, interval, money, percent, seconds

from .rules import contract_lines
from .tables import table_lines
from .trials import disagreement_lines, trial_lines, tsr_bounds

_LABEL = 7
_GAP = "   "
# Where the words of a rate begin: label, rate and interval stand before them.
_TEXTS = 27

_Counts = tuple[int, int]
_Bounds = tuple[float, float]


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
    is_published = scoring is Scoring.PUBLISHED
    if verbosity < 0:
        yield _short_line(domain, summary, mark=" (published)" if is_published else "")
        return
    published = ", published scoring and extraction" if is_published else ""
    yield heading(f"SOP: {one_line(domain)}, agent {one_line(agent)}{published}")
    yield from _rate_lines(summary, summary.chance)
    yield from trial_lines(summary)
    yield from disagreement_lines(disagreeing)
    wrong = summary.outcomes.get(Outcome.WRONG, 0)
    if wrong:
        start = _row("wrong", f"{wrong}:" if summary.mismatched else f"{wrong}")
        parts = wrong_parts(summary, WIDTH - len(start) - 1)
        yield from packed(start, parts, gap=" ", indent=_LABEL)
    yield from contract_lines(summary)
    for collapse in summary.collapses:
        yield from _collapse_lines(collapse, several=len(summary.confusions) > 1)
    yield from _remarks(summary)
    if verbosity > 0:
        yield from _cost_lines(summary)
        yield from table_lines(summary)


def total_lines(agent: str, total: Total, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the block of several domains: the mean over domains, and all runs pooled."""
    several = counted(total.domains, "domain")
    pooled = total.pooled
    if verbosity < 0:
        bounds = interval(tsr_bounds(pooled))
        rates = f"mean {percent(total.means.get('tsr'))}, pooled {percent(pooled.tsr)} {bounds}"
        yield f"{several}: TSR {rates} {pooled.correct} of {pooled.runs}"
        return
    yield heading(f"SOP: {several}, agent {one_line(agent)}: mean, and pooled")
    yield from packed(f"{'mean':<{_LABEL - len(_GAP)}}", _means(total), gap=_GAP, indent=_LABEL)
    yield from _rate_lines(pooled, total.chance)
    yield from trial_lines(pooled)
    yield from contract_lines(pooled)
    if verbosity > 0:
        yield from _cost_lines(pooled)


def _means(total: Total) -> Iterator[str]:
    shown = [metric for metric in METRICS.values() if metric.heading]
    always = [metric for metric in shown if not metric.optional]
    known = [one for one in shown if one.optional and total.means.get(one.name) is not None]
    for metric in (*always, *known):
        yield f"{metric.heading} {percent(total.means.get(metric.name))}"
    yield f"{CHANCE} {percent(total.means.get(CHANCE))}"


def _rate_lines(summary: Summary, chance: float | None) -> Iterator[str]:
    n, k, c = summary.runs, summary.correct, summary.completed
    undisputed = summary.undisputed
    texts = [f"{k} of {n} correct", f"{c} of {n} completed"]
    # Two columns that stay under one another whatever the counts are.
    column = max(len(f"{n} of {n} completed"), len("000 of 000 completed"))
    tsr = f"{texts[0]:<{column}}{_GAP}chance {percent(chance)}"
    yield _rate_line("TSR", (k, n), tsr, tsr_bounds(summary))
    if summary.disputed.counts.runs:
        text = f"{undisputed.correct} of {undisputed.runs} undisputed"
        counts = undisputed.correct, undisputed.runs
        yield _rate_line("", counts, text, _bounds(summary, counts))
        yield from _said("", _left_out(summary))
    missed = [
        f"{summary.outcomes[outcome]} {outcome.value}"
        # What stopped a run from outside comes first: it says nothing about answers.
        for outcome in reversed(Outcome)
        if outcome not in COMPLETED and summary.outcomes.get(outcome)
    ]
    first = _rate_line("ECR", (c, n), f"{texts[1]:<{column}}", _bounds(summary, (c, n)))
    beside = f"{first:<{_TEXTS + column + len(_GAP)}}{', '.join(missed)}"
    if len(beside) <= WIDTH:
        yield beside.rstrip()
    else:
        yield first
        words = with_commas(missed)
        yield from packed(f"{'':{_TEXTS}}{words[0]}", words[1:], gap=" ", indent=_TEXTS)
    rate = f"{'C-TSR':<6}{percent(summary.c_tsr):>6}"
    yield from packed(rate, _tool_parts(summary), gap=_GAP, indent=_LABEL)


def _rate_line(label: str, counts: _Counts, text: str, bounds: _Bounds | None) -> str:
    successes, n = counts
    rate = percent(successes / n if n else None)
    return f"{label:<6}{rate:>6} {interval(bounds):<13} {text}".rstrip()


def _bounds(summary: Summary, counts: _Counts) -> _Bounds | None:
    # Trials of a task are not independent, and would make an interval over runs too narrow.
    return None if summary.trials_by else wilson(*counts)


def _left_out(summary: Summary) -> str:
    reasons = summary.disputed.reasons
    ordered = sorted(reasons, key=lambda reason: (-reasons[reason], reason))
    more = f" (and {counted(len(ordered) - 1, 'other reason')})" if len(ordered) > 1 else ""
    reason = cut(one_line(ordered[0]), 120) if ordered else "no reason is given"
    return f"{summary.disputed.counts.runs} left out: {reason}{more}"


def _tool_parts(summary: Summary) -> Iterator[str]:
    calls = summary.calls
    if summary.grounded.required:
        yield f"grounded {percent(summary.grounded_tsr)}"
    if not calls.calls:
        # Said aloud: an agent that calls nothing has not followed a procedure.
        yield f"tools {percent(None)} (no tool was called)"
        return
    yield f"tools {percent(calls.accuracy)} ({calls.calls - calls.bad} of {calls.calls} calls)"
    if calls.failed:
        yield counted(calls.failed, "tool failure")
    if summary.without_calls:
        yield f"no call in {counted(summary.without_calls, 'run')}"
    unneeded = summary.unneeded
    if unneeded.unneeded:
        calls_of = counted(unneeded.unneeded, "unneeded call")
        yield f"{calls_of} in {unneeded.affected} of {counted(unneeded.runs, 'run')}"


def _collapse_lines(collapse: Collapse, *, several: bool) -> Iterator[str]:
    where = f"{one_line(collapse.field)}: " if several else ""
    for label, (given, expected, z) in collapse.favoured.items():
        shares = f"{percent(given)} of the answers, {percent(expected)} of the tasks"
        yield from _said("alarm", f"{where}{one_line(label)}: {shares} (z = {z:.1f})")
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


def _cost_lines(summary: Summary) -> Iterator[str]:
    mean = {name: one.mean for name, one in summary.usage.items()}
    cost = summary.usage.get("cost_usd")
    whole = f" ({money(cost.total)} in {counted(cost.known, 'run')})" if cost else ""
    tokens = amount(mean.get("input_tokens")), amount(mean.get("output_tokens"))
    first = f"median {seconds(summary.latency_median)}, p95 {seconds(summary.latency_p95)}"
    parts = [
        f"tool calls {amount(summary.calls_per_run)}",
        f"model calls {amount(mean.get('model_calls'))}",
        f"tokens in {tokens[0]}, out {tokens[1]}",
        f"cost {money(mean.get('cost_usd'))}{whole}",
    ]
    yield from packed(_row("a run", first), parts, gap=_GAP, indent=_LABEL)


def _short_line(name: str, summary: Summary, *, mark: str) -> str:
    tsr = f"TSR {percent(summary.tsr)} {interval(tsr_bounds(summary))}".rstrip()
    counts = f"{summary.correct} of {summary.runs}"
    if mark:
        # There completed means returned, so ECR gives way to what must be said.
        rates = f"{mark}: {tsr} {counts}  chance {percent(summary.chance)}"
    else:
        rates = f": {tsr} {counts}  ECR {percent(summary.ecr)}  chance {percent(summary.chance)}"
    # Behind a domain stands its agent, which must not look like another one.
    shown = one_line(name) if " (" in name else cut(one_line(name), WIDTH - len(rates))
    return f"{shown}{rates}"


def _row(label: str, text: str) -> str:
    return f"{label:<{_LABEL}}{text}"


def _said(label: str, text: str) -> Iterator[str]:
    return packed(f"{label:<{_LABEL - 1}}", text.split(), gap=" ", indent=_LABEL)
