"""What a session says of the tasks that must pass, and of those that may fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._core.gates.quarantine import PolicyReport, RunsOfEntry, TaskPolicy
from pytest_sopbench._core.metrics.metric import METRICS, About
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.statistics.intervals import wilson
from pytest_sopbench._reports.failure.task import headline
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line
from pytest_sopbench._reports.text.numbers import counted, interval, of_runs, rate_of_runs

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
    expired = [_expired_line(one) for one in report.expired]
    yield from _block(f"may fail no longer, by {file}", expired)
    unsure = [_run_line(one) for one in report.unsure]
    yield from _block("must pass, and nobody knows", unsure)
    failed = [_failed_line(one) for one in report.failed]
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
    """Yield the rates that gates are asked of, where what is forgiven is left out of them."""
    for about, metric, words in (
        (About.ANSWERS, METRICS["tsr"], "answers that may be wrong"),
        (About.RULES, METRICS["contract_rate"], "rules that may be broken"),
        (About.BOTH, METRICS["grounded_tsr"], "what is forgiven"),
    ):
        summaries = asked.get(about, {})
        label = metric.heading or metric.label
        for name, one in summaries.items():
            share, whole = metric.counts(one)
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


def _failed_line(one: RunsOfEntry) -> str:
    entry = one.entry
    return f"{one_line(str(entry.name))}{_of_runs(one)} until {entry.until}: {_reason(entry)}"


def _broke_line(one: RunsOfEntry) -> str:
    entry = one.entry
    rules = ", ".join(
        f"{rule}{f' ({count} of {one.runs})' if one.runs > 1 else ''}"
        for rule, count in one.broken.items()
    )
    why = f": {_reason(entry)}" if _reason(entry) else ""
    return f"{one_line(f'{entry.name} {rules}')} until {entry.until}{why}"


def _kept_lines(kept: Sequence[RunsOfEntry]) -> Sequence[str]:
    return [
        one_line(f"{one.entry.name} {', '.join(one.entry.may_break)} ({one.runs} runs)")
        for one in kept
    ]


def _expired_line(entry: TaskPolicy) -> str:
    rules = f" {', '.join(entry.may_break)}" if entry.may_break else ""
    why = f": {_reason(entry)}" if _reason(entry) else ""
    return f"{one_line(f'{entry.name}{rules}')} until {entry.until}{why}"


def _reason(entry: TaskPolicy) -> str:
    issue = f" ({entry.issue})" if entry.issue else ""
    return one_line(f"{entry.may_fail}{issue}".strip())


def _of_runs(one: RunsOfEntry) -> str:
    return f" ({one.correct} of {one.runs})" if one.runs > 1 else ""
