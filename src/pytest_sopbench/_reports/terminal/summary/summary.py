"""The summary on a terminal: one block for each domain, and a total where there are several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from pytest_sopbench._core.metrics.metric import CHANCE, METRICS
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.metrics.total import Total
from pytest_sopbench._core.metrics.trials import TaskTrials
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.text.layout import WIDTH, columns, cut, heading, one_line, packed
from pytest_sopbench._reports.text.mismatches import wrong_parts
from pytest_sopbench._reports.text.numbers import counted, interval, of_runs, percent, rate_of_runs

from .consumption import all_lines, known_lines
from .documents import class_lines, document_lines
from .fields import field_lines
from .rates import GAP, LABEL, completed_word, procedure_lines, rate_lines, silence_lines
from .rules import breach_lines, contract_lines
from .tables import table_lines
from .trials import disagreement_lines, trial_lines

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.counts.confusion import Collapse

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
        return
    is_published = scoring is Scoring.PUBLISHED
    published = ", published scoring and extraction" if is_published else ""
    yield heading(f"SOP: {one_line(domain)}, agent {one_line(agent)}{published}")
    is_closer = verbosity > 0
    chance = f"chance {percent(summary.chance)}" if is_closer else ""
    yield from rate_lines(summary, beside=chance, scoring=scoring)
    yield from document_lines(summary)
    yield from procedure_lines(summary) if is_closer else ()
    yield from silence_lines(summary)
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
    yield from table_lines(summary) if is_closer else ()


def total_lines(agent: str, total: Total, *, verbosity: int = 0, named: str = "") -> Iterator[str]:
    """Yield the block of several domains: the mean over domains, and all runs pooled.

    Args:
        agent: as the session names it.
        total: of its domains.
        verbosity: as pytest counts `-v` and `-q`.
        named: the agent where the session has others, for the one line below verbosity 0.
    """
    several = counted(total.domains, "domain")
    pooled = total.pooled
    if verbosity < 0:
        bounds = interval(pooled.tsr_bounds)
        mean, rate = percent(total.means.get("tsr")), rate_of_runs(pooled.tsr, pooled)
        rates = f"mean {mean}, pooled {rate} {bounds}".rstrip()
        by = f" ({one_line(named)})" if named else ""
        yield f"{several}{by}: TSR {rates} {of_runs(pooled.correct, pooled)}"
        return
    yield heading(f"SOP: {several}, agent {one_line(agent)}: mean, and pooled")
    means = _means(total, verbosity)
    yield from packed(f"{'mean':<{LABEL - len(GAP)}}", means, gap=GAP, indent=LABEL)
    is_closer = verbosity > 0
    yield from rate_lines(pooled, beside=f"chance {percent(total.chance)}" if is_closer else "")
    yield from document_lines(pooled)
    yield from class_lines(total.classes)
    yield from procedure_lines(pooled) if is_closer else ()
    yield from silence_lines(pooled)
    yield from trial_lines(pooled)
    yield from contract_lines(pooled, verbosity=verbosity)
    yield from all_lines(pooled) if is_closer else known_lines(pooled)


def _means(total: Total, verbosity: int) -> Iterator[str]:
    shown = [metric for metric in METRICS.values() if metric.heading]
    if verbosity <= 0:
        shown = [metric for metric in shown if metric.name in _ALWAYS]
    always = [metric for metric in shown if not metric.optional]
    known = [one for one in shown if one.optional and total.means.get(one.name) is not None]
    for metric in (*always, *known):
        yield f"{metric.heading} {percent(total.means.get(metric.name))}"
    if verbosity > 0:
        yield f"{CHANCE} {percent(total.means.get(CHANCE))}"


def _wrong_lines(summary: Summary) -> Iterator[str]:
    wrong = summary.outcomes.get(Outcome.WRONG, 0)
    if wrong:
        start = _row("wrong", f"{wrong}:" if summary.mismatched else f"{wrong}")
        parts = wrong_parts(summary, WIDTH - len(start) - 1)
        yield from packed(start, parts, gap=" ", indent=LABEL)


def _collapse_lines(collapse: Collapse, *, several: bool, verbosity: int) -> Iterator[str]:
    where = f"{one_line(collapse.field)}: " if several else ""
    for label, (given, expected, z) in collapse.favoured.items():
        shares = f"{percent(given)} of the answers, {percent(expected)} of the tasks"
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
