"""What the terminal says of gates, quarantine and variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.gates.quarantine import PolicyReport, RunsOfEntry, TaskPolicy
from pytest_sopbench._core.metrics.metric import METRICS, About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.statistics import wilson
from pytest_sopbench._core.variants import NOSOP, VariantFinding
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure import headline
from pytest_sopbench._reports.text import (
    WIDTH,
    counted,
    cut,
    interval,
    of_runs,
    one_line,
    packed,
    rate_of_runs,
)

# Each gate: what it asked, what it got, and what that means.


def gate_lines(verdict: GateVerdict) -> Iterator[str]:
    """Yield one gate that was evaluated, 80 columns wide."""
    where = f"{verdict.where}: " if verdict.where else ""
    why = f": {verdict.why}" if verdict.why else ""
    text = f"{where}{verdict.asked} {verdict.found}{why}"
    return packed("gate  ", one_line(text).split(), gap=" ", indent=7)


def not_evaluated_lines(why: str) -> Iterator[str]:
    """Yield that no gate was checked, and why not."""
    return packed("gate  ", one_line(f"not evaluated: {why}").split(), gap=" ", indent=7)


# The verdict on a session in a few words, as the first line of every page says it.


def page_verdict(page: SessionPage) -> str:
    """Say what came of the gates, or that there is none."""
    states = {one.state for one in page.gates}
    several = len(page.gates) > 1
    if GateState.FAILS in states:
        return "A gate does not hold" if several else "The gate does not hold"
    if page.failures:
        return "The session failed"
    if page.not_evaluated:
        return "No gate was evaluated"
    if GateState.INCONCLUSIVE in states:
        return "Inconclusive"
    if states:
        return "All gates hold" if several else "The gate holds"
    wrong = ungated_failures(page)
    return f"{wrong}, and no gate was checked" if wrong else "No gate was checked"


def ungated_failures(page: SessionPage) -> str:
    """Say why a session without a gate is no success; nothing if it is one.

    What is forgiven by name is none: an answer that may be wrong, a rule that may be broken.
    """
    runs = [one for one in page.asked if one.outcome is not Outcome.CORRECT]
    never = sum(one.outcome is Outcome.NOT_RUN for one in runs)
    rest = f", {never} of them never started" if never else ""
    if runs:
        if page.leaderboard is not None:
            # Two agents are never counted as one.
            return f"{counted(len(runs), 'run is', 'runs are')} not correct{rest}"
        is_are = "is" if len(runs) == 1 else "are"
        return f"{len(runs)} of {counted(len(page.asked), 'run')} {is_are} not correct{rest}"
    must = sum(bool(page.forgiven.unforgiven(one)) for one in page.records)
    return f"{counted(must, 'run')} broke a rule of severity must" if must else ""


# What a session says of the tasks that must pass, and of those that may fail.

LIMIT = 20
"""Tasks of one kind that are printed; the saved session holds the runs of all of them."""

ENOUGH = 5
"""Runs that must all be right before an entry can go.

A task that is wrong every other time is right this often in a row in 3 of 100 sessions.
"""

_INDENT = "       "


def entry_lines(report: PolicyReport, *, file: str) -> Iterator[str]:
    """Yield what must be said of the entries, what fails the session first; maybe nothing.

    Args:
        report: what came of the entries.
        file: the tasks file, as the user would type it.
    """
    broken = [_run_line(one) for one in report.broken]
    yield from _block("must pass and did not", broken)
    expired = [_until(one, _rules(one.may_break)) for one in report.expired]
    yield from _block(f"may fail no longer, by {file}", expired)
    unsure = [_run_line(one) for one in report.unsure]
    yield from _block("must pass, and nobody knows", unsure)
    failed = [_until(one.entry, _of_runs(one)) for one in report.failed]
    yield from _block("may fail and did, outside gates", failed)
    broke = [_broke_line(one) for one in report.broke]
    yield from _block("may break a rule and did, outside gates", broke)
    done = [one for one in report.passed if one.runs >= ENOUGH]
    yield from _block(f"may fail and did not: take it out of {file}", _counted_lines(done))
    few = [one for one in report.passed if one.runs < ENOUGH]
    too_few = f"may fail and did not, in too few runs to tell (--sop-trials={ENOUGH})"
    yield from _block(too_few, _counted_lines(few))
    kept = [one for one in report.kept if one.runs >= ENOUGH]
    yield from _block(f"may break a rule and did not: take it out of {file}", _kept_lines(kept))
    few = [one for one in report.kept if one.runs < ENOUGH]
    too_few = f"may break a rule and did not, in too few runs to tell (--sop-trials={ENOUGH})"
    yield from _block(too_few, _kept_lines(few))


def without_lines(asked: Mapping[About, Mapping[str, Summary]]) -> Iterator[str]:
    """Yield the rates that gates are checked on, if what is forgiven is left out of them."""
    for about, metric, words in (
        (About.ANSWERS, METRICS["tsr"], "answers that may be wrong"),
        (About.RULES, METRICS["contract_rate"], "rules that may be broken"),
        (About.BOTH, METRICS["grounded_tsr"], "what is forgiven"),
    ):
        summaries = asked.get(about, {})
        label = metric.heading or metric.label
        for name, one in summaries.items():
            part, whole = metric.divided(one)
            share = int(part)
            if not whole and about is not About.ANSWERS:
                continue
            where = f" of {one_line(name)}" if len(summaries) > 1 else ""
            value = metric.rate(one)
            bounds = wilson(share, whole) if value is not None else None
            bounds = one.tsr_bounds if about is About.ANSWERS else bounds
            rate = f"{rate_of_runs(value, one)} {interval(bounds)}".rstrip()
            counts = of_runs(share, one) if about is About.ANSWERS else f"{share} of {whole}"
            yield cut(f"{label}{where} without {words}: {rate}  {counts}", WIDTH)


def _block(what: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    yield cut(f"tasks  {counted(len(lines), 'task')} {what}", WIDTH)
    for line in lines[:LIMIT]:
        yield cut(f"{_INDENT}{line}", WIDTH)
    if len(lines) > LIMIT:
        yield f"{_INDENT}and {len(lines) - LIMIT} more"


def _counted_lines(passed: Sequence[RunsOfEntry]) -> Sequence[str]:
    return [f"{one_line(str(one.entry.name))} ({one.correct} of {one.runs})" for one in passed]


def _run_line(one: RunsOfEntry) -> str:
    why = f" {headline(one.first)}" if one.first else ""
    why += f"{',' if why else ''} {one_line(one.doubt)}" if one.doubt else ""
    return f"{one_line(str(one.entry.name))}{_of_runs(one)}{why}"


def _broke_line(one: RunsOfEntry) -> str:
    times = {
        rule: f" ({n} of {one.runs})" if one.runs > 1 else "" for rule, n in one.broken.items()
    }
    return _until(one.entry, _rules([f"{rule}{of}" for rule, of in times.items()]))


def _kept_lines(kept: Sequence[RunsOfEntry]) -> Sequence[str]:
    return [
        one_line(f"{one.entry.name} {', '.join(one.entry.may_break)} ({one.runs} runs)")
        for one in kept
    ]


def _rules(names: Sequence[str]) -> str:
    return f" {', '.join(names)}" if names else ""


def _until(entry: TaskPolicy, what: str) -> str:
    """Say what of a task is forgiven, or was, until when, and why."""
    issue = f" ({entry.issue})" if entry.issue else ""
    reason = one_line(f"{entry.may_fail}{issue}".strip())
    why = f": {reason}" if reason else ""
    return f"{one_line(f'{entry.name}{what}')} until {entry.until}{why}"


def _of_runs(one: RunsOfEntry) -> str:
    return f" ({one.correct} of {one.runs})" if one.runs > 1 else ""


# What variants of tasks tell, a line for each.


def variant_lines(found: Sequence[VariantFinding]) -> Iterator[str]:
    """Yield a line for each variant; the agent is named if there are several."""
    several = len({one.agent for one in found}) > 1
    for one in found:
        by = f", agent {one.agent}" if several else ""
        yield one_line(f"variant {one.domain}/{one.name}{by}: {variant_text(one)}")


def variant_text(one: VariantFinding) -> str:
    """Say what a variant tells of the tasks."""
    if one.name == NOSOP:
        told = f"{one.correct} of {one.tried} tasks do not depend on the SOP"
    else:
        told = f"{one.fallen} of {one.asked} tasks that are correct fall under {one.name}"
        told += f"; {one.correct} of {one.tried} correct"
    silent = f"; {counted(one.untold, 'run')} told nothing" if one.untold else ""
    return f"{told}{silent}"
